/** Shows a change before the server has it; takes it back, and says so, if the server refuses. */
import type { Signal } from "@preact/signals";
import { complain } from "../state/toasts";

/** One change of a thing at a time: a second click waits for nothing, it is dropped. */
const busy = new WeakSet<object>();

/** Whether a change of it is under way: what the server said meanwhile may be older. */
export function isBusy(state: object): boolean {
    return busy.has(state);
}

export async function optimistic<T, A>(
    state: Signal<T>,
    guess: (now: T) => T,
    run: () => Promise<A>,
    settle: (now: T, answer: A) => T,
): Promise<void> {
    if (busy.has(state)) return;
    busy.add(state);
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
    }
}
