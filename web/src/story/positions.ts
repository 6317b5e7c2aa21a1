/**
 * How far the reader has got in each story, in step with the server and the reader's other devices.
 *
 *   enter      makes a record where there is none; where there is one it changes nothing
 *   readTo     the last message read; written at once, then at most every two seconds
 *   leave      writes what is not written yet
 *
 * Every write carries the time at which it happened here. What could not be sent is kept, also over a
 * reload of this tab, and sent later with its old time; the server knows which one wins.
 */
import { computed, effect, signal } from "@preact/signals";
import { call, requestHeaders } from "../api/client";
import { Problem } from "../api/problem";
import type { Reading } from "../api/types";
import { onLive } from "../state/live";
import { me } from "../state/session";
import { complain } from "../state/toasts";

interface Write {
    scene_id: number | null;
    message_id: number | null;
    modified_at: number;
}

const PAUSE_MS = 2000;
const RETRY_MS = 10000;

/** By story; null until they were read for the first time. */
export const positions = signal<ReadonlyMap<number, Reading> | null>(null);

export const continueReading = computed(() =>
    [...(positions.value?.values() ?? [])].sort((a, b) => b.modified_at - a.modified_at));

let version = 0;
let syncing: Promise<void> | null = null;
let pending = new Map<number, Write>();
let timer: ReturnType<typeof setTimeout> | undefined;
let sending = false;
let sentAtMs = 0;

// ---- What was not sent yet ----------------------------------------------------------------------

const key = (user: number) => `tidings.reading.${user}`;

function keepPending(): void {
    try {
        if (pending.size) sessionStorage.setItem(key(me.value), JSON.stringify([...pending]));
        else sessionStorage.removeItem(key(me.value));
    } catch {
        // nothing can be kept here: it is lost if the page is left before it is sent
    }
}

function loadPending(user: number): Map<number, Write> {
    try {
        return new Map(JSON.parse(sessionStorage.getItem(key(user)) ?? "[]") as [number, Write][]);
    } catch {
        return new Map();
    }
}

function bodyOf(write: Write) {
    return {
        modified_at: write.modified_at,
        ...(write.scene_id === null ? {} : { scene_id: write.scene_id }),
        ...(write.message_id === null ? {} : { message_id: write.message_id }),
    };
}

/** What a failure may pass away with: no connection, no room, too much at once. */
function mayPass(error: unknown): boolean {
    return error instanceof Problem && (error.status === 0 || error.status === 429 || error.status === 503);
}

async function send(story: number, write: Write): Promise<boolean> {
    try {
        const answer = await call("put", "/v1/reading/{story_id}", {
            path: { story_id: story },
            body: bodyOf(write),
        });
        if (pending.get(story) !== write) return true;
        pending.delete(story);
        const { changed: _, modified_at, ...record } = answer;
        if (modified_at === null) set(story, null);
        else set(story, { ...record, modified_at });
        return true;
    } catch (error) {
        if (mayPass(error)) return false;
        if (pending.get(story) === write) pending.delete(story);
        if (!(error instanceof Problem && error.status === 410)) complain(error);
        return true;
    }
}

async function sendAll(): Promise<void> {
    clearTimeout(timer);
    timer = undefined;
    if (sending) return;
    sending = true;
    sentAtMs = Date.now();
    const user = me.value;
    let worked = true;
    for (const [story, write] of [...pending]) {
        worked = await send(story, write);
        if (!worked || me.value !== user) break;
    }
    sending = false;
    keepPending();
    if (pending.size) sendIn(worked ? PAUSE_MS : RETRY_MS);
}

function sendIn(ms: number): void {
    timer = setTimeout(() => void sendAll(), Math.max(0, ms));
}

/** The page may be gone in a moment: the browser sends these on its own. */
function sendLast(): void {
    for (const [story, write] of pending)
        void fetch(`/v1/reading/${story}`, {
            method: "PUT",
            headers: { ...requestHeaders(), "Content-Type": "application/json" },
            body: JSON.stringify(bodyOf(write)),
            keepalive: true,
            credentials: "same-origin",
        }).catch(() => undefined);
}

// ---- What is known ------------------------------------------------------------------------------

function set(story: number, record: Reading | null): void {
    const next = new Map(positions.value ?? []);
    if (record) next.set(story, record);
    else next.delete(story);
    positions.value = next;
}

function note(story: number, title: string, write: Write): void {
    pending.set(story, write);
    keepPending();
    set(story, { story_id: story, title, is_deleted: false, ...write });
    if (timer === undefined && !sending) sendIn(sentAtMs + PAUSE_MS - Date.now());
}

async function pull(): Promise<void> {
    const user = me.value;
    for (let more = true; more;) {
        const delta = await call("get", "/v1/reading", { query: { since: version } });
        if (me.value !== user || !("more" in delta)) return;
        const next = new Map(positions.value ?? []);
        for (const record of delta.items) next.set(record.story_id, record);
        for (const story of delta.deleted) next.delete(story);
        for (const [story, write] of pending) {
            const record = next.get(story);
            if (record && record.modified_at < write.modified_at) next.set(story, { ...record, ...write });
        }
        positions.value = next;
        version = delta.version;
        more = delta.more;
    }
}

/** Brings in what changed on other devices. Failures wait for the next time. */
export function syncPositions(): Promise<void> {
    syncing ??= pull()
        .catch(() => undefined)
        .finally(() => (syncing = null));
    return syncing;
}

// ---- What pages do ------------------------------------------------------------------------------

export function enter(story: number, title: string): void {
    if (positions.value && !positions.value.has(story))
        note(story, title, { scene_id: null, message_id: null, modified_at: Date.now() });
}

export function readTo(story: number, title: string, scene: number, message: number | null): void {
    note(story, title, { scene_id: scene, message_id: message, modified_at: Date.now() });
}

export function leave(): void {
    if (pending.size) void sendAll();
}

export async function forget(story: number): Promise<void> {
    pending.delete(story);
    keepPending();
    const before = positions.value?.get(story) ?? null;
    set(story, null);
    try {
        await call("delete", "/v1/reading/{story_id}", { path: { story_id: story } });
    } catch (error) {
        set(story, before);
        complain(error);
    }
}

export async function forgetAll(): Promise<void> {
    const before = positions.value;
    pending.clear();
    keepPending();
    positions.value = new Map();
    try {
        await call("delete", "/v1/reading");
    } catch (error) {
        positions.value = before;
        complain(error);
    }
}

effect(() => {
    const user = me.value;
    clearTimeout(timer);
    timer = undefined;
    version = 0;
    positions.value = null;
    pending = loadPending(user);
    if (user && pending.size) sendIn(PAUSE_MS);
});

onLive("refreshed", () => {
    leave();
    if (positions.value) void syncPositions();
});

addEventListener("pagehide", sendLast);

document.addEventListener("visibilitychange", () => {
    if (document.hidden) sendLast();
    else if (positions.value) void syncPositions();
});
