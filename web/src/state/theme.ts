/** Light or dark: as the system has it, unless the reader chose. Kept in this browser. */
import { effect, signal } from "@preact/signals";

export type Theme = "auto" | "light" | "dark";

const KEY = "tidings.theme";

function first(): Theme {
    const kept = localStorage.getItem(KEY);
    return kept === "light" || kept === "dark" ? kept : "auto";
}

export const theme = signal<Theme>(first());

effect(() => {
    document.documentElement.dataset["theme"] = theme.value;
    localStorage.setItem(KEY, theme.value);
});
