/**
 * The keyboard. Rows of a list have `data-row`; in each, `data-open` is what opens it and `data-mark`
 * what marks it. So every list has the keys, whoever wrote it.
 */
import { signal } from "@preact/signals";
import { go } from "../state/router";

export const helpIsOpen = signal(false);

function rows(): HTMLElement[] {
    return [...document.querySelectorAll<HTMLElement>("main [data-row]")];
}

function opener(row: Element | null | undefined): HTMLElement | null {
    return row?.querySelector<HTMLElement>("[data-open]") ?? null;
}

function currentRow(): HTMLElement | null {
    return document.activeElement?.closest<HTMLElement>("[data-row]") ?? null;
}

/** Where the focus was: a row may go while it has it. */
let latest = -1;

function move(by: 1 | -1): void {
    const all = rows();
    const row = currentRow();
    const at = row ? all.indexOf(row) : latest < all.length ? latest - (by > 0 ? 1 : 0) : -1;
    latest = Math.min(Math.max(at + by, 0), all.length - 1);
    const next = all[latest];
    opener(next)?.focus();
    next?.scrollIntoView({ block: "nearest" });
}

const keys: Record<string, () => void> = {
    j: () => move(1),
    k: () => move(-1),
    o: () => opener(currentRow())?.click(),
    m: () => (currentRow() ?? document.querySelector("main"))?.querySelector<HTMLElement>("[data-mark]")?.click(),
    i: () => go("#/inbox"),
    "?": () => {
        helpIsOpen.value = true;
    },
};

function isTyping(target: EventTarget | null): boolean {
    return target instanceof HTMLElement && target.matches("input:not([type=radio]), textarea, select, dialog *");
}

export function startKeys(): void {
    addEventListener("keydown", (event) => {
        if (event.ctrlKey || event.altKey || event.metaKey || isTyping(event.target)) return;
        const run = keys[event.key];
        if (!run) return;
        event.preventDefault();
        run();
    });
}
