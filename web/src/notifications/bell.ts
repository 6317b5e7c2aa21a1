/** The number of unread notifications, asked for when the stream does not say it by itself. */
import { effect } from "@preact/signals";
import { call } from "../api/client";
import { bell, connection } from "../state/live";
import { me } from "../state/session";

async function ask(user: number): Promise<void> {
    try {
        const page = await call("get", "/v1/notifications", { query: { limit: 1 } });
        if (me.value === user) bell.value = page.unread;
    } catch {
        // the stream, or the page of notifications, will say it
    }
}

/** After every beginning of the stream: it tells changes from then on, but not where they start from. */
export function startBell(): void {
    effect(() => {
        if (connection.value === "online" && me.value) void ask(me.value);
    });
}
