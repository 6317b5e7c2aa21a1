/**
 * What the metrics say, as far as the charts need it. The page is Prometheus' text: counters that only
 * grow, so rates and percentiles come from the difference of two readings.
 */
import type { Samples } from "../api/types";

/** Cumulative counts by upper bound, ascending; the last bound is Infinity. */
export interface Histogram {
    bounds: number[];
    counts: number[];
}

/** One reading. Times in seconds, as in the page. */
export interface Reading {
    atMs: number;
    requests: number;
    failures: number;
    latency: Histogram;
    batches: number;
    changes: number;
    commit: Histogram;
    queue: number;
    streams: number;
    connections: number;
    dataBytes: number;
    logBytes: number;
}

/** Held open, or at work for minutes, on purpose: they say nothing of how quick the server is. */
const HELD = new Set(["stream", "verify", "backup"]);

const LINE = /^([a-z_]+)(?:\{([^}]*)\})? (\S+)$/;

function labelsOf(text: string): Record<string, string> {
    const labels: Record<string, string> = {};
    for (const [, name, value] of text.matchAll(/(\w+)="([^"]*)"/g)) labels[name as string] = value as string;
    return labels;
}

/** Adds up the histograms of several operations, whose bounds are the same. */
class Sum {
    private readonly at = new Map<number, number>();

    add(bound: string, count: number): void {
        const le = bound === "+Inf" ? Infinity : Number(bound);
        this.at.set(le, (this.at.get(le) ?? 0) + count);
    }

    histogram(): Histogram {
        const bounds = [...this.at.keys()].sort((a, b) => a - b);
        return { bounds, counts: bounds.map((bound) => this.at.get(bound) ?? 0) };
    }
}

export function readMetrics(page: string, atMs: number): Reading {
    const single = new Map<string, number>();
    const latency = new Sum();
    const commit = new Sum();
    let requests = 0;
    let failures = 0;
    for (const line of page.split("\n")) {
        const [, name, labelled = "", number] = LINE.exec(line) ?? [];
        if (!name) continue;
        const value = Number(number);
        const labels = labelsOf(labelled);
        if (name === "tidings_requests_total") {
            requests += value;
            if (labels["status"]?.startsWith("5")) failures += value;
        } else if (name === "tidings_request_seconds_bucket") {
            if (!HELD.has(labels["operation"] ?? "")) latency.add(labels["le"] ?? "", value);
        } else if (name === "tidings_commit_seconds_bucket") {
            commit.add(labels["le"] ?? "", value);
        } else if (!labelled) {
            single.set(name, value);
        }
    }
    const get = (name: string) => single.get(`tidings_${name}`) ?? 0;
    return {
        atMs,
        requests,
        failures,
        latency: latency.histogram(),
        batches: get("batch_size_count"),
        changes: get("batch_size_sum"),
        commit: commit.histogram(),
        queue: get("write_queue"),
        streams: get("http_streams_open"),
        connections: get("http_open"),
        dataBytes: get("data_bytes"),
        logBytes: get("log_bytes"),
    };
}

function cumulative(boundsUs: number[], counts: number[]): Histogram {
    let sum = 0;
    return {
        bounds: [...boundsUs.map((us) => us / 1e6), Infinity],
        counts: counts.map((n) => (sum += n)),
    };
}

/** What the server remembers, as if it had been read then. The last sample is of now: it tells how the clocks differ. */
export function readSamples(samples: Samples, nowMs: number): Reading[] {
    const skewMs = nowMs - (samples.items.at(-1)?.at ?? nowMs);
    return samples.items.map((one) => ({
        atMs: one.at + skewMs,
        requests: one.requests,
        failures: one.failures,
        latency: cumulative(samples.latency_bounds_us, one.latency),
        batches: one.batches,
        changes: one.changes,
        commit: cumulative(samples.commit_bounds_us, one.commit),
        queue: one.write_queue,
        streams: one.streams,
        connections: one.connections,
        dataBytes: one.data_bytes,
        logBytes: one.log_bytes,
    }));
}

/**
 * The value below which the share q of what came between two readings lies, taken as spread evenly
 * within its bucket; null if nothing came. In the last bucket, which has no end, its beginning.
 */
export function quantile(before: Histogram, after: Histogram, q: number): number | null {
    const earlier = new Map(before.bounds.map((bound, i) => [bound, before.counts[i] ?? 0]));
    const counts = after.bounds.map((bound, i) => (after.counts[i] ?? 0) - (earlier.get(bound) ?? 0));
    const total = counts.at(-1) ?? 0;
    if (total <= 0) return null;
    const wanted = q * total;
    const i = counts.findIndex((count) => count >= wanted);
    const low = i > 0 ? (after.bounds[i - 1] ?? 0) : 0;
    const high = after.bounds[i] ?? Infinity;
    if (high === Infinity) return low;
    const below = i > 0 ? (counts[i - 1] ?? 0) : 0;
    const within = (counts[i] ?? 0) - below;
    return within > 0 ? low + ((high - low) * (wanted - below)) / within : high;
}

/** The server was started anew between the two: its counters begin again. */
export function wasRestarted(before: Reading, after: Reading): boolean {
    return after.requests < before.requests || after.batches < before.batches;
}
