/** The frame: navigation, the page, messages. */
import { useEffect, useLayoutEffect, useRef } from "preact/hooks";
import { t } from "../i18n";
import { FIRST, pages } from "../pages";
import { badge } from "../state/live";
import { nameHere, place } from "../state/router";
import { isEntering, isSignedIn, me } from "../state/session";
import { subject } from "../state/subject";
import { Loading } from "../ui/bits";
import { ConnectionBar } from "./ConnectionBar";
import { Confirm } from "./Confirm";
import { Help } from "./Help";
import { Navigation } from "./Navigation";
import { restoreScroll } from "./scroll";
import { SignIn } from "./SignIn";
import { Toasts } from "./Toasts";

function Page() {
    const word = place.value.path[0] ?? FIRST;
    const row = Object.hasOwn(pages, word) ? pages[word] : undefined;
    const where = `${me.value}/${place.value.path.join("/")}`;
    const main = useRef<HTMLElement>(null);
    const first = useRef(true);

    useLayoutEffect(() => {
        restoreScroll(where);
        if (!first.current) main.current?.focus({ preventScroll: true });
        first.current = false;
    }, [where]);

    nameHere(row?.title ?? null);
    const title = row ? (subject.value ?? t(row.title)) : t("app.unknown_page");
    useEffect(() => {
        const n = badge.value;
        document.title = `${n ? `(${n}) ` : ""}${title} · ${t("app.name")}`;
    }, [title, badge.value]);

    // Another user, or another post: another page, which begins anew.
    return (
        <main id="content" tabIndex={-1} ref={main}>
            {row ? <row.component key={where} /> : <h1>{title}</h1>}
        </main>
    );
}

export function App() {
    if (!isSignedIn.value)
        return (
            <>
                {isEntering.value ? <Loading /> : <SignIn />}
                <Toasts />
            </>
        );
    return (
        <div class="frame">
            <a
                class="skip"
                href="#content"
                onClick={(event) => {
                    event.preventDefault();
                    document.getElementById("content")?.focus();
                }}
            >
                {t("app.skip")}
            </a>
            <Navigation />
            <div class="column">
                <ConnectionBar />
                <Page />
            </div>
            <Help />
            <Confirm />
            <Toasts />
        </div>
    );
}
