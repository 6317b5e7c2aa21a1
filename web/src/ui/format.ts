import { type Key, language, t } from "../i18n";

const MINUTE = 60_000;
const UNITS: [Intl.RelativeTimeFormatUnit, number][] = [
    ["day", 24 * 60 * MINUTE],
    ["hour", 60 * MINUTE],
    ["minute", MINUTE],
];

/** "3 hours ago"; a date once it is a week old. */
export function ago(ms: number, now = Date.now()): string {
    const age = now - ms;
    if (age < MINUTE) return t("time.now");
    if (age > 7 * 24 * 60 * MINUTE) return new Date(ms).toLocaleDateString(language.value, { dateStyle: "medium" });
    const [unit, size] = UNITS.find(([, length]) => age >= length) ?? ["minute", MINUTE];
    return new Intl.RelativeTimeFormat(language.value, { numeric: "auto" }).format(-Math.floor(age / size), unit);
}

export function fullTime(ms: number): string {
    return new Date(ms).toLocaleString(language.value, { dateStyle: "full", timeStyle: "short" });
}

export function shortTime(ms: number): string {
    return new Date(ms).toLocaleString(language.value, { dateStyle: "short", timeStyle: "short" });
}

export function number(n: number): string {
    return n.toLocaleString(language.value);
}

type Counted = { [K in Key]: `${K}_one` extends Key ? K : never }[Key];

/** "1 comment", "2 comments". */
export function counted(key: Counted, n: number): string {
    return t(n === 1 ? (`${key}_one` as Key) : key, { n: number(n) });
}

/** A user without a name is called by the id. */
export function nameOf(name: string, id: number): string {
    return name || t("user.unnamed", { id });
}
