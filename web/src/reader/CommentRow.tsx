/** One comment, what one may do with it, and its replies. */
import { type Signal, useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { call } from "../api/client";
import type { Comment } from "../api/types";
import { t } from "../i18n";
import { confirm } from "../state/confirm";
import { isAdmin, me } from "../state/session";
import { complain } from "../state/toasts";
import { Avatar, Time, UserLink } from "../ui/bits";
import { FeedList } from "../ui/FeedList";
import { counted, nameOf, number } from "../ui/format";
import { Icon } from "../ui/Icon";
import { isBusy } from "../ui/optimistic";
import { Parts } from "../ui/Parts";
import { Power } from "../ui/Power";
import { CommentForm } from "./CommentForm";
import { type Thread, useReplies } from "./Comments";
import { moderate, unfolded, vote } from "./commentActions";

interface Props {
    comment: Signal<Comment>;
    thread: Thread;
}

function Votes({ comment, thread }: Props) {
    const { liked, downvoted, stats } = comment.value;
    return (
        <>
            <button
                type="button"
                class="react like small"
                aria-pressed={liked}
                onClick={() => void vote(comment, "like", thread.live.recount)}
            >
                <Icon name="up" />
                <span class="unseen">{t("comments.like")}</span> {number(stats.like_count)}
            </button>
            <button
                type="button"
                class="react down small"
                aria-pressed={downvoted}
                onClick={() => void vote(comment, "downvote", thread.live.recount)}
            >
                <Icon name="down" />
                <span class="unseen">{t("comments.down")}</span> {number(stats.down_count)}
            </button>
        </>
    );
}

async function remove({ comment, thread }: Props): Promise<void> {
    if (!(await confirm(t("comments.delete_sure"), t("app.delete")))) return;
    const before = comment.value;
    try {
        const admin = before.user_id !== me.value;
        await call("delete", "/v1/comments/{comment_id}", { path: { comment_id: before.id }, admin });
        comment.value = { ...before, status: "deleted", body: null, parts: [] };
        thread.live.recount();
    } catch (problem) {
        complain(problem);
    }
}

function Actions(props: Props & { reply: () => void }) {
    const { comment, thread } = props;
    const hidden = comment.value.status === "hidden";
    const mine = comment.value.user_id === me.value;
    return (
        <>
            <Votes comment={comment} thread={thread} />
            <button type="button" class="quiet small" onClick={props.reply}>
                {t("comments.reply")}
            </button>
            {mine || isAdmin.value ? (
                <button
                    type="button"
                    class="quiet small"
                    onClick={() => void remove({ comment, thread })}
                >
                    {t("app.delete")} <span class="unseen">{t("comments.this")}</span>
                    {mine ? null : <Power of="admin" short />}
                </button>
            ) : null}
            {isAdmin.value ? (
                <button
                    type="button"
                    class="quiet small"
                    onClick={() => void moderate(comment, hidden ? "restore" : "hide", thread.live.recount)}
                >
                    {t(hidden ? "comments.moderate_restore" : "comments.moderate_hide")} <Power of="admin" short />
                </button>
            ) : null}
        </>
    );
}

function Folded(props: Props & { shown: Signal<boolean> }) {
    const { comment, thread } = props;
    const open = async () => {
        if (comment.value.body === null) {
            try {
                const full = await unfolded(comment.value, thread.sort);
                if (full) comment.value = { ...comment.value, body: full.body, parts: full.parts };
            } catch (problem) {
                complain(problem);
                return;
            }
        }
        props.shown.value = true;
    };
    return (
        <p class="folded">
            {t(comment.value.moderated ? "comments.folded_by" : "comments.folded")}{" "}
            {props.shown.value ? (
                <button type="button" class="link" aria-expanded="true" onClick={() => (props.shown.value = false)}>
                    {t("comments.fold")}
                </button>
            ) : (
                <button type="button" class="link" aria-expanded="false" data-open data-unfold onClick={() => void open()}>
                    {t("comments.unfold")}
                </button>
            )}
        </p>
    );
}

function Replies({ comment, thread, depth, fresh }: Props & { depth: number; fresh: Signal<Comment[]> }) {
    const feed = useReplies(thread, comment.value.id);
    useEffect(() => {
        const known = new Set(feed.items.value.map((one) => one.id));
        const added = fresh.value.filter((one) => !known.has(one.id));
        if (feed.head.value && added.length) feed.items.value = [...feed.items.value, ...added];
    }, [fresh.value]);
    return (
        <FeedList
            feed={feed}
            label={counted("comments.replies", comment.value.stats.reply_count)}
            class={depth < 4 ? "thread inner" : "thread"}
            row={(reply) => <CommentRow key={reply.id} first={reply} thread={thread} depth={depth + 1} />}
            empty={null}
        />
    );
}

/** Short threads are open from the start. */
const OPEN_REPLIES = 3;
const OPEN_DEPTH = 3;

export function CommentRow({ first, thread, depth }: { first: Comment; thread: Thread; depth: number }) {
    const comment = useSignal(first);
    const shown = useSignal(false);
    const replying = useSignal(false);
    const fresh = useSignal<Comment[]>([]);
    const isShort = first.stats.reply_count > 0 && first.stats.reply_count <= OPEN_REPLIES && depth < OPEN_DEPTH;
    const open = useSignal(isShort);
    const now = comment.value;
    const replies = now.stats.reply_count;
    const name = nameOf(now.user_name, now.user_id);
    const folded = now.status === "hidden";
    const visible = now.status === "visible" || (folded && shown.value);

    useEffect(() => {
        if (isBusy(comment)) return; // the vote under way is told, too
        if (comment.value.stats.reply_count === 0 && isShort) open.value = true;
        comment.value = { ...first, ...(first.body === null && shown.value ? { body: now.body, parts: now.parts } : {}) };
    }, [first]);

    const sent = (reply: Comment) => {
        replying.value = false;
        thread.live.created.add(reply.id);
        const { stats } = comment.value;
        comment.value = { ...comment.value, stats: { ...stats, reply_count: stats.reply_count + 1 } };
        fresh.value = [...fresh.value, reply];
        open.value = true;
        thread.live.recount();
    };

    return (
        <li class={`comment ${now.status}`} data-comment={now.id}>
            <div class="comment-own" data-row>
                <Avatar id={now.user_id} name={name} />
                <div class="comment-text">
                    <p class="row-head">
                        <UserLink id={now.user_id} name={now.user_name} />
                        <Time ms={now.created_at} />
                    </p>
                    {now.status === "deleted" ? <p class="notice">{t("comments.deleted")}</p> : null}
                    {folded ? <Folded comment={comment} thread={thread} shown={shown} /> : null}
                    {visible ? (
                        <div class="body" tabIndex={-1} data-open={folded ? undefined : true}>
                            <Parts parts={now.parts} />
                        </div>
                    ) : null}
                    <p class="comment-actions">
                        {now.status === "deleted" ? null : (
                            <Actions comment={comment} thread={thread} reply={() => (replying.value = !replying.value)} />
                        )}
                        {replies > 0 ? (
                            <button
                                type="button"
                                class="quiet small"
                                aria-expanded={open.value}
                                onClick={() => (open.value = !open.value)}
                            >
                                {open.value ? t("comments.hide_replies") : counted("comments.replies", replies)}
                            </button>
                        ) : null}
                    </p>
                    {replying.value ? (
                        <CommentForm
                            postId={thread.postId}
                            parentId={now.id}
                            label={t("comments.reply_to", { name })}
                            sent={sent}
                            cancel={() => (replying.value = false)}
                        />
                    ) : null}
                </div>
            </div>
            {open.value ? <Replies comment={comment} thread={thread} depth={depth} fresh={fresh} /> : null}
        </li>
    );
}
