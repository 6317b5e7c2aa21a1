/** Whom a user follows, and who follows a user. */
import { call } from "../api/client";
import type { Page, UserRow } from "../api/types";
import { t } from "../i18n";
import { profileOf } from "../state/people";
import { idAt, place } from "../state/router";
import { Avatar, Empty, Time } from "../ui/bits";
import { FeedList, useFeed } from "../ui/FeedList";
import { nameOf } from "../ui/format";
import { Icon } from "../ui/Icon";

export function PeoplePage() {
    const id = idAt(1);
    const following = place.value.path[0] === "following";
    const title = t(following ? "people.following" : "people.followers");
    const feed = useFeed<UserRow, Page<UserRow>>(
        `${id}/${following}`,
        (page) =>
            call("get", following ? "/v1/relation/following" : "/v1/relation/followers", {
                query: { ...page, user_id: id },
            }),
        (row) => row.user_id,
    );
    const name = nameOf(profileOf(id)?.name ?? "", id);
    return (
        <>
            <p class="back">
                <a href={`#/user/${id}`} class="button quiet">
                    <Icon name="back" /> {name}
                </a>
            </p>
            <header class="page-head">
                <h1>{title}</h1>
            </header>
            <FeedList
                feed={feed}
                label={title}
                row={(row) => (
                    <li key={row.user_id} class="row person-row" data-row>
                        <Avatar id={row.user_id} name={nameOf(row.name, row.user_id)} url={row.avatar} />
                        <div class="row-text">
                            <h2>
                                <a href={`#/user/${row.user_id}`} data-open>
                                    {nameOf(row.name, row.user_id)}
                                </a>
                            </h2>
                            <p class="hint">
                                <Time ms={row.since} />
                            </p>
                        </div>
                    </li>
                )}
                empty={<Empty>{t("people.empty")}</Empty>}
            />
        </>
    );
}
