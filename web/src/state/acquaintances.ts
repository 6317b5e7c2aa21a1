/**
 * People whom one can find by name. The API has no search by name, so they are those with whom the user has to do: whom
 * one follows and who follows one, up to a bound, and the authors in the inbox.
 */
import { call } from "../api/client";
import type { Page, UserRow } from "../api/types";
import { unread } from "./inbox";
import { me } from "./session";

export interface Acquaintance {
    user_id: number;
    name: string;
    avatar: string;
}

const PAGE = 100;
/** Of each list; whoever has more finds the newest. */
const MOST = 1000;

async function listAll(path: "/v1/relation/following" | "/v1/relation/followers"): Promise<UserRow[]> {
    const rows: UserRow[] = [];
    let cursor: string | null = null;
    do {
        const page: Page<UserRow> = await call("get", path, {
            query: { user_id: me.value, limit: PAGE, ...(cursor === null ? {} : { cursor }) },
        });
        rows.push(...page.items);
        cursor = page.next_cursor;
    } while (cursor !== null && rows.length < MOST);
    return rows;
}

/** Each once, by name. */
export async function loadAcquaintances(): Promise<Acquaintance[]> {
    const [following, followers] = await Promise.all([
        listAll("/v1/relation/following"),
        listAll("/v1/relation/followers"),
    ]);
    const authors = (unread.value?.authors ?? []).map((row) => ({ ...row, avatar: "" }));
    const all = new Map<number, Acquaintance>([...authors, ...followers, ...following].map((one) => [one.user_id, one]));
    return [...all.values()].sort((a, b) => a.name.localeCompare(b.name));
}
