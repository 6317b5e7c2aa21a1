/** What people and moderators do with a comment. */
import type { Signal } from "@preact/signals";
import { call } from "../api/client";
import type { Comment } from "../api/types";
import { complain } from "../state/toasts";
import { optimistic } from "../ui/optimistic";
import type { Sort } from "./Comments";

/** Like and downvote exclude each other: setting one takes the other back. */
function voted(now: Comment, what: "like" | "downvote", on: boolean): Comment {
    const liked = what === "like" ? on : on ? false : now.liked;
    const downvoted = what === "downvote" ? on : on ? false : now.downvoted;
    return {
        ...now,
        liked,
        downvoted,
        stats: {
            ...now.stats,
            like_count: now.stats.like_count + Number(liked) - Number(now.liked),
            down_count: now.stats.down_count + Number(downvoted) - Number(now.downvoted),
        },
    };
}

/** The comment as the server has it now; null if it is not listed any more. */
async function current(comment: Comment, sort: Sort, hidden: 0 | 1): Promise<Comment | null> {
    const query = { sort, include_hidden: hidden, limit: 100, ...(comment.parent_id ? { parent_id: comment.parent_id } : {}) };
    let cursor: string | null = null;
    do {
        const page: { items: Comment[]; next_cursor: string | null } = await call("get", "/v1/posts/{post_id}/comments", {
            path: { post_id: comment.post_id },
            query: { ...query, ...(cursor === null ? {} : { cursor }) },
        });
        const found = page.items.find((one) => one.id === comment.id);
        if (found) return found;
        cursor = page.next_cursor;
    } while (cursor !== null);
    return null;
}

/** A folded comment with its text. */
export function unfolded(comment: Comment, sort: Sort): Promise<Comment | null> {
    return current(comment, sort, 1);
}

/** A vote may fold a comment, or bring it back; the rule is the server's, so it is asked. */
const FOLD_DOWN = 3;

export async function vote(
    comment: Signal<Comment>,
    what: "like" | "downvote",
    changed: () => void,
): Promise<void> {
    const on = !(what === "like" ? comment.value.liked : comment.value.downvoted);
    const path = { comment_id: comment.value.id };
    const method = on ? "put" : "delete";
    await optimistic(
        comment,
        (now) => voted(now, what, on),
        () =>
            what === "like"
                ? call(method, "/v1/comments/{comment_id}/like", { path })
                : call(method, "/v1/comments/{comment_id}/downvote", { path }),
        (now, answer) => ({ ...now, stats: answer.stats }),
    );
    const now = comment.value;
    if (now.stats.down_count + 1 < FOLD_DOWN && now.status === "visible") return;
    try {
        const found = await current(now, "new", 1);
        if (!found || found.status === comment.value.status) return;
        changed();
        comment.value = found.status === "hidden" ? { ...found, body: null, parts: [] } : found;
    } catch {
        // the vote stands; how it is listed shows at the next look
    }
}

export async function moderate(
    comment: Signal<Comment>,
    what: "hide" | "restore",
    changed: () => void,
): Promise<void> {
    const path = { comment_id: comment.value.id };
    const before = comment.value;
    try {
        const answer =
            what === "hide"
                ? await call("post", "/v1/comments/{comment_id}/hide", { path, admin: true })
                : await call("post", "/v1/comments/{comment_id}/restore", { path, admin: true });
        // The answer is the administrator's view: whether I like it is the user's.
        comment.value = { ...answer, liked: before.liked, downvoted: before.downvoted };
        if (answer.status !== before.status) changed();
        if (answer.status === "hidden") comment.value = { ...comment.value, body: null, parts: [] };
    } catch (problem) {
        complain(problem);
    }
}
