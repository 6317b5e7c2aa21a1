/**
 * Who is signed in. The token is kept for this tab only (sessionStorage), and goes nowhere but into
 * the Authorization header of calls to the own server.
 *
 * A service's token may act for any user. `serve --dev` gives such a token and an administrator's
 * in the link that it prints, in the fragment, which browsers do not send: see `signInByLink`.
 */
import { computed, signal } from "@preact/signals";
import { forgetDrafts } from "./drafts";

export type Role = "user" | "service" | "admin";

export interface Claims {
    userId: number;
    role: Role;
    expiresAtMs: number;
}

interface Session {
    token: string;
    adminToken: string | null;
    /** Whom a service acts for. */
    actsFor: number | null;
    /** From the link of `serve --dev`: whoever is known may be chosen. */
    dev: boolean;
}

const KEY = "tidings.session";

/** What a token says of itself, not verified: only to show it. Null if it is no token. */
export function readClaims(token: string): Claims | null {
    try {
        const part = token.split(".")[1] ?? "";
        const bytes = Uint8Array.from(atob(part.replaceAll("-", "+").replaceAll("_", "/")), (c) => c.charCodeAt(0));
        const claims = JSON.parse(new TextDecoder().decode(bytes)) as Record<string, unknown>;
        const userId = Number(claims["sub"]);
        const role = claims["role"] ?? "user";
        if (!Number.isSafeInteger(userId) || userId < 1 || typeof claims["exp"] !== "number") return null;
        if (role !== "user" && role !== "service" && role !== "admin") return null;
        return { userId, role, expiresAtMs: claims["exp"] * 1000 };
    } catch {
        return null;
    }
}

function load(): Session | null {
    try {
        const read = JSON.parse(sessionStorage.getItem(KEY) ?? "null") as Session | null;
        return read && readClaims(read.token) ? read : null;
    } catch {
        return null;
    }
}

const session = signal<Session | null>(load());

function set(value: Session | null): void {
    session.value = value;
    try {
        if (value) sessionStorage.setItem(KEY, JSON.stringify(value));
        else sessionStorage.removeItem(KEY);
    } catch {
        // a browser that keeps nothing: signed in until the page is left
    }
}

export const claims = computed(() => (session.value ? readClaims(session.value.token) : null));

/** The acting user, 0 if nobody is signed in. */
export const me = computed(() => session.value?.actsFor ?? claims.value?.userId ?? 0);

export const isSignedIn = computed(() => session.value !== null);
export const isAdmin = computed(() => claims.value?.role === "admin" || !!session.value?.adminToken);
export const maySwitch = computed(() => claims.value?.role === "service");
export const isDev = computed(() => !!session.value?.dev);

/** False if it is no token, or one that is over. */
export function signIn(token: string): boolean {
    const read = readClaims(token.trim());
    if (!read || read.expiresAtMs <= Date.now()) return false;
    set({ token: token.trim(), adminToken: null, actsFor: null, dev: false });
    return true;
}

/** Whoever leaves leaves nothing behind. */
export function signOut(): void {
    forgetDrafts();
    endSession();
}

/** The server does not take the token any more. */
export function endSession(): void {
    set(null);
}

export function actFor(userId: number): void {
    if (session.value && maySwitch.value) set({ ...session.value, actsFor: userId });
}

/** The headers that say who asks. Without a session of its own, `admin` asks as the user. */
export function credentials(admin: boolean): Record<string, string> {
    const now = session.value;
    if (!now) return {};
    if (admin && now.adminToken) return { Authorization: `Bearer ${now.adminToken}` };
    const headers: Record<string, string> = { Authorization: `Bearer ${now.token}` };
    if (now.actsFor !== null) headers["X-User-Id"] = String(now.actsFor);
    return headers;
}

/** The fragment that signs in another window as a user, as the link of `serve --dev` does. */
export function linkFor(userId: number): string {
    const now = session.value;
    if (!now) return "#/";
    const admin = now.adminToken ? `&admin=${now.adminToken}` : "";
    return `#dev=${now.token}${admin}&user=${userId}`;
}

/** Signs in by `#dev=TOKEN&admin=TOKEN&user=ID`, and takes the tokens out of the address bar and the history. */
export function signInByLink(): void {
    const fragment = location.hash.slice(1);
    if (!fragment.startsWith("dev=")) return;
    const given = new URLSearchParams(fragment);
    const token = given.get("dev") ?? "";
    const user = Number(given.get("user"));
    history.replaceState(history.state, "", `${location.pathname}#/`);
    if (readClaims(token))
        set({
            token,
            adminToken: given.get("admin"),
            actsFor: Number.isSafeInteger(user) && user > 0 ? user : null,
            dev: true,
        });
}
