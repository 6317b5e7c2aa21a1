import { type Signal, useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { call } from "../api/client";
import { Problem } from "../api/problem";
import type { Post } from "../api/types";
import { t } from "../i18n";
import { confirm } from "../state/confirm";
import { inboxAddress, inboxChanged, markUnread, openPost } from "../state/inbox";
import { go, goBack, idAt } from "../state/router";
import { isAdmin, me } from "../state/session";
import { useSubject } from "../state/subject";
import { complain, explain, say } from "../state/toasts";
import { Back } from "../ui/Back";
import { Avatar, Failed, Loading, Time, UserLink } from "../ui/bits";
import { nameOf, number } from "../ui/format";
import { Icon } from "../ui/Icon";
import { optimistic } from "../ui/optimistic";
import { Parts } from "../ui/Parts";
import { Power } from "../ui/Power";
import { Comments } from "./Comments";
import { KindTag } from "./ItemRow";
import { Likers } from "./Likers";
import { PostForm, type PostTexts } from "./PostForm";
import { useLivePost } from "./useLivePost";

function toggle(post: Signal<Post>, what: "like" | "fav"): void {
    const flag = what === "like" ? "liked" : "faved";
    const count = what === "like" ? "like_count" : "fav_count";
    const on = !post.value[flag];
    const path = { post_id: post.value.id };
    const calls = {
        like: () => call(on ? "put" : "delete", "/v1/posts/{post_id}/like", { path }),
        fav: () => call(on ? "put" : "delete", "/v1/posts/{post_id}/fav", { path }),
    };
    void optimistic(
        post,
        (now) => ({
            ...now,
            [flag]: on,
            stats: { ...now.stats, [count]: Math.max(0, now.stats[count] + (on ? 1 : -1)) },
        }),
        calls[what],
        (now, answer) => ({ ...now, stats: answer.stats }),
        what,
    );
}

async function remove(post: Post): Promise<void> {
    if (!(await confirm(t("post.delete_sure", { title: post.title }), t("app.delete")))) return;
    try {
        await call("delete", "/v1/posts/{post_id}", { path: { post_id: post.id }, admin: post.author_id !== me.value });
        say(t("post.deleted"));
        inboxChanged();
        go(`#/user/${post.author_id}`);
    } catch (problem) {
        complain(problem);
    }
}

function Reactions({ post }: { post: Signal<Post> }) {
    const { liked, faved, stats, id } = post.value;
    return (
        <div class="reactions">
            <button type="button" class="react like" aria-pressed={liked} onClick={() => toggle(post, "like")}>
                <Icon name="heart" filled={liked} />
                <span class="unseen">{t("post.like")}</span> {number(stats.like_count)}
            </button>
            <button type="button" class="react fav" aria-pressed={faved} onClick={() => toggle(post, "fav")}>
                <Icon name="star" filled={faved} />
                <span class="unseen">{t("post.fav")}</span> {number(stats.fav_count)}
            </button>
            <Likers postId={id} count={stats.like_count} />
            <span class="soft heat" title={t("post.heat_hint")}>{t("post.heat", { n: number(stats.hot_score) })}</span>
        </div>
    );
}

function EditPost({ post, done }: { post: Signal<Post>; done: () => void }) {
    const send = async (texts: PostTexts) => {
        post.value = await call("patch", "/v1/posts/{post_id}", { path: { post_id: post.value.id }, body: texts });
        say(t("post.edit_done"));
        done();
    };
    const first = { title: post.value.title, body: post.value.body };
    return <PostForm first={first} submit={t("app.save")} send={send} cancel={{ label: t("app.cancel"), run: done }} />;
}

function Article({ post }: { post: Signal<Post> }) {
    const now = post.value;
    const mine = now.author_id === me.value;
    const editing = useSignal(false);
    if (editing.value)
        return (
            <article class="post" data-post={now.id}>
                <h1>{t("post.edit")}</h1>
                <EditPost post={post} done={() => (editing.value = false)} />
            </article>
        );
    return (
        <article class="post" data-post={now.id}>
            <header>
                <p class="byline">
                    <Avatar id={now.author_id} name={nameOf(now.author_name, now.author_id)} />
                    <span>
                        <UserLink id={now.author_id} name={now.author_name} />
                        <small>
                            <Time ms={now.created_at} />
                            {now.edited_at ? <> · {t("post.edited", { time: new Date(now.edited_at).toLocaleString() })}</> : null}
                        </small>
                    </span>
                    <KindTag kind={now.kind} />
                </p>
                <h1>{now.title}</h1>
            </header>
            <div class="body">
                <Parts parts={now.parts} />
            </div>
            {now.kind === "story" ? (
                <p>
                    <a class="button primary" href={`#/story/${now.id}`}>
                        <Icon name="stories" /> {t("post.read_story")}
                    </a>
                </p>
            ) : null}
            <Reactions post={post} />
            <p class="post-actions">
                {mine ? null : (
                    <button
                        type="button"
                        class="quiet"
                        data-mark
                        onClick={() => void markUnread(now.id).then((done) => done && goBack(inboxAddress()))}
                    >
                        <Icon name="eye" /> {t("inbox.mark_unread")}
                    </button>
                )}
                {mine ? (
                    <button type="button" class="quiet" onClick={() => (editing.value = true)}>
                        <Icon name="pen" /> {t("post.edit")}
                    </button>
                ) : null}
                {mine || isAdmin.value ? (
                    <button type="button" class="quiet danger" onClick={() => void remove(now)}>
                        <Icon name="trash" /> {t("post.delete")} {mine ? null : <Power of="admin" />}
                    </button>
                ) : null}
            </p>
        </article>
    );
}

/** A deleted post has its title and the notice, nothing else. */
function Gone({ problem }: { problem: Problem }) {
    return (
        <article class="post deleted">
            <h1>{problem.more.post_title}</h1>
            <p class="notice">{problem.more.notice}</p>
        </article>
    );
}

function Loaded({ first, gone }: { first: Post; gone: (problem: Problem) => void }) {
    const post = useSignal(first);
    const live = useLivePost(post, gone);
    useSubject(post.value.title);
    return (
        <>
            <Article post={post} />
            <Comments postId={first.id} count={post.value.stats.comment_count} live={live} />
        </>
    );
}

export function PostPage() {
    const id = idAt(1);
    const post = useSignal<Post | null>(null);
    const error = useSignal<unknown>(null);
    const open = () => {
        openPost(id).then(
            (got) => {
                post.value = got;
                error.value = null;
            },
            (problem: unknown) => {
                error.value = problem;
            },
        );
    };
    useEffect(open, [id]);
    const gone = error.value instanceof Problem && error.value.status === 410 ? error.value : null;
    useSubject(gone?.more.post_title);
    return (
        <>
            <Back otherwise={{ address: inboxAddress(), label: t("nav.inbox") }} />
            {gone ? (
                <Gone problem={gone} />
            ) : error.value ? (
                <Failed text={explain(error.value)} retry={open} />
            ) : post.value ? (
                <Loaded first={post.value} gone={(problem) => (error.value = problem)} />
            ) : (
                <Loading />
            )}
        </>
    );
}
