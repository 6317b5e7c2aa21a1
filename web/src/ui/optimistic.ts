/** Shows a change before the server has it; takes it back, and says so, if the server refuses. */
import type { Signal } from "@preact/signals";
import { complain } from "../state/toasts";

/** One change of a thing at a time: the same once more is dropped, another waits for its turn. */
const busy = new WeakMap<object, { what: string; done: Promise<void> }>();

/** Whether a change of it is under way: what the server said meanwhile may be older. */
export function isBusy(state: object): boolean {
    return busy.has(state);
}

export async function optimistic<T, A>(
    state: Signal<T>,
    guess: (now: T) => T,
    run: () => Promise<A>,
    settle: (now: T, answer: A) => T,
    what = "",
): Promise<void> {
    for (let other = busy.get(state); other; other = busy.get(state)) {
        if (other.what === what) return;
        await other.done;
    }
    let end = (): void => undefined;
    busy.set(state, { what, done: new Promise((done) => (end = done)) });
    const before = state.value;
    state.value = guess(before);
    try {
        const answer = await run();
        state.value = settle(state.value, answer);
    } catch (problem) {
        state.value = before;
        complain(problem);
    } finally {
        busy.delete(state);
        end();
    }
}
