/**
 * What the charts show, a row for every reading, the oldest dropped: however long the page is open, it
 * holds no more than MOST rows.
 */
import { quantile, wasRestarted, type Reading } from "./metrics";

export const EVERY_MS = 2000;
const MOST = 900; // half an hour
/** Longer than this between two readings, and nothing is known of it. The server remembers one every ten seconds. */
const BREAK_MS = 25_000;

export const COLUMNS = [
    "requests",
    "failures",
    "p50",
    "p99",
    "batches",
    "perBatch",
    "sync50",
    "sync99",
    "queue",
    "streams",
    "connections",
    "data",
    "log",
] as const;

export type Column = (typeof COLUMNS)[number];
export type Row = Record<Column, number | null>;

/** Rates are for a second; times are seconds; a hole (null) where nothing is known. */
export function rowBetween(before: Reading, after: Reading): Row {
    const seconds = (after.atMs - before.atMs) / 1000;
    const batches = after.batches - before.batches;
    return {
        requests: (after.requests - before.requests) / seconds,
        failures: (after.failures - before.failures) / seconds,
        p50: quantile(before.latency, after.latency, 0.5),
        p99: quantile(before.latency, after.latency, 0.99),
        batches: batches / seconds,
        perBatch: batches > 0 ? (after.changes - before.changes) / batches : null,
        sync50: quantile(before.commit, after.commit, 0.5),
        sync99: quantile(before.commit, after.commit, 0.99),
        queue: after.queue,
        streams: after.streams,
        connections: after.connections,
        data: after.dataBytes,
        log: after.logBytes,
    };
}

const HOLE = Object.fromEntries(COLUMNS.map((name) => [name, null])) as Row;

export class History {
    private last: Reading | null = null;
    readonly timesS: number[] = [];
    readonly columns = Object.fromEntries(COLUMNS.map((name) => [name, [] as (number | null)[]])) as Record<
        Column,
        (number | null)[]
    >;

    /** A reading; the first one, and one after a break, begin a new line. One at once after another says nothing of rates. */
    add(reading: Reading): void {
        const before = this.last;
        if (before && Math.abs(reading.atMs - before.atMs) < EVERY_MS / 2) return;
        this.last = reading;
        if (!before) return;
        const isBroken = wasRestarted(before, reading) || reading.atMs - before.atMs > BREAK_MS;
        this.push(reading.atMs, isBroken ? HOLE : rowBetween(before, reading));
    }

    /** Whether the server knows more than is here. */
    isBehind(nowMs: number): boolean {
        return nowMs - (this.last?.atMs ?? 0) > BREAK_MS;
    }

    /** Begins anew with what the server remembers. */
    begin(readings: Reading[]): void {
        this.last = null;
        this.timesS.length = 0;
        for (const name of COLUMNS) this.columns[name].length = 0;
        for (const reading of readings) this.add(reading);
    }

    /** The server did not answer. */
    miss(atMs: number): void {
        if (this.last) this.push(atMs, HOLE);
        this.last = null;
    }

    latest(name: Column): number | null {
        return this.columns[name].at(-1) ?? null;
    }

    private push(atMs: number, row: Row): void {
        this.timesS.push(atMs / 1000);
        for (const name of COLUMNS) this.columns[name].push(row[name]);
        if (this.timesS.length <= MOST) return;
        this.timesS.shift();
        for (const name of COLUMNS) this.columns[name].shift();
    }
}
