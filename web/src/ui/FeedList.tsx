/** A list that grows as one scrolls. */
import type { ComponentChildren } from "preact";
import { useEffect, useMemo, useRef } from "preact/hooks";
import type { Page } from "../api/types";
import { t } from "../i18n";
import { createFeed, type Feed, type Load } from "../state/feed";
import { explain } from "../state/toasts";
import { Failed, Loading } from "./bits";

/** A feed of the component's own; another `name` is another list. */
export function useFeed<T, P extends Page<T> = Page<T>>(name: string, load: Load<T, P>, key: (item: T) => number) {
    return useMemo(() => createFeed<T, P>(load, key), [name]);
}

/** How far ahead of the end the next page is asked for. */
const AHEAD = "800px";

function useSentinel(feed: Feed<unknown, never>) {
    const sentinel = useRef<HTMLDivElement>(null);
    const length = feed.items.value.length;
    const loading = feed.loading.value;
    useEffect(() => {
        if (!sentinel.current || loading) return;
        // Made anew after each page: an observer says nothing while the mark stays in sight.
        const observer = new IntersectionObserver(
            (entries) => {
                if (entries.some((entry) => entry.isIntersecting)) void feed.more();
            },
            { rootMargin: AHEAD },
        );
        observer.observe(sentinel.current);
        return () => observer.disconnect();
    }, [feed, length, loading]);
    return sentinel;
}

export function FeedList<T, P extends Page<T> = Page<T>>(props: {
    feed: Feed<T, P>;
    row: (item: T) => ComponentChildren;
    empty: ComponentChildren;
    label: string;
    class?: string;
}) {
    const { feed } = props;
    const sentinel = useSentinel(feed as unknown as Feed<unknown, never>);
    const items = feed.items.value;
    useEffect(() => {
        if (!feed.head.value) void feed.more();
    }, [feed]);
    return (
        <>
            {items.length ? (
                <ul class={props.class ?? "rows"} aria-label={props.label}>
                    {items.map(props.row)}
                </ul>
            ) : null}
            {feed.error.value ? <Failed text={explain(feed.error.value)} retry={() => void feed.refresh()} /> : null}
            {feed.done.value && !items.length ? props.empty : null}
            {feed.done.value || feed.error.value ? null : <div ref={sentinel}>{feed.loading.value ? <Loading /> : null}</div>}
            {feed.done.value && items.length > 20 ? <p class="end">{t("app.end")}</p> : null}
        </>
    );
}
