/** Short messages at the edge of the page; a screen reader says them. */
import { signal } from "@preact/signals";
import { Problem } from "../api/problem";
import { t } from "../i18n";

export interface Toast {
    id: number;
    text: string;
    kind: "info" | "error";
    action?: { label: string; run: () => void };
}

const SHOWN_MS = 6000;
/** What can be undone can be for so long. */
export const UNDO_MS = 10_000;
const MOST = 3;

export const toasts = signal<Toast[]>([]);
/** News for which there was no room; until the last message is gone. */
export const untold = signal(0);
let next = 1;

export function dismiss(id: number): void {
    toasts.value = toasts.value.filter((toast) => toast.id !== id);
    if (!toasts.value.length) untold.value = 0;
}

export function say(text: string, kind: Toast["kind"] = "info", action?: Toast["action"], shownMs = SHOWN_MS): void {
    const id = next++;
    toasts.value = [...toasts.value.slice(1 - MOST), { id, text, kind, ...(action ? { action } : {}) }];
    setTimeout(() => dismiss(id), shownMs);
}

/** Something that happened elsewhere: many of them at once are counted, and push nothing away. */
export function news(text: string, action: Toast["action"]): void {
    if (toasts.value.length < MOST) say(text, "info", action);
    else untold.value++;
}

/** What a failed call says to people. */
export function explain(error: unknown): string {
    if (!(error instanceof Problem)) return t("error.unknown");
    if (error.status === 0) return t("error.unreachable");
    if (error.status === 401) return t("error.unauthorized");
    if (error.status === 403 && error.code === "forbidden") return t("error.forbidden");
    if (error.status === 404) return t("error.not_found");
    if (error.status === 410) return error.more.notice ?? t("error.deleted");
    if (error.status === 429) return t("error.too_fast", { s: error.more.retryAfterS ?? 1 });
    if (error.status === 503) return t("error.busy");
    return error.detail || t("error.unknown");
}

export function complain(error: unknown): void {
    say(explain(error), "error");
}
