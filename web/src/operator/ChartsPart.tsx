/** How the server is doing, now and in the last half hour. */
import { useState } from "preact/hooks";
import { call, requestHeaders } from "../api/client";
import { problemOf } from "../api/problem";
import type { Status, Target } from "../api/types";
import { t } from "../i18n";
import { Choices, Loading } from "../ui/bits";
import { number } from "../ui/format";
import { Chart, type ChartRow } from "./Chart";
import { Fact } from "./Fact";
import { EVERY_MS, History } from "./history";
import { readMetrics, readSamples } from "./metrics";
import { ReplicaCard } from "./ReplicaCard";
import { TargetsCard } from "./TargetsCard";
import { duration } from "./units";
import { usePoll } from "./usePoll";

const rows: ChartRow[] = [
    {
        title: "chart.requests",
        hint: "chart.requests_hint",
        unit: "rate",
        series: [
            { column: "requests", label: "chart.requests_all" },
            { column: "failures", label: "chart.requests_failed" },
        ],
    },
    {
        title: "chart.latency",
        hint: "chart.latency_hint",
        unit: "seconds",
        series: [
            { column: "p50", label: "chart.p50" },
            { column: "p99", label: "chart.p99" },
        ],
    },
    { title: "chart.batches", hint: "chart.batches_hint", unit: "rate", series: [{ column: "batches", label: "chart.batches_rate" }] },
    { title: "chart.per_batch", hint: "chart.per_batch_hint", unit: "count", series: [{ column: "perBatch", label: "chart.per_batch_mean" }] },
    {
        title: "chart.sync",
        hint: "chart.sync_hint",
        unit: "seconds",
        series: [
            { column: "sync50", label: "chart.p50" },
            { column: "sync99", label: "chart.p99" },
        ],
    },
    { title: "chart.queue", hint: "chart.queue_hint", unit: "count", series: [{ column: "queue", label: "chart.queue_now" }] },
    {
        title: "chart.streams",
        hint: "chart.streams_hint",
        unit: "count",
        series: [
            { column: "streams", label: "chart.streams_now" },
            { column: "connections", label: "chart.connections_now" },
        ],
    },
    {
        title: "chart.size",
        hint: "chart.size_hint",
        unit: "bytes",
        series: [
            { column: "data", label: "chart.size_data" },
            { column: "log", label: "chart.size_log" },
        ],
    },
];

const MINUTES = ["5", "15", "30"] as const;

/** Kept while one looks at other pages; see History for its bound. */
const history = new History();

/** What was before one looked. Without it the charts begin empty. */
async function remember(signal: AbortSignal): Promise<void> {
    if (!history.isBehind(Date.now())) return;
    const samples = await call("get", "/v1/admin/samples", { admin: true, signal }).catch(() => null);
    if (samples && !signal.aborted) history.begin(readSamples(samples, Date.now()));
}

async function takeReading(signal: AbortSignal): Promise<boolean> {
    try {
        const headers = requestHeaders(true);
        const answer = await fetch("/v1/admin/metrics", { headers, signal, cache: "no-store", credentials: "same-origin" });
        if (!answer.ok) throw await problemOf(answer);
        history.add(readMetrics(await answer.text(), Date.now()));
        return true;
    } catch {
        if (!signal.aborted) history.miss(Date.now());
        return false;
    }
}

function Facts({ status }: { status: Status }) {
    return (
        <>
            <dl class="facts">
                <Fact name="status.uptime" value={duration(status.uptime_ms)} />
                <Fact
                    name="status.writable"
                    value={t(status.writable ? "status.writable_yes" : "status.writable_no")}
                    bad={!status.writable}
                />
                <Fact name="status.durability" value={t(`status.durability_${status.durability}`)} />
                <Fact name="status.requests" value={number(status.requests)} />
                <Fact name="status.changes" value={number(status.changes)} />
                <Fact name="status.failed" value={number(status.batches_failed)} bad={status.batches_failed > 0} />
                <Fact name="status.faults" value={number(status.faults)} bad={status.faults > 0} />
                <Fact name="status.snapshots" value={number(status.snapshots)} bad={status.snapshots_failed > 0} />
            </dl>
            {status.faults > 0 ? (
                <p class="warning" role="alert">
                    {t("status.fault_hint")}
                </p>
            ) : null}
        </>
    );
}

export function ChartsPart() {
    const [status, setStatus] = useState<Status | null>(null);
    const [targets, setTargets] = useState<Target[]>([]);
    const [answers, setAnswers] = useState(true);
    const [tick, setTick] = useState(0);
    const [minutes, setMinutes] = useState<(typeof MINUTES)[number]>("5");
    usePoll(async (signal) => {
        await remember(signal);
        setTick((before) => before + 1);
        const [works, now, told] = await Promise.all([
            takeReading(signal),
            call("get", "/v1/admin/status", { admin: true, signal }).catch(() => null),
            call("get", "/v1/admin/targets", { admin: true, signal }).catch(() => null),
        ]);
        if (signal.aborted) return;
        setAnswers(works);
        if (now) setStatus(now);
        if (told) setTargets(told.items);
        setTick((before) => before + 1);
    }, EVERY_MS);
    return (
        <>
            <p class="warning" role="alert" hidden={answers}>
                {answers ? "" : t("operator.no_answer")}
            </p>
            {status ? <Facts status={status} /> : <Loading />}
            {status?.replica ? <ReplicaCard replica={status.replica} /> : null}
            {targets.length ? <TargetsCard targets={targets} /> : null}
            <Choices
                legend={t("chart.window")}
                name="window"
                choices={MINUTES.map((n) => ({ value: n, label: t("chart.minutes", { n }) }))}
                value={minutes}
                change={setMinutes}
            />
            <div class="charts">
                {rows.map((row) => (
                    <Chart key={row.title} row={row} history={history} tick={tick} minutes={Number(minutes)} />
                ))}
            </div>
        </>
    );
}
