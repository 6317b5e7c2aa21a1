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

type CommentPage = { limit: number; cursor?: string };

/** A page of the comments under one parent. Of the hottest, the first page also has those that came since. */
async function loadComments(thread: Thread, parent: number, page: CommentPage): Promise<Page<Comment>> {
    const { postId, sort, live } = thread;
    const under = parent ? { parent_id: parent } : {};
    const list = (query: CommentPage & { sort: Sort }) =>
        call("get", "/v1/posts/{post_id}/comments", { path: { post_id: postId }, query: { ...query, ...under } });
    const answer = await list({ ...page, sort });
    if (sort !== "hot" || page.cursor || answer.next_cursor === null || !live.created.size) return answer;
    const newest = await list({ limit: NEWEST, sort: "new" });
    const listed = new Set(answer.items.map((comment) => comment.id));
    const fresh = newest.items.filter((comment) => live.created.has(comment.id) && !listed.has(comment.id));
    return { ...answer, items: [...fresh, ...answer.items] };
}

const NEWEST = 20;

/** The comments under one parent, 0 for the top level. */
export function useReplies(thread: Thread, parent: number): Feed<Comment> {
    const { postId, sort, live } = thread;
    const made = useMemo(
        () => ({
            feed: createFeed<Comment>(
                (page) => loadComments(thread, parent, page),
                (comment) => comment.id,
                (before, now) => keepPlaces(before, now, sort),
            ),
            asOf: live.comments.peek(),
        }),
        [postId, sort, parent],
    );
    const { feed, asOf } = made;
    const tick = live.comments.value;
    const isLoaded = feed.head.value !== null;
    useEffect(() => {
        if (tick !== asOf && isLoaded) void feed.refresh();
    }, [feed, tick, isLoaded]);
    return feed;
}

/**
 * What one is reading stays where it is when others vote. What is newer than all of it comes first, or last under the
 * oldest; what only came up from further down is put at the end.
 */
function keepPlaces(before: Comment[], now: Comment[], sort: Sort): Comment[] {
    const places = new Map(before.map((comment, i) => [comment.id, i]));
    const newest = Math.max(0, ...places.keys());
    const isNew = (comment: Comment) => sort !== "old" && comment.id > newest;
    const known = now.filter((comment) => places.has(comment.id));
    known.sort((a, b) => (places.get(a.id) ?? 0) - (places.get(b.id) ?? 0));
    const others = now.filter((comment) => !places.has(comment.id));
    return [...others.filter(isNew), ...known, ...others.filter((comment) => !isNew(comment))];
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
                    props.live.created.add(comment.id);
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
