/**
 * A story as it is read: its scenes, those that are on the page, and how many messages of each are
 * shown. Reading on shows the next message; at the end of a scene it opens the next one.
 */
import { useEffect, useRef, useState } from "preact/hooks";
import { call } from "../api/client";
import { Problem } from "../api/problem";
import type { Post, Scene, SceneRow } from "../api/types";
import { useLive } from "../ui/hooks";
import { bell } from "../state/live";
import { complain } from "../state/toasts";
import { enter, leave, positions, readTo, syncPositions } from "./positions";

export interface OpenScene {
    scene: Scene;
    shown: number;
}

export interface StoryState {
    story: Post | null;
    problem: unknown;
    scenes: SceneRow[];
    /** On the page, in order and without gaps between them. */
    open: OpenScene[];
    /** Nothing was read on since the story was opened. */
    isResumed: boolean;
    busy: boolean;
}

const EMPTY: StoryState = { story: null, problem: null, scenes: [], open: [], isResumed: false, busy: true };
const PAGE = 100;

/** All of them: a story has up to 10,000 scenes, and most have few. */
async function listScenes(story: number): Promise<SceneRow[]> {
    const rows: SceneRow[] = [];
    let cursor: string | null = null;
    do {
        const page: { items: SceneRow[]; next_cursor: string | null } = await call(
            "get",
            "/v1/stories/{story_id}/scenes",
            { path: { story_id: story }, query: { limit: PAGE, ...(cursor ? { cursor } : {}) } },
        );
        rows.push(...page.items);
        cursor = page.next_cursor;
    } while (cursor);
    return rows;
}

/** The notification of a scene has the scene's id. Whoever was not told of it has none: that is no fault. */
async function clearNotification(scene: number): Promise<void> {
    if (!bell.value) return;
    try {
        bell.value = (await call("post", "/v1/notifications/mark-read", { body: { ids: [scene] } })).unread;
    } catch (error) {
        if (!(error instanceof Problem && error.status === 404)) complain(error);
    }
}

const getScene = (id: number): Promise<Scene> => call("get", "/v1/scenes/{scene_id}", { path: { scene_id: id } });

/** How many messages come before and with this one; if an edit took it away, those written before it. */
export function shownUpTo(scene: Scene, message: number | null): number {
    if (message === null) return 0;
    const exact = scene.messages.findIndex((row) => row.id === message);
    if (exact >= 0) return exact + 1;
    return scene.messages.reduce((n, row, i) => (row.id < message ? i + 1 : n), 0);
}

/** Where the reader stopped; the scene after it if that one was deleted, the first one if there is no record. */
async function openWhereStopped(story: number, scenes: SceneRow[]): Promise<OpenScene[]> {
    const record = positions.value?.get(story);
    // -1, the last one, if all from there on are deleted
    const at = record?.scene_id ? scenes.findIndex((row) => row.id >= (record.scene_id as number)) : 0;
    const row = scenes.at(at);
    if (!row) return [];
    const scene = await getScene(row.id);
    const isSame = record?.scene_id === row.id;
    return [{ scene, shown: isSame ? shownUpTo(scene, record.message_id) : 0 }];
}

export function useStory(id: number) {
    const [state, setState] = useState<StoryState>(EMPTY);
    const latest = useRef(state);
    latest.current = state;
    const change = (changes: Partial<StoryState>) => {
        latest.current = { ...latest.current, ...changes };
        setState(latest.current);
    };

    useEffect(() => {
        let gone = false;
        change(EMPTY);
        const load = async () => {
            const [{ post }, scenes] = await Promise.all([
                call("post", "/v1/posts/{post_id}/open", { path: { post_id: id } }),
                listScenes(id),
                syncPositions(), // another device may have read on
            ]);
            const open = await openWhereStopped(id, scenes);
            if (gone) return;
            enter(id, post.title);
            change({ story: post, scenes, open, isResumed: (open[0]?.shown ?? 0) > 0, busy: false });
        };
        load().catch((problem: unknown) => !gone && change({ problem, busy: false }));
        return () => {
            gone = true;
            leave();
        };
    }, [id]);

    /** Scenes that were published or deleted meanwhile. */
    const refresh = async () => {
        try {
            const scenes = await listScenes(id);
            const open = latest.current.open.length ? latest.current.open : await openWhereStopped(id, scenes);
            change({ scenes, open });
        } catch (error) {
            complain(error);
        }
    };
    useLive("notification", (event) => event.story_id === id && void refresh());
    useLive("refreshed", () => latest.current.story && void refresh());

    const show = (open: OpenScene[]) => {
        const last = open.at(-1);
        const { story } = latest.current;
        change({ open, isResumed: false });
        if (!last || !story) return;
        readTo(id, story.title, last.scene.id, last.scene.messages[last.shown - 1]?.id ?? null);
        if (last.shown >= last.scene.messages.length) void clearNotification(last.scene.id);
    };

    const fetchScene = async (row: SceneRow): Promise<Scene | null> => {
        change({ busy: true });
        try {
            return await getScene(row.id);
        } catch (error) {
            complain(error);
            if (error instanceof Problem && error.status === 410) await refresh();
            return null;
        } finally {
            change({ busy: false });
        }
    };

    const placeOf = (opened: OpenScene | undefined) =>
        latest.current.scenes.findIndex((row) => row.id === opened?.scene.id);

    const nextRow = () => {
        const { open, scenes } = latest.current;
        const last = open.at(-1)?.scene;
        return last ? scenes.find((row) => row.number > last.number) : undefined;
    };

    const readOn = async () => {
        const { open, busy } = latest.current;
        const last = open.at(-1);
        if (busy || !last) return;
        if (last.shown < last.scene.messages.length)
            return show([...open.slice(0, -1), { ...last, shown: last.shown + 1 }]);
        const row = nextRow();
        const scene = row && (await fetchScene(row));
        if (scene) show([...latest.current.open, { scene, shown: Math.min(1, scene.messages.length) }]);
    };

    /** The scene before the first one on the page, all of it. */
    const showEarlier = async () => {
        const row = latest.current.scenes[placeOf(latest.current.open[0]) - 1];
        const scene = row && (await fetchScene(row));
        if (scene) change({ open: [{ scene, shown: scene.messages.length }, ...latest.current.open] });
    };

    /** Another scene, from its beginning; the position moves only when it is read on. */
    const jumpTo = async (row: SceneRow) => {
        const scene = await fetchScene(row);
        if (scene) change({ open: [{ scene, shown: 0 }], isResumed: false });
    };

    /** A scene was edited here: shown as it is now, as far as it was read. */
    const replace = (scene: Scene) => {
        const open = latest.current.open.map((one) => {
            if (one.scene.id !== scene.id) return one;
            const isAll = one.shown >= one.scene.messages.length;
            const read = one.scene.messages[one.shown - 1]?.id ?? null;
            return { scene, shown: isAll ? scene.messages.length : shownUpTo(scene, read) };
        });
        change({ open });
        void refresh();
    };

    const last = state.open.at(-1);
    const isThrough = !!last && last.shown >= last.scene.messages.length && !nextRow();
    const hasEarlier = state.open.length > 0 && placeOf(state.open[0]) > 0;
    return { ...state, isThrough, hasEarlier, readOn, showEarlier, jumpTo, refresh, replace };
}
