/** The comments of a post: the top level in an order of choice, replies under what they answer. */
import { useSignal } from "@preact/signals";
import { call } from "../api/client";
import type { Comment, Page } from "../api/types";
import { t } from "../i18n";
import { createFeed, type Feed } from "../state/feed";
import { Choices, Empty } from "../ui/bits";
import { FeedList } from "../ui/FeedList";
import { useMemo } from "preact/hooks";
import { CommentForm } from "./CommentForm";
import { CommentRow } from "./CommentRow";

export type Sort = "hot" | "new" | "old";

export interface Thread {
    postId: number;
    sort: Sort;
    /** The number of visible comments changed. */
    changed: (by: number) => void;
}

/** The comments under one parent, 0 for the top level. */
export function useReplies(thread: Thread, parent: number): Feed<Comment> {
    const { postId, sort } = thread;
    return useMemo(
        () =>
            createFeed<Comment, Page<Comment>>(
                (page) =>
                    call("get", "/v1/posts/{post_id}/comments", {
                        path: { post_id: postId },
                        query: { ...page, sort, ...(parent ? { parent_id: parent } : {}) },
                    }),
                (comment) => comment.id,
            ),
        [postId, sort, parent],
    );
}

export function Comments(props: { postId: number; count: number; changed: (by: number) => void }) {
    const sort = useSignal<Sort>("hot");
    const thread: Thread = { postId: props.postId, sort: sort.value, changed: props.changed };
    const feed = useReplies(thread, 0);
    return (
        <section class="comments" aria-labelledby="comments-title">
            <header class="page-head">
                <h2 id="comments-title">
                    {t("comments.title")} <small class="soft">{t("comments.count", { n: props.count })}</small>
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
                    feed.items.value = [comment, ...feed.items.value];
                    props.changed(1);
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
