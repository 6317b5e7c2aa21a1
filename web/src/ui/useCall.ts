/** What a page needs before it can show anything: one call, made again when its name changes. */
import { type Signal, useSignal } from "@preact/signals";
import { useCallback, useEffect } from "preact/hooks";

export interface Called<T> {
    value: Signal<T | null>;
    error: Signal<unknown>;
    again: () => void;
}

export function useCall<T>(name: string, run: () => Promise<T>): Called<T> {
    const value = useSignal<T | null>(null);
    const error = useSignal<unknown>(null);
    const again = useCallback(() => {
        run().then(
            (got) => {
                value.value = got;
                error.value = null;
            },
            (problem: unknown) => {
                error.value = problem;
            },
        );
    }, [name]);
    useEffect(again, [again]);
    return { value, error, again };
}
