/**
 * The inbox as this window knows it: unread counts and the lists that were read. What the user does
 * here is shown at once and undone if the server refuses; what happens elsewhere comes as an event of
 * the stream, and what is shown is read again.
 */
import { batch, effect, signal, untracked } from "@preact/signals";
import { call } from "../api/client";
import type { Item, Page, Post, Unread } from "../api/types";
import { language, t } from "../i18n";
import { confirm } from "./confirm";
import { createFeed, type Feed } from "./feed";
import { badge, onLive } from "./live";
import { go, place } from "./router";
import { isSignedIn, me } from "./session";
import { complain, news, say, UNDO_MS } from "./toasts";

export type Filter = "all" | "unread" | "read";
type InboxPage = Page<Item> & { as_of: string };
export type InboxFeed = Feed<Item, InboxPage>;

/** Totals by author; null until known. */
export const unread = signal<Unread | null>(null);

const FEEDS_MOST = 6;
let feeds = new Map<string, InboxFeed>();

export function inboxFeed(filter: Filter, author: number): InboxFeed {
    const name = `${filter}/${author}`;
    const found = feeds.get(name);
    if (found) return found;
    const feed = createFeed<Item, InboxPage>(
        (page) => call("get", "/v1/inbox", { query: { ...page, filter, ...(author ? { author_id: author } : {}) } }),
        (item) => item.post_id,
        (_, now) => now.map(asMarked),
    );
    const oldest = feeds.keys().next();
    if (feeds.size >= FEEDS_MOST && !oldest.done) feeds.delete(oldest.value);
    feeds.set(name, feed);
    return feed;
}

/** Marks under way: a list that was asked for meanwhile may not know of them. */
const marks = new Map<number, { isRead: boolean }>();

function asMarked(item: Item): Item {
    const mine = marks.get(item.post_id);
    if (!mine || mine.isRead === item.is_read) return item;
    return { ...item, is_read: mine.isRead, read_at: mine.isRead ? Date.now() : null };
}

/** Where the inbox was left: with its filter and its author. */
let left = "#/inbox";

export function inboxAddress(): string {
    return left;
}

/* ---- Reading again --------------------------------------------------------------------------- */

export async function loadUnread(): Promise<void> {
    const user = me.value;
    try {
        const answer = await call("get", "/v1/inbox/unread");
        if (user !== me.value) return;
        if (underWay) {
            heard = answer.total; // perhaps of before the change
            return;
        }
        batch(() => {
            unread.value = answer;
            badge.value = answer.total;
        });
    } catch {
        // the chips wait for the next event; the list says what is wrong
    }
}

/** The list in sight; those out of sight are dropped and read when they come into it. */
async function refreshShown(): Promise<void> {
    const shown = place.value;
    const here = shown.path.length === 0 || shown.path[0] === "inbox";
    const name = `${shown.query.get("filter") ?? "all"}/${shown.query.get("author") ?? 0}`;
    const feed = feeds.get(name);
    if (!here) stale = true;
    else if (feed) feeds = new Map([[name, feed]]);
    await Promise.all([loadUnread(), here ? feed?.refresh() : undefined]);
}

/** A list that was left while things changed is read again when it is come back to. */
let stale = false;

export function refreshIfStale(feed: InboxFeed): void {
    if (!stale) return;
    stale = false;
    for (const [name, other] of feeds) if (other !== feed) feeds.delete(name);
    if (feed.head.value) void feed.refresh();
}

const SOON_MS = 80;
let timer: ReturnType<typeof setTimeout> | undefined;

function refreshSoon(): void {
    clearTimeout(timer);
    timer = setTimeout(() => void refreshShown(), SOON_MS);
}

/* ---- What the user does ---------------------------------------------------------------------- */

/** Own changes under way: events that come meanwhile may be their echo, and are judged afterwards. */
let underWay = 0;
let heard: number | null = null;

function judge(total: number): void {
    if (total !== unread.value?.total) refreshSoon();
}

let last: Promise<unknown> = Promise.resolve();

/** What the reader does reaches the server one thing after the other: two requests at the same time may overtake. */
async function acting<T>(run: () => Promise<T>): Promise<T> {
    underWay++;
    const turn = last.then(run, run);
    last = turn;
    try {
        return await turn;
    } finally {
        underWay--;
        if (!underWay && heard !== null) {
            judge(heard);
            heard = null;
        }
    }
}

function changeItems(ids: ReadonlySet<number>, change: (item: Item) => Item): void {
    for (const feed of feeds.values())
        if (feed.items.value.some((item) => ids.has(item.post_id)))
            feed.items.value = feed.items.value.map((item) => (ids.has(item.post_id) ? change(item) : item));
}

function setRead(ids: ReadonlySet<number>, isRead: boolean): void {
    changeItems(ids, (item) =>
        item.is_read === isRead ? item : { ...item, is_read: isRead, read_at: isRead ? Date.now() : null });
}

/** Counts as the server gave them: the total, and perhaps that of one author. */
function setCounts(total: number, author?: { id: number; unread: number }): void {
    badge.value = total;
    const now = unread.value;
    if (!now) return;
    const authors = author
        ? now.authors.map((row) => (row.user_id === author.id ? { ...row, unread: author.unread } : row))
        : now.authors;
    unread.value = { ...now, total, authors };
}

function shiftCounts(id: number, by: number): void {
    const now = unread.value;
    if (badge.value !== null) badge.value = Math.max(0, badge.value + by);
    if (!now) return;
    const authors = now.authors.map((row) =>
        row.user_id === id ? { ...row, unread: Math.max(0, row.unread + by) } : row);
    unread.value = { ...now, authors, total: Math.max(0, now.total + by) };
}

/** Opens a post: it is read from now on, and every count moves at once. */
export function openPost(id: number): Promise<Post> {
    return acting(async () => {
        const { post, unread: counts } = await call("post", "/v1/posts/{post_id}/open", { path: { post_id: id } });
        batch(() => {
            setRead(new Set([id]), true);
            setCounts(counts.total, { id: post.author_id, unread: counts.author });
        });
        return post;
    });
}

/** Marks one item, at once; back again if the server refuses. */
export async function mark(item: Item, isRead: boolean): Promise<void> {
    const counts = !item.is_deleted && item.is_read !== isRead;
    const apply = (read: boolean) =>
        batch(() => {
            setRead(new Set([item.post_id]), read);
            if (counts) shiftCounts(item.author_id, read ? -1 : 1);
        });
    const mine = { isRead };
    marks.set(item.post_id, mine);
    apply(isRead);
    await acting(async () => {
        try {
            const answer = isRead
                ? await call("post", "/v1/inbox/mark-read", { body: { post_ids: [item.post_id] } })
                : await call("post", "/v1/inbox/mark-unread", { body: { post_ids: [item.post_id] } });
            if (underWay === 1) setCounts(answer.total); // otherwise a later answer knows better
        } catch (problem) {
            apply(!isRead);
            complain(problem);
        } finally {
            if (marks.get(item.post_id) === mine) marks.delete(item.post_id);
        }
    });
}

const UNDO_PAGE = 100;
/** More than this is marked after a question instead. */
const UNDO_MOST = 2000;

/** The unread posts of one author, or of all, so that they can be made unread again. */
async function listUnread(author: number): Promise<number[]> {
    const ids: number[] = [];
    let cursor: string | null = null;
    do {
        const page: InboxPage = await call("get", "/v1/inbox", {
            query: {
                filter: "unread",
                limit: UNDO_PAGE,
                ...(author ? { author_id: author } : {}),
                ...(cursor === null ? {} : { cursor }),
            },
        });
        ids.push(...page.items.map((item) => item.post_id));
        cursor = page.next_cursor;
    } while (cursor !== null && ids.length < UNDO_MOST);
    return ids;
}

async function markAgain(ids: number[]): Promise<void> {
    await acting(async () => {
        try {
            for (let i = 0; i < ids.length; i += UNDO_PAGE)
                await call("post", "/v1/inbox/mark-unread", { body: { post_ids: ids.slice(i, i + UNDO_PAGE) } });
        } catch (problem) {
            complain(problem);
        }
    });
    await refreshShown();
}

/** Marks what the reader has seen of one author, or of all: what came after `asOf` stays unread. Can be undone for a while. */
export async function markAll(author: number, asOf: string): Promise<void> {
    const n = (author ? unread.value?.authors.find((row) => row.user_id === author)?.unread : unread.value?.total) ?? 0;
    if (n > UNDO_MOST && !(await confirm(t("inbox.mark_many", { n }), t("inbox.mark_all")))) return;
    await acting(async () => {
        try {
            const ids = n > UNDO_MOST ? [] : await listUnread(author);
            const body = author ? { author_id: author, up_to: asOf } : { up_to: asOf };
            const answer = await call("post", "/v1/inbox/mark-read", { body });
            setCounts(answer.total);
            const undo = ids.length ? { label: t("app.undo"), run: () => void markAgain(ids) } : undefined;
            say(t("inbox.marked", { n: answer.marked }), "info", undo, UNDO_MS);
        } catch (problem) {
            complain(problem);
        }
    });
    await refreshShown();
}

/** The inbox of a post page may be marked unread again; it must have been delivered. */
export async function markUnread(postId: number): Promise<boolean> {
    return acting(async () => {
        try {
            const answer = await call("post", "/v1/inbox/mark-unread", { body: { post_ids: [postId] } });
            setRead(new Set([postId]), false);
            setCounts(answer.total);
            void loadUnread();
            return true;
        } catch (problem) {
            complain(problem);
            return false;
        }
    });
}

/** After following, unfollowing or deleting: the inbox may be another. */
export function inboxChanged(): void {
    stale = true;
    refreshSoon();
}

/* ---- What the stream says -------------------------------------------------------------------- */

export function startInbox(): void {
    onLive("badge", ({ total }) => {
        if (underWay) heard = total;
        else judge(total);
    });
    onLive("post", (post) => {
        refreshSoon();
        const word = place.value.path[0] ?? "inbox";
        if (word !== "inbox")
            news(t("inbox.arrived", { title: post.title }), {
                label: t("help.open"),
                run: () => go(`#/post/${post.post_id}`),
            });
    });
    onLive("changed", refreshSoon);
    onLive("refreshed", refreshSoon);
    effect(() => {
        const { path, query } = place.value;
        if ((path[0] ?? "inbox") === "inbox") left = query.size ? `#/inbox?${query}` : "#/inbox";
    });
    effect(() => {
        // Another user, or notices in another language.
        const somebody = isSignedIn.value && me.value > 0;
        void language.value;
        feeds = new Map();
        untracked(() => {
            unread.value = null;
            if (somebody) void loadUnread();
        });
    });
}
