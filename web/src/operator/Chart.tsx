/**
 * A chart over time: uPlot draws lines, axes and the cursor, which all charts share; the legend is ours,
 * in HTML, so that it can be read aloud and says the values under the cursor, or the latest.
 */
import { useEffect, useRef, useState } from "preact/hooks";
import uPlot from "uplot";
import { type Key, language, t } from "../i18n";
import { theme } from "../state/theme";
import type { Column, History } from "./history";
import { format, type Unit } from "./units";

export interface ChartRow {
    title: Key;
    hint: Key;
    unit: Unit;
    series: { column: Column; label: Key }[];
}

const HEIGHT = 180;
const AXIS_WIDTH = 76;

/** What an axis reaches at least, so that a line of zeros lies on the ground. */
const LEAST: Record<Unit, number> = { rate: 1, seconds: 1e-3, count: 1, bytes: 1024 };

/** Steps of an axis: whole ones for what is counted, powers of two for bytes; others uPlot chooses. */
const STEPS: Partial<Record<Unit, number[]>> = {
    count: Array.from({ length: 10 }, (_, i) => [1, 2, 5].map((n) => n * 10 ** i)).flat(),
    bytes: Array.from({ length: 50 }, (_, i) => 2 ** i),
};

function colour(name: string): string {
    return getComputedStyle(document.documentElement).getPropertyValue(name).trim() || "#888";
}

function clock(s: number): string {
    return new Date(s * 1000).toLocaleTimeString(language.value, { hour12: false });
}

function options(row: ChartRow, width: number, over: (index: number | null) => void, spanS: () => number): uPlot.Options {
    const steps = STEPS[row.unit];
    const text = colour("--chart-text");
    const grid = { stroke: colour("--chart-grid"), width: 1 };
    const font = "12px system-ui, sans-serif";
    return {
        width,
        height: HEIGHT,
        legend: { show: false },
        cursor: { y: false, drag: { x: false, y: false }, sync: { key: "operator" }, points: { size: 6 } },
        scales: {
            x: { time: true, range: () => [Date.now() / 1000 - spanS(), Date.now() / 1000] },
            y: { range: (_, __, most) => [0, Math.max((most ?? 0) * 1.1, LEAST[row.unit])] },
        },
        axes: [
            { stroke: text, grid, ticks: grid, font, size: 32, space: 70, values: (_, splits) => splits.map(clock) },
            {
                stroke: text,
                grid,
                ticks: grid,
                font,
                size: AXIS_WIDTH,
                space: 36,
                ...(steps ? { incrs: steps } : {}),
                values: (_, splits) => splits.map((n) => format(row.unit, n)),
            },
        ],
        series: [
            {},
            ...row.series.map((one, i) => ({
                label: t(one.label),
                stroke: colour(`--chart-${i + 1}`),
                width: 2,
                ...(i ? { dash: [6, 3] } : {}),
                points: { show: false },
                spanGaps: false,
            })),
        ],
        hooks: { setCursor: [(plot) => over(plot.cursor.idx ?? null)] },
    };
}

/** Counts up when the colours of the page change: by choice, or with the system's. */
function useColours(): number {
    const [n, setN] = useState(0);
    useEffect(() => {
        const dark = matchMedia("(prefers-color-scheme: dark)");
        const change = () => setN((before) => before + 1);
        dark.addEventListener("change", change);
        return () => dark.removeEventListener("change", change);
    }, []);
    return n;
}

function dataOf(history: History, row: ChartRow, fromS: number): uPlot.AlignedData {
    const first = Math.max(0, history.timesS.findIndex((s) => s >= fromS));
    return [
        history.timesS.slice(first),
        ...row.series.map((one) => history.columns[one.column].slice(first)),
    ] as uPlot.AlignedData;
}

export function Chart({ row, history, tick, minutes }: {
    row: ChartRow;
    history: History;
    /** Changes with every reading. */
    tick: number;
    minutes: number;
}) {
    const box = useRef<HTMLDivElement>(null);
    const plot = useRef<uPlot | null>(null);
    const span = useRef(0);
    span.current = minutes * 60;
    const [index, setIndex] = useState<number | null>(null);
    const colours = useColours();
    const data = dataOf(history, row, Date.now() / 1000 - span.current);

    useEffect(() => {
        const at = box.current;
        if (!at) return;
        const made = new uPlot(options(row, at.clientWidth, setIndex, () => span.current), data, at);
        plot.current = made;
        const watch = new ResizeObserver(() => made.setSize({ width: at.clientWidth, height: HEIGHT }));
        watch.observe(at);
        return () => {
            watch.disconnect();
            made.destroy();
            plot.current = null;
        };
    }, [row, colours, theme.value, language.value]);

    useEffect(() => plot.current?.setData(data), [tick, minutes]);

    return (
        <figure class="chart">
            <figcaption>{t(row.title)}</figcaption>
            <p class="hint">{t(row.hint)}</p>
            <div ref={box} class="chart-box" aria-hidden="true" />
            <ul class="legend">
                {row.series.map((one, i) => {
                    const values = data[i + 1] as (number | null)[];
                    const value = index !== null && index < values.length ? values[index] : values.at(-1);
                    return (
                        <li key={one.column}>
                            <span class={`swatch swatch-${i + 1}`} aria-hidden="true" />
                            {t(one.label)} <strong>{value == null ? "–" : format(row.unit, value)}</strong>
                        </li>
                    );
                })}
            </ul>
        </figure>
    );
}
