/**
 * Calls of the API. Paths, parameters, bodies and answers are checked against the types generated
 * from docs/openapi.json, so a call that the document does not know does not compile.
 *
 *     const page = await call("get", "/v1/inbox", { query: { filter: "unread" } });
 */
import type { paths } from "../generated/openapi";
import { language } from "../i18n";
import { credentials } from "../state/session";
import { Problem, problemOf } from "./problem";

type Method = "get" | "post" | "put" | "patch" | "delete";

type Operation<P extends keyof paths, M extends Method> = Exclude<paths[P][M], undefined>;

type PathsOf<M extends Method> = {
    [P in keyof paths]: paths[P] extends Record<M, object> ? P : never;
}[keyof paths];

type Parameters<O, Where extends string> = O extends { parameters: { [W in Where]?: infer T } } ? T : never;

type Body<O> = O extends { requestBody?: { content: { "application/json": infer T } } } ? T : never;

type Json<R> = R extends { content: { "application/json": infer T } } ? T : undefined;

type Answer<O> = O extends { responses: infer R }
    ? R extends { 200: infer A }
        ? Json<A>
        : R extends { 201: infer A }
          ? Json<A>
          : undefined
    : never;

export interface Options<O> {
    path?: Parameters<O, "path">;
    query?: Parameters<O, "query">;
    body?: Body<O>;
    /** With the rights of an administrator, if the session has them apart from the user's. */
    admin?: boolean;
    signal?: AbortSignal;
    /** Makes a repeat of the same POST harmless. */
    once?: string;
}

function address(path: string, inPath: Record<string, unknown>, query: Record<string, unknown>): string {
    const filled = path.replace(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(String(inPath[name])));
    const search = new URLSearchParams();
    for (const [name, value] of Object.entries(query))
        if (value !== undefined && value !== null) search.set(name, String(value));
    const text = search.toString();
    return text ? `${filled}?${text}` : filled;
}

/** The headers of a request of whoever is signed in. */
export function requestHeaders(admin = false): Record<string, string> {
    return { ...credentials(admin), "Accept-Language": language.value };
}

/** How new the last answer was: no server then shows anything older. */
let seen = "";

async function send(url: string, init: RequestInit): Promise<Response> {
    try {
        const headers = { ...(init.headers as Record<string, string>), ...(seen && { "Tidings-Seen": seen }) };
        const answer = await fetch(url, { ...init, headers, cache: "no-store", credentials: "same-origin" });
        seen = answer.headers.get("Tidings-Seen") ?? seen;
        return answer;
    } catch (error) {
        if (error instanceof DOMException && error.name === "AbortError") throw error;
        throw new Problem(0, "unreachable", "");
    }
}

export async function call<M extends Method, P extends PathsOf<M>>(
    method: M,
    path: P,
    options: Options<Operation<P, M>> = {},
): Promise<Answer<Operation<P, M>>> {
    const headers = requestHeaders(options.admin);
    const init: RequestInit = { method: method.toUpperCase(), headers };
    if (options.body !== undefined) {
        headers["Content-Type"] = "application/json";
        init.body = JSON.stringify(options.body);
    }
    if (options.once) headers["Idempotency-Key"] = options.once;
    if (options.signal) init.signal = options.signal;
    const url = address(path as string, (options.path ?? {}) as Record<string, unknown>,
        (options.query ?? {}) as Record<string, unknown>);
    const answer = await send(url, init);
    if (!answer.ok) throw await problemOf(answer);
    return (answer.status === 204 ? undefined : await answer.json()) as Answer<Operation<P, M>>;
}

/** A key for `once`. Without crypto.randomUUID, which is there on https and localhost only. */
export function newKey(): string {
    return Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, "0")).join("");
}
