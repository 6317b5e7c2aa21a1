import { call } from "../api/client";
import type { HotRow, Kind, Page } from "../api/types";
import { t } from "../i18n";
import { go, place } from "../state/router";
import { Choices, Empty } from "../ui/bits";
import { FeedList, useFeed } from "../ui/FeedList";
import { number } from "../ui/format";
import { Icon } from "../ui/Icon";
import { PostRow } from "./ItemRow";

const kinds = ["note", "activity", "story"] as const;

function Stats({ row }: { row: HotRow }) {
    const { stats } = row;
    return (
        <p class="stats">
            <span title={t("post.like")}>
                <Icon name="heart" /> {number(stats.like_count)}
            </span>
            <span title={t("post.fav")}>
                <Icon name="star" /> {number(stats.fav_count)}
            </span>
            <span title={t("comments.title")}>
                <Icon name="comment" /> {number(stats.comment_count)}
            </span>
            <span class="heat" title={t("post.heat_hint")}>{t("post.heat", { n: number(stats.hot_score) })}</span>
        </p>
    );
}

export function HotPage() {
    const asked = place.value.path[1];
    const kind: Kind = kinds.find((one) => one === asked) ?? "note";
    const feed = useFeed<HotRow, Page<HotRow>>(
        kind,
        (page) => call("get", "/v1/hot", { query: { ...page, kind } }),
        (row) => row.post_id,
    );
    return (
        <>
            <header class="page-head">
                <h1>{t("nav.hot")}</h1>
                <Choices<Kind>
                    legend={t("write.kind")}
                    name="kind"
                    choices={kinds.map((value) => ({ value, label: t(`kind.${value}`) }))}
                    value={kind}
                    change={(value) => go(`#/hot/${value}`)}
                />
                <p class="hint">{t("hot.lead")}</p>
            </header>
            <FeedList
                feed={feed}
                label={t("nav.hot")}
                class="rows ranked"
                row={(row) => <PostRow key={row.post_id} post={row} foot={<Stats row={row} />} />}
                empty={<Empty>{t("hot.empty")}</Empty>}
            />
        </>
    );
}
