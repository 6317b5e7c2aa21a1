/** What people did with a post, in a row of a list. */
import { type ReadonlySignal, useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { call } from "../api/client";
import type { Page, PostStats } from "../api/types";
import { t } from "../i18n";
import type { Feed } from "../state/feed";
import { number } from "../ui/format";
import { Icon, type IconName } from "../ui/Icon";

function Count({ icon, label, n }: { icon: IconName; label: string; n: number }) {
    return (
        <span title={label}>
            <Icon name={icon} />
            <span class="unseen">{label}</span> {number(n)}
        </span>
    );
}

/** What is not known yet has its room, so that nothing moves when it comes. */
export function Stats({ stats, heat = false }: { stats: PostStats | undefined; heat?: boolean }) {
    if (!stats) return <p class="stats" />;
    return (
        <p class="stats">
            <Count icon="heart" label={t("post.like")} n={stats.like_count} />
            <Count icon="star" label={t("post.fav")} n={stats.fav_count} />
            <Count icon="comment" label={t("comments.title")} n={stats.comment_count} />
            {heat ? (
                <span class="heat" title={t("post.heat_hint")}>
                    {t("post.heat", { n: number(stats.hot_score) })}
                </span>
            ) : null}
        </p>
    );
}

/** As many as the server counts at once. */
const MANY = 100;

/** Null: there are none, of a post that is gone. */
export type Known = ReadonlyMap<number, PostStats | null>;

function statsOf(row: object): PostStats | null {
    return "like_count" in row ? (row as PostStats) : null;
}

/** The counts of a list's posts, which come without. Those of posts that are new in it; all, when it was read again. */
export function useStats<T extends { post_id: number }, P extends Page<T>>(feed: Feed<T, P>): ReadonlySignal<Known> {
    const known = useSignal<Known>(new Map());
    const items = feed.items.value;
    const head = feed.head.value;
    const latest = useRef<P | null>(null);
    useEffect(() => {
        const stop = new AbortController();
        const isAgain = latest.current !== head;
        const ids = items.map((item) => item.post_id).filter((id) => isAgain || !known.value.has(id));
        const load = async (from: number): Promise<void> => {
            const some = ids.slice(from, from + MANY);
            if (!some.length) return;
            const { items: rows } = await call("get", "/v1/posts/stats", { query: { ids: some }, signal: stop.signal });
            known.value = new Map([...known.value, ...rows.map((row) => [row.post_id, statsOf(row)] as const)]);
            await load(from + MANY);
        };
        latest.current = head;
        load(0).catch(() => undefined); // a row without counts is a row all the same
        return () => stop.abort();
    }, [items, head]);
    return known;
}
