import { useEffect } from "preact/hooks";
import type { UnreadRow } from "../api/types";
import { t } from "../i18n";
import { type Filter, inboxFeed, mark, markAll, refreshIfStale, unread } from "../state/inbox";
import { badge } from "../state/live";
import { place, setQuery } from "../state/router";
import { Badge, Choices, Empty } from "../ui/bits";
import { FeedList } from "../ui/FeedList";
import { nameOf } from "../ui/format";
import { Icon } from "../ui/Icon";
import { Chips } from "./Chips";
import { ItemRow } from "./ItemRow";
import { useStats } from "./Stats";

const filters: Record<Filter, "inbox.all" | "inbox.unread_only" | "inbox.read_only"> = {
    all: "inbox.all",
    unread: "inbox.unread_only",
    read: "inbox.read_only",
};

function filterOf(text: string | null): Filter {
    return text === "unread" || text === "read" ? text : "all";
}

function MarkAll({ author, row, asOf }: { author: number; row: UnreadRow | undefined; asOf: string | undefined }) {
    const n = author ? row?.unread : badge.value;
    const label = author ? t("inbox.mark_author", { name: nameOf(row?.name ?? "", author) }) : t("inbox.mark_all");
    return (
        <button
            type="button"
            disabled={!n || !asOf}
            data-mark-all
            onClick={() => {
                if (asOf) void markAll(author, asOf);
            }}
        >
            <Icon name="check" /> {label}
        </button>
    );
}

export function InboxPage() {
    const { query } = place.value;
    const filter = filterOf(query.get("filter"));
    const author = Number(query.get("author")) || 0;
    const feed = inboxFeed(filter, author);
    const row = unread.value?.authors.find((one) => one.user_id === author);
    const n = badge.value ?? 0;

    const stats = useStats(feed);
    useEffect(() => refreshIfStale(feed), [feed]);

    return (
        <>
            <header class="page-head">
                <h1>
                    {t("nav.inbox")} <Badge n={n} label={t("inbox.unread", { n })} />
                </h1>
                <MarkAll author={author} row={row} asOf={feed.head.value?.as_of} />
            </header>
            <Chips
                rows={unread.value?.authors ?? []}
                chosen={author}
                choose={(id) => setQuery({ author: id ? String(id) : null })}
            />
            <div class="bar">
                <Choices<Filter>
                    legend={t("inbox.filter")}
                    name="filter"
                    choices={(["all", "unread", "read"] as const).map((value) => ({ value, label: t(filters[value]) }))}
                    value={filter}
                    change={(value) => setQuery({ filter: value === "all" ? null : value })}
                />
            </div>
            <FeedList
                feed={feed}
                label={t("nav.inbox")}
                row={(item) => (
                    <ItemRow
                        key={item.post_id}
                        item={item}
                        stats={stats.value.get(item.post_id)}
                        mark={(isRead) => void mark(item, isRead)}
                    />
                )}
                empty={
                    <Empty>
                        {filter === "unread" ? t("inbox.empty_unread") : t("inbox.empty")}
                        <small>{t("inbox.empty_hint")}</small>
                    </Empty>
                }
            />
        </>
    );
}
