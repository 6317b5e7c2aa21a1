/** What the reader was told: new scenes of stories subscribed to. */
import { call } from "../api/client";
import type { Notification, Page } from "../api/types";
import { t } from "../i18n";
import { bell } from "../state/live";
import { profileOf } from "../state/people";
import { complain, say } from "../state/toasts";
import { Avatar, Badge, Empty, Time, UserLink } from "../ui/bits";
import { FeedList, useFeed } from "../ui/FeedList";
import { useLive } from "../ui/hooks";
import { Icon } from "../ui/Icon";
import { Settings } from "./Settings";
import "./notifications.css";

type Told = Page<Notification> & { unread: number; as_of: string };

function useNotifications() {
    const feed = useFeed<Notification, Told>(
        "notifications",
        async (page) => {
            const told = await call("get", "/v1/notifications", { query: page });
            bell.value = told.unread;
            return told;
        },
        (row) => row.id,
    );
    const refresh = () => void feed.refresh();
    useLive("notification", refresh);
    useLive("refreshed", refresh);
    // Marked in another window: it does not say which. What this one marked is shown already.
    useLive("unread", (event) => {
        const here = feed.items.value.filter((row) => !row.is_read).length;
        if (!feed.done.value || here !== event.notifications) refresh();
    });

    /** Shows it at once, and as it was if it fails. */
    const mark = async (which: (row: Notification) => boolean, body: { ids: number[] } | { up_to: string }) => {
        const before = feed.items.value;
        feed.items.value = before.map((row) => (which(row) ? { ...row, is_read: true } : row));
        try {
            const answer = await call("post", "/v1/notifications/mark-read", { body });
            bell.value = answer.unread;
            return answer.marked;
        } catch (error) {
            feed.items.value = before;
            complain(error);
            return 0;
        }
    };
    return {
        feed,
        markOne: (row: Notification) => mark((other) => other.id === row.id, { ids: [row.id] }),
        /** All that the reader was shown; what comes meanwhile stays unread. */
        markAll: () => (feed.head.value ? mark(() => true, { up_to: feed.head.value.as_of }) : Promise.resolve(0)),
    };
}

function Row({ row, mark }: { row: Notification; mark: () => void }) {
    const profile = profileOf(row.author_id);
    const name = profile?.name ?? "";
    return (
        <li class={row.is_read ? "row read" : "row unread"} data-row>
            <Avatar id={row.author_id} name={name} url={profile?.avatar ?? ""} />
            <div class="row-text">
                <p class="row-head">
                    <UserLink id={row.author_id} name={name} />
                    <Time ms={row.created_at} />
                </p>
                <h2>
                    <a href={`#/story/${row.story_id}`} data-open onClick={() => !row.is_read && mark()}>
                        {row.story_title}
                        {row.is_read ? null : <span class="unseen"> ({t("inbox.item_unread")})</span>}
                    </a>
                </h2>
                <p class="excerpt">{t("bell.scene", { title: row.scene_title })}</p>
            </div>
            {row.is_read ? null : (
                <button
                    type="button"
                    class="quiet mark"
                    title={t("bell.mark")}
                    aria-label={`${t("bell.mark")}: ${row.scene_title}`}
                    onClick={mark}
                    data-mark
                >
                    <Icon name="check" />
                </button>
            )}
        </li>
    );
}

export function NotificationsPage() {
    const { feed, markOne, markAll } = useNotifications();
    const unread = bell.value ?? 0;
    return (
        <>
            <header class="page-head">
                <h1>
                    {t("nav.notifications")} <Badge n={unread} label={t("bell.unread", { n: unread })} />
                </h1>
                <button
                    type="button"
                    disabled={!unread || !feed.head.value}
                    onClick={() => void markAll().then((n) => n && say(t("bell.marked", { n })))}
                    data-mark-all
                >
                    <Icon name="check" /> {t("bell.mark_all")}
                </button>
            </header>
            <FeedList
                feed={feed}
                label={t("nav.notifications")}
                row={(row) => <Row key={row.id} row={row} mark={() => void markOne(row)} />}
                empty={
                    <Empty>
                        {t("bell.none")}
                        <small>
                            <a href="#/stories">{t("bell.to_stories")}</a>
                        </small>
                    </Empty>
                }
            />
            <Settings />
        </>
    );
}
