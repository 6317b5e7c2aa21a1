/**
 * A post that is being written, kept in this browser until it is published: one for each user who writes here. Signing
 * out forgets them all; a session that has run out does not.
 */
import type { Kind } from "../api/types";

export interface Draft {
    kind: Kind;
    title: string;
    body: string;
}

const PREFIX = "tidings.draft.";

export function loadDraft(user: number): Draft | null {
    try {
        const read = JSON.parse(localStorage.getItem(PREFIX + user) ?? "null") as Partial<Draft> | null;
        if (typeof read?.title !== "string" || typeof read.body !== "string") return null;
        const kind = read.kind === "story" || read.kind === "activity" ? read.kind : "note";
        return { kind, title: read.title, body: read.body };
    } catch {
        return null;
    }
}

/** One without a word is none. */
export function keepDraft(user: number, draft: Draft | null): void {
    try {
        if (draft && (draft.title || draft.body)) localStorage.setItem(PREFIX + user, JSON.stringify(draft));
        else localStorage.removeItem(PREFIX + user);
    } catch {
        // a browser that keeps nothing: it is there until the page is left
    }
}

export function forgetDrafts(): void {
    for (const key of Object.keys(localStorage)) if (key.startsWith(PREFIX)) localStorage.removeItem(key);
}
