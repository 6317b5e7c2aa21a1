/** What the charts make of /metrics, without a browser. */
import assert from "node:assert/strict";
import { createRequire } from "node:module";
import { test } from "node:test";

const web = new URL("../../web/", import.meta.url);
const { buildSync } = createRequire(new URL("package.json", web))("esbuild");

async function load(file) {
    const built = buildSync({ entryPoints: [new URL(file, web).pathname], bundle: true, format: "esm", write: false });
    return import(`data:text/javascript;base64,${Buffer.from(built.outputFiles[0].text).toString("base64")}`);
}

const { readMetrics, readSamples, quantile } = await load("src/operator/metrics.ts");
const { History } = await load("src/operator/history.ts");

const page = ({ requests, slow = 0, batches = 0 }) => `# HELP tidings_requests_total Requests.
# TYPE tidings_requests_total counter
tidings_requests_total{operation="getBadge",status="200"} ${requests}
tidings_requests_total{operation="verify",status="503"} 1
tidings_request_seconds_bucket{operation="getBadge",le="0.001"} ${requests - slow}
tidings_request_seconds_bucket{operation="getBadge",le="0.01"} ${requests}
tidings_request_seconds_bucket{operation="getBadge",le="+Inf"} ${requests}
tidings_request_seconds_bucket{operation="stream",le="+Inf"} 100000
tidings_batch_size_sum ${batches * 3}
tidings_batch_size_count ${batches}
tidings_commit_seconds_bucket{le="+Inf"} ${batches}
tidings_write_queue 7
tidings_http_streams_open 2
tidings_data_bytes 4096
`;

test("a page is read, and what is held open on purpose is no latency", () => {
    const reading = readMetrics(page({ requests: 10, slow: 4, batches: 5 }), 1000);
    assert.equal(reading.requests, 11);
    assert.equal(reading.failures, 1);
    assert.deepEqual(reading.latency, { bounds: [0.001, 0.01, Infinity], counts: [6, 10, 10] });
    assert.equal(reading.queue, 7);
    assert.equal(reading.streams, 2);
    assert.equal(reading.dataBytes, 4096);
    assert.equal(reading.changes, 15);
});

test("quantiles are of what came between two readings", () => {
    const before = { bounds: [1, 2, Infinity], counts: [100, 100, 100] };
    assert.equal(quantile(before, before, 0.5), null);
    assert.equal(quantile(before, { bounds: [1, 2, Infinity], counts: [100, 110, 110] }, 0.5), 1.5);
    assert.equal(quantile(before, { bounds: [1, 2, Infinity], counts: [110, 110, 110] }, 0.5), 0.5);
    assert.equal(quantile(before, { bounds: [1, 2, Infinity], counts: [100, 100, 101] }, 0.99), 2, "no end: its beginning");
    assert.equal(quantile({ bounds: [], counts: [] }, { bounds: [1, Infinity], counts: [4, 4] }, 0.25), 0.25);
});

test("rates are for a second, and holes stand for what is not known", () => {
    const history = new History();
    const add = (atMs, what) => history.add(readMetrics(page(what), atMs));
    add(0, { requests: 10, batches: 0 });
    assert.equal(history.timesS.length, 0, "one reading says nothing");
    add(2000, { requests: 30, batches: 4 });
    assert.equal(history.latest("requests"), 10);
    assert.equal(history.latest("batches"), 2);
    assert.equal(history.latest("perBatch"), 3);
    add(4000, { requests: 30, batches: 4 });
    assert.equal(history.latest("requests"), 0);
    assert.equal(history.latest("perBatch"), null);
    assert.equal(history.latest("p50"), null);
    add(6000, { requests: 1, batches: 0 });
    assert.equal(history.latest("requests"), null, "started anew");
    add(60000, { requests: 100, batches: 0 });
    assert.equal(history.latest("requests"), null, "nobody looked for a while");
    add(60010, { requests: 103, batches: 0 });
    assert.equal(history.timesS.at(-1), 60, "a moment is too short for a rate");
    history.miss(62000);
    add(64000, { requests: 200, batches: 0 });
    assert.equal(history.timesS.at(-1), 62, "after a miss one reading says nothing again");
});

test("charts begin with what the server remembers, by this browser's clock", () => {
    const sample = (at, requests) => ({
        at, requests, failures: 0, latency: [requests, 0, 1], batches: 0, changes: 0, commit: [0, 0], write_queue: 0,
        streams: 1, connections: 2, data_bytes: 4096, log_bytes: 0,
    });
    const samples = {
        every_ms: 10000, latency_bounds_us: [1000, 2000], commit_bounds_us: [0],
        items: [sample(50_000, 0), sample(60_000, 100), sample(70_000, 300), sample(72_000, 320)],
    };
    const readings = readSamples(samples, 1_072_000);
    assert.deepEqual(readings.map((one) => one.atMs), [1_050_000, 1_060_000, 1_070_000, 1_072_000]);
    assert.deepEqual(readings[1].latency, { bounds: [0.001, 0.002, Infinity], counts: [100, 100, 101] });
    const history = new History();
    assert.ok(history.isBehind(1_072_000));
    history.begin(readings);
    assert.deepEqual(history.columns.requests, [10, 20, 10]);
    assert.ok(!history.isBehind(1_074_000));
    history.add(readMetrics(page({ requests: 330 }), 1_074_000));
    assert.equal(history.latest("requests"), 5.5, "what is read now goes on from there");
    assert.ok(history.isBehind(1_200_000));
    history.begin(readings);
    assert.equal(history.timesS.length, 3, "anew, not twice");
});

test("a page left open for a day holds no more than half an hour", () => {
    const history = new History();
    for (let i = 0; i < 43200; i++) history.add(readMetrics(page({ requests: i + 1 }), i * 2000));
    assert.equal(history.timesS.length, 900);
    assert.equal(history.columns.requests.length, 900);
    assert.equal(history.timesS.at(-1), 43199 * 2);
});
