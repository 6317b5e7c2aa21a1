/**
 * Where one is: the part of the address behind the #, so that the server needs no route for it.
 * `#/post/12?from=inbox` is the path ["post", "12"] and the parameter from.
 */
import { computed, signal } from "@preact/signals";

export interface Place {
    path: string[];
    query: URLSearchParams;
}

const hash = signal(location.hash);

/** Looks at the address again: for whoever changed it in a way that raises no event. */
export function refreshPlace(): void {
    hash.value = location.hash;
}

addEventListener("hashchange", refreshPlace);

export const place = computed<Place>(() => {
    const [path = "", query = ""] = hash.value.replace(/^#\/?/, "").split("?", 2);
    return { path: path.split("/").filter(Boolean), query: new URLSearchParams(query) };
});

export function go(to: string): void {
    location.hash = to;
}

/** The same place with other parameters, without an entry in the browser's history. */
export function setQuery(changes: Record<string, string | null>): void {
    const query = new URLSearchParams(place.value.query);
    for (const [name, value] of Object.entries(changes))
        if (value === null) query.delete(name);
        else query.set(name, value);
    const text = query.toString();
    history.replaceState(null, "", `#/${place.value.path.join("/")}${text ? `?${text}` : ""}`);
    hash.value = location.hash;
}

/** A number in the path, 0 if there is none. */
export function idAt(index: number): number {
    const n = Number(place.value.path[index]);
    return Number.isSafeInteger(n) && n > 0 ? n : 0;
}
