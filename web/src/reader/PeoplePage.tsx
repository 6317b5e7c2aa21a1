/** Whom a user follows, and who follows a user; on one's own page also somebody by name. */
import { useState } from "preact/hooks";
import { call } from "../api/client";
import type { Page, UserRow } from "../api/types";
import { t } from "../i18n";
import { type Acquaintance, loadAcquaintances } from "../state/acquaintances";
import { profileOf } from "../state/people";
import { go, idAt, place } from "../state/router";
import { me } from "../state/session";
import { explain } from "../state/toasts";
import { Avatar, Choices, Empty, Failed, Loading, Time } from "../ui/bits";
import { FeedList, useFeed } from "../ui/FeedList";
import { nameOf } from "../ui/format";
import { Icon } from "../ui/Icon";
import { hasPrefix } from "../ui/search";
import { useCall } from "../ui/useCall";

const FOUND_MOST = 50;

function Person({ row, since }: { row: Acquaintance; since?: number }) {
    const name = nameOf(row.name, row.user_id);
    return (
        <li class="row person-row" data-row>
            <Avatar id={row.user_id} name={name} url={row.avatar} />
            <div class="row-text">
                <h2>
                    <a href={`#/user/${row.user_id}`} data-open>
                        {name}
                    </a>
                </h2>
                {since === undefined ? null : (
                    <p class="hint">
                        <Time ms={since} />
                    </p>
                )}
            </div>
        </li>
    );
}

function Found({ typed }: { typed: string }) {
    const people = useCall("acquaintances", loadAcquaintances);
    if (people.error.value) return <Failed text={explain(people.error.value)} retry={people.again} />;
    if (!people.value.value) return <Loading />;
    const found = people.value.value.filter((one) => hasPrefix(nameOf(one.name, one.user_id), typed));
    // Whoever is known by the id need not be known otherwise.
    const id = /^#?([1-9]\d{0,15})$/.exec(typed.trim())?.[1];
    return (
        <>
            <p class="hint">{t("people.search_hint")}</p>
            <ul class="rows" aria-label={t("people.found")}>
                {id ? <Person key="id" row={{ user_id: Number(id), name: profileOf(Number(id))?.name ?? "", avatar: "" }} /> : null}
                {found.slice(0, FOUND_MOST).map((one) => <Person key={one.user_id} row={one} />)}
            </ul>
            <p class="hint" role="status">
                {found.length > FOUND_MOST ? t("people.more", { n: found.length - FOUND_MOST }) : ""}
                {found.length || id ? "" : t("people.none_found")}
            </p>
        </>
    );
}

type Which = "following" | "followers";

function List({ id, which }: { id: number; which: Which }) {
    const feed = useFeed<UserRow, Page<UserRow>>(
        `${id}/${which}`,
        (page) =>
            call("get", which === "following" ? "/v1/relation/following" : "/v1/relation/followers", {
                query: { ...page, user_id: id },
            }),
        (row) => row.user_id,
    );
    return (
        <FeedList
            feed={feed}
            label={t(`people.${which}`)}
            row={(row) => <Person key={row.user_id} row={row} since={row.since} />}
            empty={<Empty>{t("people.empty")}</Empty>}
        />
    );
}

export function PeoplePage() {
    const id = idAt(1);
    const which: Which = place.value.path[0] === "following" ? "following" : "followers";
    const mine = id === me.value;
    const [typed, setTyped] = useState("");
    return (
        <>
            {mine ? null : (
                <p class="back">
                    <a href={`#/user/${id}`} class="button quiet">
                        <Icon name="back" /> {nameOf(profileOf(id)?.name ?? "", id)}
                    </a>
                </p>
            )}
            <header class="page-head">
                <h1>{mine ? t("nav.people") : t(`people.${which}`)}</h1>
                <Choices<Which>
                    legend={t("people.which")}
                    name="people"
                    choices={(["following", "followers"] as const).map((value) => ({ value, label: t(`people.${value}`) }))}
                    value={which}
                    change={(value) => go(`#/${value}/${id}`)}
                />
            </header>
            {mine ? (
                <p class="search">
                    <label class="unseen" for="people-search">
                        {t("people.search")}
                    </label>
                    <input
                        id="people-search"
                        type="search"
                        placeholder={t("people.search")}
                        autocomplete="off"
                        value={typed}
                        onInput={(event) => setTyped(event.currentTarget.value)}
                    />
                </p>
            ) : null}
            {mine && typed.trim() ? <Found typed={typed} /> : <List id={id} which={which} />}
        </>
    );
}
