/** What the reader was told: new scenes of stories subscribed to. */
import { useEffect, useRef, useState } from "preact/hooks";
import { call } from "../api/client";
import type { Notification } from "../api/types";
import { t } from "../i18n";
import { bell } from "../state/live";
import { profileOf } from "../state/people";
import { complain, explain, say } from "../state/toasts";
import { Avatar, Empty, Failed, Loading, Time, UserLink } from "../ui/bits";
import { useLive } from "../ui/hooks";
import { Icon } from "../ui/Icon";
import { Settings } from "./Settings";
import "./notifications.css";

interface List {
    items: Notification[];
    asOf: string;
    cursor: string | null;
}

const read = (cursor: string | null) => call("get", "/v1/notifications", { query: cursor ? { cursor } : {} });

function useNotifications() {
    const [list, setList] = useState<List | null>(null);
    const [problem, setProblem] = useState<unknown>(null);
    const latest = useRef(list);
    latest.current = list;

    /** The first page anew, with a new moment up to which "all" goes; further pages stay. */
    const refresh = async () => {
        try {
            const page = await read(null);
            bell.value = page.unread;
            const oldest = page.items.at(-1)?.id ?? 0;
            const older = page.next_cursor ? (latest.current?.items ?? []).filter((row) => row.id < oldest) : [];
            const cursor = older.length ? (latest.current?.cursor ?? null) : page.next_cursor;
            setList({ items: [...page.items, ...older], asOf: page.as_of, cursor });
            setProblem(null);
        } catch (error) {
            setProblem(error);
        }
    };
    const more = async () => {
        const now = latest.current;
        if (!now?.cursor) return;
        try {
            const page = await read(now.cursor);
            setList({ ...now, items: [...now.items, ...page.items], cursor: page.next_cursor });
        } catch (error) {
            complain(error);
        }
    };
    useEffect(() => void refresh(), []);
    useLive("notification", () => void refresh());
    useLive("refreshed", () => void refresh());
    // Marked in another window: this one does not know which.
    useLive("unread", (event) => {
        const here = latest.current?.items.filter((row) => !row.is_read).length ?? 0;
        if (latest.current && (!latest.current.cursor ? here !== event.notifications : true)) void refresh();
    });

    /** Shows it at once, and as it was if it fails. */
    const mark = async (which: (row: Notification) => boolean, body: { ids: number[] } | { up_to: string }) => {
        const before = latest.current;
        const count = bell.value;
        if (!before) return 0;
        const items = before.items.map((row) => (which(row) ? { ...row, is_read: true } : row));
        setList({ ...before, items });
        try {
            const answer = await call("post", "/v1/notifications/mark-read", { body });
            bell.value = answer.unread;
            return answer.marked;
        } catch (error) {
            setList(before);
            bell.value = count;
            complain(error);
            return 0;
        }
    };
    return {
        list,
        problem,
        refresh,
        more,
        markOne: (row: Notification) => mark((other) => other.id === row.id, { ids: [row.id] }),
        markAll: () => (list ? mark(() => true, { up_to: list.asOf }) : Promise.resolve(0)),
    };
}

function Row({ row, mark }: { row: Notification; mark: () => void }) {
    const name = profileOf(row.author_id)?.name ?? "";
    return (
        <li class={row.is_read ? "row told read" : "row told"} data-row>
            <Avatar id={row.author_id} name={name} url={profileOf(row.author_id)?.avatar ?? ""} />
            <div class="row-text">
                <a
                    class="row-title"
                    href={`#/story/${row.story_id}`}
                    data-open
                    onClick={() => {
                        if (!row.is_read) mark();
                    }}
                >
                    {row.story_title}
                </a>
                <p class="excerpt">{t("bell.scene", { title: row.scene_title })}</p>
                <span class="meta">
                    <UserLink id={row.author_id} name={name} />
                    <Time ms={row.created_at} />
                </span>
            </div>
            {row.is_read ? null : (
                <button type="button" class="quiet" aria-label={t("bell.mark")} title={t("bell.mark")} onClick={mark} data-mark>
                    <Icon name="check" />
                </button>
            )}
        </li>
    );
}

export function NotificationsPage() {
    const told = useNotifications();
    const unread = bell.value ?? 0;
    return (
        <div class="notifications">
            <div class="section-head">
                <div>
                    <h1>{t("nav.notifications")}</h1>
                    <p class="hint" role="status">
                        {unread ? t("bell.unread", { n: unread }) : t("bell.none_unread")}
                    </p>
                </div>
                <button
                    type="button"
                    disabled={!unread || !told.list}
                    onClick={() => void told.markAll().then((n) => n && say(t("bell.marked", { n })))}
                >
                    <Icon name="check" /> {t("bell.mark_all")}
                </button>
            </div>
            {told.problem ? <Failed text={explain(told.problem)} retry={() => void told.refresh()} /> : null}
            {!told.list && !told.problem ? <Loading /> : null}
            {told.list && !told.list.items.length ? (
                <Empty>
                    {t("bell.none")} <a href="#/stories">{t("bell.to_stories")}</a>
                </Empty>
            ) : null}
            <ul class="rows">
                {told.list?.items.map((row) => <Row key={row.id} row={row} mark={() => void told.markOne(row)} />)}
            </ul>
            {told.list?.cursor ? (
                <button type="button" onClick={() => void told.more()}>
                    {t("bell.more")}
                </button>
            ) : null}
            <Settings />
        </div>
    );
}
