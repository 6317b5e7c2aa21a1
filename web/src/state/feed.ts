/**
 * A list that is read in pages, on cursors. It holds what was read so far; `refresh` reads as much
 * again, so that a list which somebody looks at stays as it is but becomes true.
 */
import { batch, type Signal, signal } from "@preact/signals";
import type { Page } from "../api/types";

const PAGE = 20;
const PAGE_MOST = 100;

export interface Feed<T, P extends Page<T> = Page<T>> {
    items: Signal<T[]>;
    /** The first page's answer, for what it says besides the items. */
    head: Signal<P | null>;
    loading: Signal<boolean>;
    /** What the last call failed with. */
    error: Signal<unknown>;
    /** All has been read. */
    done: Signal<boolean>;
    more(): Promise<void>;
    refresh(): Promise<void>;
}

export type Load<T, P extends Page<T> = Page<T>> = (page: { limit: number; cursor?: string }) => Promise<P>;

/** `arrange` may put what was read again into another order, given what was there. */
export function createFeed<T, P extends Page<T> = Page<T>>(
    load: Load<T, P>,
    key: (item: T) => number,
    arrange: (before: T[], now: T[]) => T[] = (_, now) => now,
): Feed<T, P> {
    const items = signal<T[]>([]);
    const head = signal<P | null>(null);
    const loading = signal(false);
    const error = signal<unknown>(null);
    const done = signal(false);
    let cursor: string | null = null;
    let turn = 0; // a later call makes the answers of earlier ones void

    async function attempt(run: (mine: number) => Promise<void>): Promise<void> {
        const mine = ++turn;
        loading.value = true;
        try {
            await run(mine);
            if (mine === turn) error.value = null;
        } catch (problem) {
            if (mine === turn) error.value = problem;
        } finally {
            if (mine === turn) loading.value = false;
        }
    }

    function take(next: string | null, all: T[]): void {
        cursor = next;
        items.value = all;
        done.value = next === null;
    }

    async function more(): Promise<void> {
        if (loading.value || done.value) return;
        await attempt(async (mine) => {
            const page = await load({ limit: PAGE, ...(cursor === null ? {} : { cursor }) });
            if (mine !== turn) return;
            const known = new Set(items.value.map(key));
            batch(() => {
                head.value ??= page;
                take(page.next_cursor, [...items.value, ...page.items.filter((item) => !known.has(key(item)))]);
            });
        });
    }

    async function refresh(): Promise<void> {
        const wanted = Math.max(items.value.length, PAGE);
        await attempt(async (mine) => {
            let first: P | null = null;
            let next: string | null = null;
            const all: T[] = [];
            do {
                const limit = Math.min(Math.max(wanted - all.length, 1), PAGE_MOST);
                const page: P = await load({ limit, ...(next === null ? {} : { cursor: next }) });
                if (mine !== turn) return;
                first ??= page;
                const known = new Set(all.map(key));
                all.push(...page.items.filter((item) => !known.has(key(item))));
                next = page.next_cursor;
            } while (next !== null && all.length < wanted);
            batch(() => {
                head.value = first;
                take(next, arrange(items.value, all));
            });
        });
    }

    return { items, head, loading, error, done, more, refresh };
}
