/**
 * Who is signed in. The token itself is in a cookie that no script can read (docs/decisions/0036-console-sessions.md);
 * what the server says of it is kept in this browser (localStorage), so that every tab knows at once who is here, and
 * hears when somebody signs in or out. Whether the cookie still holds the server decides, with every call.
 *
 * A service's token may act for any user, in each tab for another. `serve --dev` gives such a token and an
 * administrator's in the link that it prints, in the fragment, which browsers do not send: see `signInByLink`.
 */
import { batch, computed, signal } from "@preact/signals";
import { Problem, problemOf } from "../api/problem";
import { t } from "../i18n";
import { confirm } from "./confirm";
import { forgetDrafts } from "./drafts";
import { complain } from "./toasts";

export type Role = "user" | "service" | "admin";

export interface Claims {
    userId: number;
    role: Role;
    expiresAtMs: number;
}

interface Session extends Claims {
    /** There is an administrator's token besides. */
    hasAdmin: boolean;
    /** From the link of `serve --dev`: whoever is known may be chosen. */
    dev: boolean;
    /** Whom a service acts for, in the tab that was last used: a new one begins with that. */
    actsFor: number | null;
}

type Which = "user" | "admin";

const KEY = "tidings.session";
const ACTS = "tidings.acts";
const PATH = "/v1/session";

function isId(id: unknown): id is number {
    return Number.isSafeInteger(id) && (id as number) > 0;
}

function read<T>(store: Storage, key: string): T | null {
    try {
        return JSON.parse(store.getItem(key) ?? "null") as T | null;
    } catch {
        return null;
    }
}

function write(store: Storage, key: string, value: object | null): void {
    try {
        if (value) store.setItem(key, JSON.stringify(value));
        else store.removeItem(key);
    } catch {
        // a browser that keeps nothing: signed in until the page is left
    }
}

function load(): Session | null {
    const kept = read<Session>(localStorage, KEY);
    return kept && isId(kept.userId) && kept.expiresAtMs > Date.now() ? kept : null;
}

/** This tab's own choice of whom to act for, as long as the same token is signed in. */
function loadActsFor(now: Session | null): number | null {
    if (now?.role !== "service") return null;
    const kept = read<{ of: number; user: number }>(sessionStorage, ACTS);
    const user = kept?.of === now.userId ? kept.user : now.actsFor;
    return isId(user) ? user : null;
}

const session = signal<Session | null>(load());
const actsFor = signal<number | null>(loadActsFor(session.value));
pin();

/** What other tabs choose is no matter of this one. */
function pin(): void {
    const of = session.value?.userId;
    write(sessionStorage, ACTS, of && actsFor.value !== null ? { of, user: actsFor.value } : null);
}

function set(value: Session | null): void {
    write(localStorage, KEY, value);
    take(value);
}

function take(value: Session | null): void {
    batch(() => {
        actsFor.value = loadActsFor(value);
        session.value = value;
    });
    pin();
}

addEventListener("storage", (event) => {
    if (event.key === KEY || event.key === null) take(load());
});

/** A link that is opened in another tab acts for whom this one does. */
function noteUse(): void {
    const now = session.value;
    if (now && now.actsFor !== actsFor.value) set({ ...now, actsFor: actsFor.value });
}

addEventListener("pointerdown", noteUse, { capture: true });
addEventListener("keydown", noteUse, { capture: true });

export const claims = computed<Claims | null>(() => session.value);

/** The acting user, 0 if nobody is signed in. */
export const me = computed(() => (session.value ? (actsFor.value ?? session.value.userId) : 0));

export const isSignedIn = computed(() => session.value !== null);
export const isAdmin = computed(() => claims.value?.role === "admin" || !!session.value?.hasAdmin);
export const maySwitch = computed(() => claims.value?.role === "service");
export const isDev = computed(() => !!session.value?.dev);

export function actFor(userId: number): void {
    if (!session.value || !maySwitch.value) return;
    actsFor.value = userId;
    pin();
    noteUse();
}

/** The headers that say who asks; the cookie goes along by itself, and counts only beside them. */
export function credentials(admin: boolean): Record<string, string> {
    const now = session.value;
    if (!now) return {};
    if (admin && now.hasAdmin) return { "Tidings-Session": "admin" };
    const headers: Record<string, string> = { "Tidings-Session": "user" };
    if (actsFor.value !== null) headers["X-User-Id"] = String(actsFor.value);
    return headers;
}

/* ---- In and out ------------------------------------------------------------------------------ */

async function ask(method: "GET" | "POST" | "DELETE", which: Which, token?: string): Promise<Claims | null> {
    const headers: Record<string, string> = { "Tidings-Session": which };
    if (token !== undefined) headers["Authorization"] = `Bearer ${token}`;
    let answer: Response;
    try {
        answer = await fetch(PATH, { method, headers, cache: "no-store", credentials: "same-origin" });
    } catch {
        throw new Problem(0, "unreachable", "");
    }
    if (!answer.ok) throw await problemOf(answer);
    if (answer.status === 204) return null;
    const said = (await answer.json()) as { user_id: number; role: Role; expires_at: number };
    return { userId: said.user_id, role: said.role, expiresAtMs: said.expires_at };
}

/** What no header can carry is no token; whatever else is wrong with one the server says. */
const TOKEN = /^[\w-]+\.[\w-]+\.[\w-]+$/;

/** Has the browser keep the token; throws what is wrong with it. */
async function keepToken(token: string, which: Which): Promise<Claims> {
    await ending;
    await ask("POST", which, token);
    try {
        return (await ask("GET", which))!; // by the cookie alone
    } catch (problem) {
        if (problem instanceof Problem && problem.status === 401) throw new Problem(401, "no_cookies", "");
        throw problem;
    }
}

export async function signIn(token: string): Promise<void> {
    const bare = token.trim().replace(/^Bearer\s+/i, "");
    await look(bare);
    const said = await keepToken(bare, "user");
    set({ ...said, hasAdmin: false, dev: false, actsFor: null });
}

/** Whoever leaves leaves nothing behind, in no tab. */
export function signOut(): void {
    forgetDrafts();
    endSession();
}

/** So that a cookie which is being forgotten is not the next one. */
let ending: Promise<unknown> = Promise.resolve();

/** The server does not take the token any more. */
export function endSession(): void {
    set(null);
    ending = ask("DELETE", "user").catch(() => undefined); // without a server the cookie ends with the browser, or its token
}

/** Signing in by a link is under way. */
export const isEntering = signal(false);
/** What was wrong with the link. */
export const linkProblem = signal<unknown>(null);

/** Whom a token is of, without keeping it. */
async function look(token: string): Promise<Claims> {
    if (!TOKEN.test(token)) throw new Problem(401, "token_malformed", "");
    return (await ask("GET", "user", token))!;
}

/** A link may come from anybody: whoever is signed in is asked before becoming somebody else, and stays if it is wrong. */
async function mayEnter(token: string): Promise<boolean> {
    const now = session.value;
    const said = await look(token);
    if (!now || (now.userId === said.userId && now.role === said.role)) return true;
    return confirm(t("signin.other", { id: said.userId }), t("signin.go"));
}

async function enter(token: string, admin: string | null, user: number): Promise<void> {
    isEntering.value = true;
    linkProblem.value = null;
    try {
        if (!(await mayEnter(token))) return;
        if (admin) await look(admin);
        const said = await keepToken(token, "user");
        if (admin) await keepToken(admin, "admin");
        write(sessionStorage, ACTS, null);
        set({ ...said, hasAdmin: !!admin, dev: true, actsFor: isId(user) ? user : null });
    } catch (problem) {
        if (session.value) complain(problem);
        else linkProblem.value = problem;
    } finally {
        isEntering.value = false;
    }
}

/** Signs in by `#dev=TOKEN&admin=TOKEN&user=ID`, and takes the tokens out of the address bar and the history. */
export function signInByLink(): void {
    const fragment = location.hash.slice(1);
    if (!fragment.startsWith("dev=")) return;
    const given = new URLSearchParams(fragment);
    history.replaceState(history.state, "", `${location.pathname}#/`);
    void enter(given.get("dev") ?? "", given.get("admin"), Number(given.get("user")));
}
