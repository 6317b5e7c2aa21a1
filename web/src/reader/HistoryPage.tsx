import { call } from "../api/client";
import type { HistoryRow, Page } from "../api/types";
import { t } from "../i18n";
import { confirm } from "../state/confirm";
import type { Feed } from "../state/feed";
import { profileOf } from "../state/people";
import { complain, say } from "../state/toasts";
import { Empty, Time, UserLink } from "../ui/bits";
import { FeedList, useFeed } from "../ui/FeedList";
import { useLive } from "../ui/hooks";
import { Icon } from "../ui/Icon";

async function clear(feed: Feed<HistoryRow>): Promise<void> {
    if (!(await confirm(t("history.clear_sure"), t("history.clear")))) return;
    try {
        await call("delete", "/v1/history");
        say(t("history.cleared"));
    } catch (problem) {
        complain(problem);
    }
    await feed.refresh();
}

/** Gone at once; back if the server refuses. */
async function remove(feed: Feed<HistoryRow>, id: number): Promise<void> {
    const before = feed.items.value;
    feed.items.value = before.filter((row) => row.post_id !== id);
    try {
        await call("delete", "/v1/history/{post_id}", { path: { post_id: id } });
    } catch (problem) {
        feed.items.value = before;
        complain(problem);
    }
}

function Row({ row, remove: gone }: { row: HistoryRow; remove: () => void }) {
    return (
        <li class={row.is_deleted ? "row plain deleted" : "row plain"} data-row data-post={row.post_id}>
            <div class="row-text">
                <h2>
                    <a href={`#/post/${row.post_id}`} data-open>
                        {row.title}
                    </a>
                </h2>
                <p class="row-head">
                    <UserLink id={row.author_id} name={profileOf(row.author_id)?.name ?? ""} />
                    <Time ms={row.read_at} />
                    {row.is_deleted ? <span class="notice">{t("inbox.item_deleted")}</span> : null}
                </p>
            </div>
            <button
                type="button"
                class="quiet mark"
                data-mark
                aria-label={`${t("history.remove")}: ${row.title}`}
                title={t("history.remove")}
                onClick={gone}
            >
                <Icon name="trash" />
            </button>
        </li>
    );
}

export function HistoryPage() {
    const feed = useFeed<HistoryRow, Page<HistoryRow>>(
        "history",
        (page) => call("get", "/v1/history", { query: page }),
        (row) => row.post_id,
    );
    useLive("badge", () => void feed.refresh());
    useLive("refreshed", () => void feed.refresh());
    return (
        <>
            <header class="page-head">
                <h1>{t("nav.history")}</h1>
                <button type="button" disabled={!feed.items.value.length} data-clear onClick={() => void clear(feed)}>
                    <Icon name="trash" /> {t("history.clear")}
                </button>
                <p class="hint">{t("history.lead")}</p>
            </header>
            <FeedList
                feed={feed}
                label={t("nav.history")}
                row={(row) => <Row key={row.post_id} row={row} remove={() => void remove(feed, row.post_id)} />}
                empty={<Empty>{t("history.empty")}</Empty>}
            />
        </>
    );
}
