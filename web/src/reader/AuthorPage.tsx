/** A user's page: who it is, the ties with the viewer, and what was published, by read status. */
import { type Signal, useSignal } from "@preact/signals";
import { call } from "../api/client";
import type { Counters, Item, Page, Profile, RelationStatus } from "../api/types";
import { t } from "../i18n";
import { type Filter, inboxChanged } from "../state/inbox";
import { keepProfile } from "../state/people";
import { idAt, place, setQuery } from "../state/router";
import { me } from "../state/session";
import { explain } from "../state/toasts";
import { Avatar, Choices, Empty, Failed, Loading } from "../ui/bits";
import { FeedList, useFeed } from "../ui/FeedList";
import { counted, nameOf, number } from "../ui/format";
import { useLive } from "../ui/hooks";
import { optimistic } from "../ui/optimistic";
import { useCall } from "../ui/useCall";
import { follow } from "./follow";
import { ItemRow } from "./ItemRow";
import { useStats } from "./Stats";

interface Person {
    profile: Profile;
    counters: Counters;
    status: RelationStatus | null; // null: oneself
}

async function load(id: number): Promise<Person> {
    const query = { user_id: id };
    const [profile, counters, status] = await Promise.all([
        call("get", "/v1/users/{user_id}", { path: query }),
        call("get", "/v1/relation/counter", { query }),
        id === me.value ? null : call("get", "/v1/relation/status", { query }),
    ]);
    keepProfile(profile);
    // Asked about one user, not about many.
    return { profile, counters: counters as Counters, status: status as RelationStatus | null };
}

/** The ties after a follow or its end; the other's followers go with it. */
function tied(person: Person, following: boolean): Person {
    if (!person.status || person.status.following === following) return person;
    const followers = Math.max(0, person.counters.followers + (following ? 1 : -1));
    return {
        ...person,
        counters: { ...person.counters, followers },
        status: { ...person.status, following, mutual: following && person.status.followed_by },
    };
}

function toggle(person: Signal<Person>): void {
    const id = person.value.profile.user_id;
    const to = !person.value.status?.following;
    void optimistic(
        person,
        (now) => tied(now, to),
        () => follow(id, to),
        (now) => now,
    ).then(inboxChanged);
}

function Ties({ person }: { person: Signal<Person> }) {
    const { status } = person.value;
    if (!status) return <a class="button" href="#/profile">{t("profile.title")}</a>;
    return (
        <div class="ties">
            <button
                type="button"
                class={status.following ? "" : "primary"}
                aria-pressed={status.following}
                data-follow
                onClick={() => toggle(person)}
            >
                {status.following ? t("author.unfollow") : t("author.follow")}
            </button>
            {status.mutual ? (
                <span class="tie">{t("author.mutual")}</span>
            ) : status.followed_by ? (
                <span class="tie">{t("author.follows_you")}</span>
            ) : null}
        </div>
    );
}

function Head({ first }: { first: Person }) {
    const person = useSignal(first);
    const { profile, counters, status } = person.value;
    const id = profile.user_id;
    const name = nameOf(profile.name, id);
    return (
        <header class="person">
            <Avatar id={id} name={name} url={profile.avatar} large />
            <div>
                <h1>{name}</h1>
                <p class="hint">
                    #{id}
                    {status ? null : ` · ${t("author.you")}`}
                </p>
            </div>
            <Ties person={person} />
            <ul class="counters">
                <li>{counted("author.n_posts", counters.posts)}</li>
                <li>
                    <a href={`#/following/${id}`}>{t("author.following", { n: number(counters.following) })}</a>
                </li>
                <li>
                    <a href={`#/followers/${id}`}>{counted("author.followers", counters.followers)}</a>
                </li>
                <li>{counted("author.likes", counters.likes_received)}</li>
                <li>{t("author.favs", { n: number(counters.favs_received) })}</li>
            </ul>
        </header>
    );
}

type PostsPage = Page<Item> & { total: number };

function Posts({ id }: { id: number }) {
    const asked = place.value.query.get("read");
    const mine = id === me.value;
    const filter: Filter = !mine && (asked === "read" || asked === "unread") ? asked : "all";
    const feed = useFeed<Item, PostsPage>(
        `${id}/${filter}`,
        (page) =>
            call("get", "/v1/users/{user_id}/posts", { path: { user_id: id }, query: { ...page, read_status: filter } }),
        (item) => item.post_id,
    );
    useLive("badge", () => void feed.refresh());
    useLive("changed", () => void feed.refresh());
    useLive("refreshed", () => void feed.refresh());
    const stats = useStats(feed);
    const total = feed.head.value?.total;
    return (
        <section aria-labelledby="posts-title">
            <header class="page-head">
                <h2 id="posts-title">
                    {t("author.posts")}{" "}
                    <small class="soft">{total === undefined ? "" : t("author.total", { n: number(total) })}</small>
                </h2>
                {mine ? null : (
                    <Choices<Filter>
                        legend={t("author.filter")}
                        name="read-status"
                        choices={[
                            { value: "all", label: t("inbox.all") },
                            { value: "unread", label: t("inbox.unread_only") },
                            { value: "read", label: t("inbox.read_only") },
                        ]}
                        value={filter}
                        change={(value) => setQuery({ read: value === "all" ? null : value })}
                    />
                )}
            </header>
            <FeedList
                feed={feed}
                label={t("author.posts")}
                row={(item) => <ItemRow key={item.post_id} item={item} stats={stats.value.get(item.post_id)} />}
                empty={<Empty>{t("inbox.empty")}</Empty>}
            />
        </section>
    );
}

export function AuthorPage() {
    const id = idAt(1);
    const person = useCall(String(id), () => load(id));
    if (person.error.value) return <Failed text={explain(person.error.value)} retry={person.again} />;
    if (!person.value.value) return <Loading />;
    return (
        <>
            <Head first={person.value.value} />
            <Posts id={id} />
        </>
    );
}
