/**
 * Where one is: the part of the address behind the #, so that the server needs no route for it.
 * `#/post/12?from=inbox` is the path ["post", "12"] and the parameter from.
 */
import { computed, signal } from "@preact/signals";
import type { Key } from "../i18n";

export interface Place {
    path: string[];
    query: URLSearchParams;
}

/** Where one came from: the entry before this one in the browser's history, and what its page is called. */
export interface Origin {
    address: string;
    title: Key;
}

const hash = signal(location.hash);

/** Kept in the entry itself: it is right also after going back, forward, and after a reload. */
function readOrigin(): Origin | null {
    return (history.state as { origin?: Origin } | null)?.origin ?? null;
}

export const origin = signal<Origin | null>(readOrigin());

let title: Key | null = null;

/** What the page that is shown is called. */
export function nameHere(key: Key | null): void {
    title = key;
}

/** Looks at the address again: for whoever changed it in a way that raises no event. */
export function refreshPlace(): void {
    const isNew = location.hash !== hash.value && history.state === null; // and not gone back to
    if (isNew && title)
        history.replaceState({ origin: { address: hash.value || "#/", title } satisfies Origin }, "");
    origin.value = readOrigin();
    hash.value = location.hash;
}

addEventListener("hashchange", refreshPlace);
if (history.state === null) history.replaceState({}, ""); // the first entry is not a new one when it is gone back to

export const place = computed<Place>(() => {
    const [path = "", query = ""] = hash.value.replace(/^#\/?/, "").split("?", 2);
    return { path: path.split("/").filter(Boolean), query: new URLSearchParams(query) };
});

export function go(to: string): void {
    location.hash = to;
}

/** To where one came from, as it was left; from outside, to the address given. */
export function goBack(otherwise: string): void {
    if (origin.value) history.back();
    else go(otherwise);
}

/** The same place with other parameters, without an entry in the browser's history. */
export function setQuery(changes: Record<string, string | null>): void {
    const query = new URLSearchParams(place.value.query);
    for (const [name, value] of Object.entries(changes))
        if (value === null) query.delete(name);
        else query.set(name, value);
    const text = query.toString();
    history.replaceState(history.state, "", `#/${place.value.path.join("/")}${text ? `?${text}` : ""}`);
    hash.value = location.hash;
}

/** A number in the path, 0 if there is none. */
export function idAt(index: number): number {
    const n = Number(place.value.path[index]);
    return Number.isSafeInteger(n) && n > 0 ? n : 0;
}
