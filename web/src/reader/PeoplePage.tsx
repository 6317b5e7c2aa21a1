/** Whom a user follows, and who follows a user; on one's own page also somebody by name. */
import type { Signal } from "@preact/signals";
import { useState } from "preact/hooks";
import { call } from "../api/client";
import type { Page, ProfileRow, UserRow } from "../api/types";
import { t } from "../i18n";
import { profileOf } from "../state/people";
import { go, idAt, place } from "../state/router";
import { me } from "../state/session";
import { Back } from "../ui/Back";
import { Avatar, Choices, Empty, Time } from "../ui/bits";
import { FeedList, useFeed } from "../ui/FeedList";
import { nameOf } from "../ui/format";
import { useSettled } from "../ui/hooks";
import { type Followed, toggleFollow, useFollowed } from "./follow";

/** What the server takes. */
const PREFIX_MOST = 64;
/** Who types on is not answered for every letter. */
const TYPING_MS = 200;

interface Shown {
    user_id: number;
    name: string;
    avatar: string;
}

/** Not for oneself, nor before it is known how one stands with somebody. */
function FollowButton({ id, name, followed }: { id: number; name: string; followed: Signal<Followed> }) {
    const isFollowed = followed.value.get(id);
    if (isFollowed === undefined || id === me.value) return null;
    const label = t(isFollowed ? "author.unfollow" : "author.follow");
    return (
        <button
            type="button"
            class={isFollowed ? "small" : "small primary"}
            aria-pressed={isFollowed}
            aria-label={`${label}: ${name}`}
            data-follow={id}
            onClick={() => toggleFollow(followed, id)}
        >
            {label}
        </button>
    );
}

function Person({ row, since, followed }: { row: Shown; since?: number; followed: Signal<Followed> }) {
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
            <FollowButton id={row.user_id} name={name} followed={followed} />
        </li>
    );
}

/** Whoever is known by the id need not be known by name. */
function ById({ id }: { id: number }) {
    const profile = profileOf(id);
    const followed = useFollowed([id]);
    return (
        <ul class="rows" aria-label={t("people.by_id")}>
            <Person row={{ user_id: id, name: profile?.name ?? "", avatar: profile?.avatar ?? "" }} followed={followed} />
        </ul>
    );
}

function ByName({ prefix }: { prefix: string }) {
    const feed = useFeed<ProfileRow, Page<ProfileRow>>(
        prefix,
        (page) => call("get", "/v1/users/search", { query: { ...page, prefix } }),
        (row) => row.user_id,
    );
    const followed = useFollowed(feed.items.value.map((row) => row.user_id));
    return (
        <FeedList
            feed={feed}
            label={t("people.found")}
            row={(row) => <Person key={row.user_id} row={row} followed={followed} />}
            empty={
                <p class="hint" role="status">
                    {t("people.none_found")}
                </p>
            }
        />
    );
}

function Found({ typed }: { typed: string }) {
    const prefix = useSettled([...typed.trim()].slice(0, PREFIX_MOST).join(""), TYPING_MS);
    const id = /^#?([1-9]\d{0,15})$/.exec(prefix)?.[1];
    return (
        <>
            <p class="hint">{t("people.search_hint")}</p>
            {id ? <ById id={Number(id)} /> : null}
            {prefix.startsWith("#") && id ? null : <ByName prefix={prefix} />}
        </>
    );
}

/** From the field down to what was found, and into the first of it. */
function searchKeys(event: KeyboardEvent): void {
    const first = document.querySelector<HTMLElement>("main [data-row] [data-open]");
    if (event.key === "ArrowDown") first?.focus();
    else if (event.key === "Enter") first?.click();
    else return;
    event.preventDefault();
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
    const followed = useFollowed(feed.items.value.map((row) => row.user_id));
    return (
        <FeedList
            feed={feed}
            label={t(`people.${which}`)}
            row={(row) => <Person key={row.user_id} row={row} since={row.since} followed={followed} />}
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
                <Back otherwise={{ address: `#/user/${id}`, label: nameOf(profileOf(id)?.name ?? "", id) }} />
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
                        onKeyDown={searchKeys}
                    />
                </p>
            ) : null}
            {mine && typed.trim() ? <Found typed={typed} /> : <List id={id} which={which} />}
        </>
    );
}
