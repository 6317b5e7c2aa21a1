import { call } from "../api/client";
import type { HotRow, Kind, Page } from "../api/types";
import { t } from "../i18n";
import { go, place } from "../state/router";
import { Choices, Empty } from "../ui/bits";
import { FeedList, useFeed } from "../ui/FeedList";
import { PostRow } from "./ItemRow";
import { Stats } from "./Stats";

const kinds = ["note", "activity", "story"] as const;

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
                row={(row) => <PostRow key={row.post_id} post={row} foot={<Stats stats={row.stats} heat />} />}
                empty={<Empty>{t("hot.empty")}</Empty>}
            />
        </>
    );
}
