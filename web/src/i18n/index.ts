/**
 * The two languages. The English dictionary says which texts there are; the Chinese one has the same
 * keys or does not compile. Braces hold places: t("unread.n", { n: 3 }).
 */
import { effect, signal } from "@preact/signals";
import { en } from "./en";
import { zh } from "./zh";

export type Key = keyof typeof en;
export type Language = "zh-CN" | "en";
export type Dictionary = Record<Key, string>;

const dictionaries: Record<Language, Dictionary> = { "zh-CN": zh, en };
const KEY = "tidings.language";

function first(): Language {
    const kept = localStorage.getItem(KEY);
    if (kept === "zh-CN" || kept === "en") return kept;
    return navigator.language.toLowerCase().startsWith("zh") ? "zh-CN" : "en";
}

export const language = signal<Language>(first());

effect(() => {
    document.documentElement.lang = language.value;
});

export function setLanguage(to: Language): void {
    language.value = to;
    localStorage.setItem(KEY, to);
}

export function t(key: Key, places: Record<string, string | number> = {}): string {
    return dictionaries[language.value][key].replace(/\{(\w+)\}/g, (whole, name: string) =>
        name in places ? String(places[name]) : whole);
}
