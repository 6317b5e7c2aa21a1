/** The navigation: a column on a wide window, a bar at the foot of a phone. */
import { signal } from "@preact/signals";
import { type Key, t } from "../i18n";
import { FIRST, pages } from "../pages";
import { badge, bell } from "../state/live";
import { place } from "../state/router";
import { isAdmin, me } from "../state/session";
import { Badge } from "../ui/bits";
import { Icon, type IconName } from "../ui/Icon";
import { Brand } from "./Brand";
import { helpIsOpen } from "./keys";
import { Preferences } from "./Preferences";
import { Who } from "./Who";

interface Entry {
    word: string;
    to?: string;
    icon: IconName;
    label: Key;
    count?: number | null;
    /** Not in the bar of a phone, but behind "more". */
    rare?: boolean;
}

function entries(): Entry[] {
    return [
        { word: "inbox", icon: "inbox", label: "nav.inbox", count: badge.value },
        { word: "hot", icon: "hot", label: "nav.hot" },
        { word: "stories", icon: "stories", label: "nav.stories" },
        { word: "notifications", icon: "bell", label: "nav.notifications", count: bell.value },
        { word: "write", icon: "pen", label: "write.title", rare: true },
        { word: "history", icon: "history", label: "nav.history", rare: true },
        { word: "saved", icon: "star", label: "nav.saved", rare: true },
        { word: "people", to: `#/following/${me.value}`, icon: "people", label: "nav.people", rare: true },
        { word: "user", to: `#/user/${me.value}`, icon: "user", label: "nav.me", rare: true },
        ...(isAdmin.value ? [{ word: "operator", icon: "operator", label: "nav.operator", rare: true } as const] : []),
    ];
}

function isCurrent(entry: Entry): boolean {
    const word = place.value.path[0] ?? FIRST;
    if (entry.word === "people") return (word === "following" || word === "followers") && place.value.path[1] === String(me.value);
    if (entry.word === "user") return word === "user" && place.value.path[1] === String(me.value);
    return entry.word === (pages[word]?.under ?? "");
}

function Row({ entry }: { entry: Entry }) {
    const count = entry.count ?? 0;
    return (
        <li>
            <a
                href={entry.to ?? `#/${entry.word}`}
                aria-current={isCurrent(entry) ? "page" : undefined}
                data-nav={entry.word}
            >
                <Icon name={entry.icon} />
                <span>{t(entry.label)}</span>
                <Badge n={count} label={t("inbox.unread", { n: count })} />
            </a>
        </li>
    );
}

/** On a phone the rest is behind a button; going somewhere closes it. */
const moreIsOpen = signal(false);
addEventListener("hashchange", () => {
    moreIsOpen.value = false;
});

function MoreButton() {
    return (
        <button
            type="button"
            class="quiet more"
            aria-expanded={moreIsOpen.value}
            aria-controls="more"
            onClick={() => (moreIsOpen.value = !moreIsOpen.value)}
        >
            <Icon name={moreIsOpen.value ? "close" : "more"} /> {t("nav.more")}
        </button>
    );
}

export function Navigation() {
    const all = entries();
    return (
        <header class="side">
            <div class="side-head">
                <a class="home" href="#/inbox">
                    <Brand />
                </a>
                <a class="button quiet write-short" href="#/write" data-write>
                    <Icon name="pen" /> {t("write.title")}
                </a>
                <MoreButton />
            </div>
            <nav aria-label={t("app.navigation")}>
                <ul class="nav-main">
                    {all.filter((entry) => !entry.rare).map((entry) => <Row key={entry.word} entry={entry} />)}
                </ul>
            </nav>
            <div id="more" class={moreIsOpen.value ? "side-more open" : "side-more"}>
                <nav aria-label={t("nav.more")}>
                    <ul>
                        {all.filter((entry) => entry.rare).map((entry) => <Row key={entry.word} entry={entry} />)}
                    </ul>
                </nav>
                <Who />
                <Preferences />
                <p class="side-foot">
                    <a href="/docs">{t("nav.docs")}</a>
                    <button type="button" class="link" onClick={() => (helpIsOpen.value = true)}>
                        {t("help.title")} <kbd>?</kbd>
                    </button>
                </p>
            </div>
        </header>
    );
}
