/** A post that is open stays true: what others do to it comes over the stream, and is shown without a reload. */
import { type Signal, useSignal } from "@preact/signals";
import { useEffect, useMemo } from "preact/hooks";
import { call } from "../api/client";
import { Problem } from "../api/problem";
import type { ActivityEvent, Post } from "../api/types";
import { openPost } from "../state/live";
import { useLive } from "../ui/hooks";
import { isBusy } from "../ui/optimistic";

/** Many comments within this time are read at once. */
const SOON_MS = 100;
const CREATED_MOST = 100;

export interface LivePost {
    /** Changes when comments may have: lists of them read again. */
    comments: Signal<number>;
    /** Comments written since the post was opened: shown also where the order would have them further down. */
    created: Set<number>;
    /** Asks for the counts, after something was done here. */
    recount: () => void;
}

export function useLivePost(post: Signal<Post>, gone: (problem: Problem) => void): LivePost {
    const { id } = post.value;
    const comments = useSignal(0);
    const created = useMemo(() => new Set<number>(), [id]);
    /** How often it was told of: an answer that was asked for before the last time may be older than what was told. */
    const told = useMemo(() => ({ times: 0 }), [id]);
    const timer = useSignal<ReturnType<typeof setTimeout> | undefined>(undefined);

    const commentsSoon = () => {
        timer.value ??= setTimeout(() => {
            timer.value = undefined;
            comments.value++;
        }, SOON_MS);
    };
    const recount = () => {
        const { times } = told;
        call("get", "/v1/posts/{post_id}/stats", { path: { post_id: id } }).then(
            (stats) => {
                if (told.times === times) post.value = { ...post.value, stats };
            },
            () => undefined, // the next event tells
        );
    };
    const readAgain = () => {
        const { times } = told;
        call("get", "/v1/posts/{post_id}", { path: { post_id: id } }).then(
            (now) => {
                if (told.times !== times) readAgain();
                else if (!isBusy(post)) post.value = now;
            },
            (problem: unknown) => {
                if (problem instanceof Problem && problem.status === 410) gone(problem);
            },
        );
    };
    const everything = () => {
        readAgain();
        commentsSoon();
    };
    const note = (comment: number) => {
        created.add(comment);
        const oldest = created.values().next();
        if (created.size > CREATED_MOST && !oldest.done) created.delete(oldest.value);
    };
    const heard = (event: ActivityEvent) => {
        if (event.post_id !== id) return;
        told.times++;
        if (event.comment_id !== null) commentsSoon();
        if (event.comment_id !== null && event.type === "CommentCreated") note(event.comment_id);
        if (event.type === "PostEdited" || event.type === "PostDeleted") readAgain();
        else if (event.stats && !isBusy(post)) post.value = { ...post.value, stats: event.stats };
    };

    useEffect(() => {
        openPost.value = id;
        return () => clearTimeout(timer.value);
    }, [id]);
    useLive("activity", heard);
    useLive("watching", everything);
    useLive("missed", everything);
    useLive("refreshed", everything);
    return { comments, created, recount };
}
