/** What the user liked, and what the user keeps. */
import { call } from "../api/client";
import type { Page } from "../api/types";
import { t } from "../i18n";
import { profileOf } from "../state/people";
import { go, place } from "../state/router";
import { Choices, Empty, Time, UserLink } from "../ui/bits";
import { FeedList, useFeed } from "../ui/FeedList";

interface Saved {
    post_id: number;
    author_id: number;
    title: string;
    at: number;
    is_deleted: boolean;
}

type Which = "likes" | "favs";

async function loadPage(which: Which, page: { limit: number; cursor?: string }): Promise<Page<Saved>> {
    if (which === "favs") return call("get", "/v1/me/favs", { query: page });
    const answer = await call("get", "/v1/me/likes", { query: { ...page, target: "post" } });
    return { ...answer, items: answer.items.filter((item): item is Saved & typeof item => "title" in item) };
}

export function SavedPage() {
    const which: Which = place.value.path[1] === "favs" ? "favs" : "likes";
    const feed = useFeed<Saved>(which, (page) => loadPage(which, page), (row) => row.post_id);
    return (
        <>
            <header class="page-head">
                <h1>{t("nav.saved")}</h1>
                <Choices<Which>
                    legend={t("nav.saved")}
                    name="saved"
                    choices={[
                        { value: "likes", label: t("saved.likes") },
                        { value: "favs", label: t("saved.favs") },
                    ]}
                    value={which}
                    change={(value) => go(`#/saved/${value}`)}
                />
            </header>
            <FeedList
                feed={feed}
                label={t("nav.saved")}
                row={(row) => (
                    <li
                        key={row.post_id}
                        class={row.is_deleted ? "row plain deleted" : "row plain"}
                        data-row
                        data-post={row.post_id}
                    >
                        <div class="row-text">
                            <h2>
                                <a href={`#/post/${row.post_id}`} data-open>
                                    {row.title}
                                </a>
                            </h2>
                            <p class="row-head">
                                <UserLink id={row.author_id} name={profileOf(row.author_id)?.name ?? ""} />
                                <Time ms={row.at} />
                            </p>
                        </div>
                    </li>
                )}
                empty={<Empty>{t("saved.empty")}</Empty>}
            />
        </>
    );
}
