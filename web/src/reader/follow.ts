/** Following somebody, and its end. */
import { type Signal, useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { call } from "../api/client";
import { inboxChanged } from "../state/inbox";
import { optimistic } from "../ui/optimistic";

export function follow(id: number, to: boolean): Promise<{ changed: boolean }> {
    return to
        ? call("post", "/v1/relation/follow", { body: { user_id: id } })
        : call("post", "/v1/relation/unfollow", { body: { user_id: id } });
}

/** Whom the viewer follows, of some people; who is not in it is not known yet. */
export type Followed = ReadonlyMap<number, boolean>;

/** As many as the server tells at once. */
const MANY = 100;

/** Asks for those of a list who are not known yet, as it grows. */
export function useFollowed(ids: readonly number[]): Signal<Followed> {
    const followed = useSignal<Followed>(new Map());
    const wanted = ids.filter((id) => !followed.value.has(id)).slice(0, MANY);
    const key = wanted.join();
    useEffect(() => {
        if (!key) return;
        const stop = new AbortController();
        call("get", "/v1/relation/status", { query: { user_ids: wanted }, signal: stop.signal }).then(
            (answer) => {
                const rows = "items" in answer ? answer.items : []; // asked about many
                followed.value = new Map([...followed.value, ...rows.map((row) => [row.user_id, row.following] as const)]);
            },
            () => undefined, // a row without its button is a row all the same
        );
        return () => stop.abort();
    }, [key]);
    return followed;
}

export function toggleFollow(followed: Signal<Followed>, id: number): void {
    const to = !followed.value.get(id);
    void optimistic(
        followed,
        (now) => new Map(now).set(id, to),
        () => follow(id, to),
        (now) => now,
        String(id),
    ).then(inboxChanged);
}
