/** The stories that the reader subscribes to. The API lists them; whether one is among them, we look up here. */
import { effect, signal } from "@preact/signals";
import { call } from "../api/client";
import type { Subscription } from "../api/types";
import { me } from "../state/session";
import { complain } from "../state/toasts";

/** Latest first; null until read. */
export const subscriptions = signal<Subscription[] | null>(null);

let loading: Promise<void> | null = null;

async function readAll(): Promise<void> {
    const user = me.value;
    const rows: Subscription[] = [];
    let cursor: string | null = null;
    do {
        const page: { items: Subscription[]; next_cursor: string | null } = await call("get", "/v1/subscriptions", {
            query: { limit: 100, ...(cursor ? { cursor } : {}) },
        });
        rows.push(...page.items);
        cursor = page.next_cursor;
    } while (cursor && me.value === user);
    if (me.value === user) subscriptions.value = rows;
}

/** Again, also if they are known. */
export function loadSubscriptions(): Promise<void> {
    loading ??= readAll()
        .catch(complain)
        .finally(() => (loading = null));
    return loading;
}

export function isSubscribed(story: number): boolean {
    return !!subscriptions.value?.some((row) => row.story_id === story);
}

export async function setSubscribed(story: Omit<Subscription, "since" | "is_deleted">, on: boolean): Promise<void> {
    const before = subscriptions.value;
    const others = (before ?? []).filter((row) => row.story_id !== story.story_id);
    subscriptions.value = on ? [{ ...story, since: Date.now(), is_deleted: false }, ...others] : others;
    try {
        await call(on ? "put" : "delete", "/v1/stories/{story_id}/subscription", { path: { story_id: story.story_id } });
    } catch (error) {
        subscriptions.value = before;
        complain(error);
    }
}

effect(() => {
    void me.value;
    subscriptions.value = null;
});
