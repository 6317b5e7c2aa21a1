import { useEffect, useRef } from "preact/hooks";

/**
 * Runs at once and then again, `everyMs` after it has come to its end, while the component is there; so
 * a slow server is never asked twice at the same time. It must not throw.
 */
export function usePoll(run: (signal: AbortSignal) => Promise<void>, everyMs: number, when = true): void {
    const latest = useRef(run);
    latest.current = run;
    useEffect(() => {
        if (!when) return;
        const stop = new AbortController();
        let timer: ReturnType<typeof setTimeout> | undefined;
        const turn = async () => {
            await latest.current(stop.signal);
            if (!stop.signal.aborted) timer = setTimeout(() => void turn(), everyMs);
        };
        void turn();
        return () => {
            clearTimeout(timer);
            stop.abort();
        };
    }, [everyMs, when]);
}
