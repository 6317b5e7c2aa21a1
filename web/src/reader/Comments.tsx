/** The comments of a post: the top level in an order of choice, replies under what they answer. */
import { useSignal } from "@preact/signals";
import { call } from "../api/client";
import type { Comment, Page } from "../api/types";
import { t } from "../i18n";
import { createFeed, type Feed } from "../state/feed";
import { Choices, Empty } from "../ui/bits";
import { FeedList } from "../ui/FeedList";
import { counted } from "../ui/format";
import { useEffect, useMemo } from "preact/hooks";
import { CommentForm } from "./CommentForm";
import { CommentRow } from "./CommentRow";
import type { LivePost } from "./useLivePost";

export type Sort = "hot" | "new" | "old";

export interface Thread {
    postId: number;
    sort: Sort;
    live: LivePost;
}

/** The comments under one parent, 0 for the top level. */
export function useReplies(thread: Thread, parent: number): Feed<Comment> {
    const { postId, sort } = thread;
    const feed = useMemo(
        () =>
            createFeed<Comment, Page<Comment>>(
                (page) =>
                    call("get", "/v1/posts/{post_id}/comments", {
                        path: { post_id: postId },
                        query: { ...page, sort, ...(parent ? { parent_id: parent } : {}) },
                    }),
                (comment) => comment.id,
                (before, now) => keepPlaces(before, now, sort),
            ),
        [postId, sort, parent],
    );
    const tick = thread.live.comments.value;
    useEffect(() => {
        if (tick && feed.head.value) void feed.refresh();
    }, [feed, tick]);
    return feed;
}

/** What one is reading stays where it is when others vote; what is new comes first, or last under the oldest. */
function keepPlaces(before: Comment[], now: Comment[], sort: Sort): Comment[] {
    const places = new Map(before.map((comment, i) => [comment.id, i]));
    const known = now.filter((comment) => places.has(comment.id));
    const fresh = now.filter((comment) => !places.has(comment.id));
    known.sort((a, b) => (places.get(a.id) ?? 0) - (places.get(b.id) ?? 0));
    return sort === "old" ? [...known, ...fresh] : [...fresh, ...known];
}

export function Comments(props: { postId: number; count: number; live: LivePost }) {
    const sort = useSignal<Sort>("hot");
    const thread: Thread = { postId: props.postId, sort: sort.value, live: props.live };
    const feed = useReplies(thread, 0);
    return (
        <section class="comments" aria-labelledby="comments-title">
            <header class="page-head">
                <h2 id="comments-title">
                    {t("comments.title")} <small class="soft">{counted("comments.count", props.count)}</small>
                </h2>
                <Choices<Sort>
                    legend={t("comments.sort")}
                    name="sort"
                    choices={(["hot", "new", "old"] as const).map((value) => ({ value, label: t(`comments.${value}`) }))}
                    value={sort.value}
                    change={(value) => {
                        sort.value = value;
                    }}
                />
            </header>
            <CommentForm
                postId={props.postId}
                label={t("comments.write")}
                sent={(comment) => {
                    if (!feed.items.value.some((one) => one.id === comment.id))
                        feed.items.value = [comment, ...feed.items.value];
                    props.live.recount();
                }}
            />
            <FeedList
                feed={feed}
                label={t("comments.title")}
                class="thread"
                row={(comment) => <CommentRow key={comment.id} first={comment} thread={thread} depth={0} />}
                empty={<Empty>{t("comments.none")}</Empty>}
            />
        </section>
    );
}
