/**
 * The stream of the acting user: opened while somebody is signed in, opened again with growing pauses
 * when it breaks, from the last event seen. Pages listen with `onLive` (or the hook `useLive`).
 *
 *   badge, unread     what the server counts; `badge` and `bell` always hold the latest
 *   post              a followed author published
 *   changed           a post of somebody in the inbox was edited or deleted, read or not; null: many were
 *   notification      a scene came out in a story that the user subscribes to
 *   activity, missed  something happened to the post that is open (`openPost`); there was too much of it
 *   watching          from now on one hears of the open post: look again
 *   refreshed         the stream stands again after a break: look again
 */
import { effect, signal, untracked } from "@preact/signals";
import { call, requestHeaders } from "../api/client";
import { problemOf } from "../api/problem";
import { readEvents, type SseEvent } from "../api/sse";
import type { ActivityEvent, BadgeEvent, ChangedEvent, NotificationEvent, PostEvent, UnreadEvent } from "../api/types";
import { endSession, isSignedIn, me } from "./session";
import { complain } from "./toasts";

export interface LiveEvents {
    badge: BadgeEvent;
    post: PostEvent;
    changed: ChangedEvent;
    notification: NotificationEvent;
    unread: UnreadEvent;
    activity: ActivityEvent;
    missed: null;
    watching: null;
    refreshed: null;
}

export type Connection = "connecting" | "online" | "offline";

/** Unread posts; null until known. */
export const badge = signal<number | null>(null);
/** Unread notifications; null until known. */
export const bell = signal<number | null>(null);
export const connection = signal<Connection>("connecting");
/** Whether this device has a network at all, as the browser says. */
export const hasNetwork = signal(navigator.onLine);
/** The post that is open, 0 if none was yet. One that was left may stay here: hearing of it does no harm. */
export const openPost = signal(0);

type Listener = (name: keyof LiveEvents, data: LiveEvents[keyof LiveEvents]) => void;
const listeners = new Set<Listener>();

export function onLive<N extends keyof LiveEvents>(name: N, run: (data: LiveEvents[N]) => void): () => void {
    const listener: Listener = (given, data) => {
        if (given === name) run(data as LiveEvents[N]);
    };
    listeners.add(listener);
    return () => listeners.delete(listener);
}

function emit<N extends keyof LiveEvents>(name: N, data: LiveEvents[N]): void {
    for (const listener of [...listeners]) listener(name, data);
}

function take(event: SseEvent): void {
    switch (event.name) {
        case "badge": {
            const data = JSON.parse(event.data) as BadgeEvent;
            badge.value = data.total;
            return emit("badge", data);
        }
        case "unread": {
            const data = JSON.parse(event.data) as UnreadEvent;
            bell.value = data.notifications;
            return emit("unread", data);
        }
        case "notification": {
            const data = JSON.parse(event.data) as NotificationEvent;
            bell.value = data.unread;
            return emit("notification", data);
        }
        case "post":
            return emit("post", JSON.parse(event.data) as PostEvent);
        case "changed":
            return emit("changed", JSON.parse(event.data) as ChangedEvent);
        case "activity":
            return emit("activity", JSON.parse(event.data) as ActivityEvent);
        case "missed":
            return emit("missed", null);
        default:
            return undefined;
    }
}

/** The stream tells of notifications only when their number changes. */
async function countBell(): Promise<void> {
    const user = me.value;
    try {
        const page = await call("get", "/v1/notifications", { query: { limit: 1 } });
        if (me.value === user) bell.value = page.unread;
    } catch {
        // the next event tells
    }
}

const PAUSE_FIRST_MS = 500;
const PAUSE_MOST_MS = 15000;
/** Two heartbeats and a half without a byte: the connection is dead, though nobody said so. */
const SILENCE_MS = 40000;

interface Life {
    lastId: { value: string | null };
    post: number;
    /** It stood before, and broke. */
    again: boolean;
}

/** One life of the stream, until it breaks. True if it stood. */
async function follow({ lastId, post, again }: Life, stop: AbortSignal): Promise<boolean> {
    const silent = new AbortController();
    let timer = setTimeout(() => silent.abort(), SILENCE_MS);
    const cancel = () => silent.abort();
    stop.addEventListener("abort", cancel);
    addEventListener("offline", cancel); // the connection's own end may be noticed much later
    try {
        const headers = requestHeaders();
        if (lastId.value) headers["Last-Event-ID"] = lastId.value;
        const answer = await fetch(post ? `/v1/stream?post_ids=${post}` : "/v1/stream", { headers, signal: silent.signal, cache: "no-store" });
        if (answer.status === 401) {
            complain(await problemOf(answer));
            endSession();
            return false;
        }
        if (!answer.ok || !answer.body) return false;
        connection.value = "online";
        void countBell();
        if (again) emit("refreshed", null);
        let isWatching = !post; // once greeted: what happened before that is not told
        for await (const event of readEvents(answer.body)) {
            clearTimeout(timer);
            timer = setTimeout(() => silent.abort(), SILENCE_MS);
            if (event === "heartbeat") continue;
            if (event.id) lastId.value = event.id;
            take(event);
            if (!isWatching) emit("watching", null);
            isWatching = true;
        }
        return true;
    } catch {
        return connection.value === "online";
    } finally {
        clearTimeout(timer);
        removeEventListener("offline", cancel);
        stop.removeEventListener("abort", cancel);
    }
}

function pause(ms: number, stop: AbortSignal): Promise<void> {
    return new Promise((done) => {
        const timer = setTimeout(end, ms);
        function end() {
            clearTimeout(timer);
            removeEventListener("online", end);
            stop.removeEventListener("abort", end);
            done();
        }
        addEventListener("online", end);
        stop.addEventListener("abort", end);
    });
}

/** Until it breaks, or another post is opened, which needs another stream; then null. */
async function followPost(life: Life, stop: AbortSignal): Promise<boolean | null> {
    const turn = new AbortController();
    const end = () => turn.abort();
    const forget = openPost.subscribe((post) => post !== life.post && end());
    stop.addEventListener("abort", end);
    const stood = await follow(life, turn.signal);
    stop.removeEventListener("abort", end);
    forget();
    return turn.signal.aborted ? null : stood;
}

async function keepFollowing(stop: AbortSignal): Promise<void> {
    const lastId = { value: null as string | null };
    let wait = PAUSE_FIRST_MS;
    let again = false;
    while (!stop.aborted) {
        const stood = await followPost({ lastId, post: openPost.peek(), again }, stop);
        if (stop.aborted) return;
        again = stood !== null;
        if (stood === null) continue;
        connection.value = "offline";
        wait = stood ? PAUSE_FIRST_MS : Math.min(wait * 2, PAUSE_MOST_MS);
        await pause(wait * (0.75 + Math.random() / 2), stop);
    }
}

/** For ever: a stream for whoever is signed in. */
export function startLive(): void {
    const look = () => {
        hasNetwork.value = navigator.onLine;
    };
    addEventListener("offline", look);
    addEventListener("online", look);
    let stop: AbortController | null = null;
    effect(() => {
        const user = isSignedIn.value ? me.value : 0;
        stop?.abort();
        stop = null;
        badge.value = null;
        bell.value = null;
        connection.value = "connecting";
        if (!user) return;
        stop = new AbortController();
        const signal = stop.signal;
        untracked(() => void keepFollowing(signal));
    });
}
