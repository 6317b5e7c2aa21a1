/** Numbers with their units, short enough for an axis. */
import { language, t } from "../i18n";

export type Unit = "rate" | "seconds" | "count" | "bytes";

function short(n: number): string {
    const digits = n === 0 || Math.abs(n) >= 100 ? 0 : Math.abs(n) >= 10 ? 1 : 2;
    return n.toLocaleString(language.value, { maximumFractionDigits: digits });
}

const TIMES: [number, string][] = [
    [1, "s"],
    [1e-3, "ms"],
    [1e-6, "µs"],
];

export function seconds(n: number): string {
    if (n === 0) return "0";
    const [size, name] = TIMES.find(([least]) => n >= least) ?? [1e-6, "µs"];
    return `${short(n / size)} ${name}`;
}

const SIZES = ["B", "KiB", "MiB", "GiB", "TiB"];

export function bytes(n: number): string {
    let i = 0;
    for (; n >= 1024 && i < SIZES.length - 1; i++) n /= 1024;
    return `${short(n)} ${SIZES[i]}`;
}

/** "3 d 4 h", "12 min 5 s": the two greatest units. */
export function duration(ms: number): string {
    const s = Math.floor(ms / 1000);
    const parts: [number, Intl.NumberFormatOptions["unit"]][] = [
        [Math.floor(s / 86400), "day"],
        [Math.floor(s / 3600) % 24, "hour"],
        [Math.floor(s / 60) % 60, "minute"],
        [s % 60, "second"],
    ];
    const first = Math.max(0, parts.findIndex(([n]) => n > 0));
    const shown = s === 0 ? parts.slice(3) : parts.slice(first, first + 2);
    return shown
        .map(([n, unit]) => n.toLocaleString(language.value, { style: "unit", unit: unit as string, unitDisplay: "narrow" }))
        .join(" ");
}

export function format(unit: Unit, n: number): string {
    switch (unit) {
        case "rate":
            return t("chart.rate", { n: short(n) });
        case "seconds":
            return seconds(n);
        case "bytes":
            return bytes(n);
        case "count":
            return short(n);
    }
}
