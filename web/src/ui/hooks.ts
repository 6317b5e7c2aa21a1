import { useEffect, useRef, useState } from "preact/hooks";
import { type LiveEvents, onLive } from "../state/live";

/** Runs on an event of the stream while the component is there. */
export function useLive<N extends keyof LiveEvents>(name: N, run: (data: LiveEvents[N]) => void): void {
    const latest = useRef(run);
    latest.current = run;
    useEffect(() => onLive(name, (data) => latest.current(data)), [name]);
}

/** The value as it was when it last stayed the same for so long; at first as it is. */
export function useSettled<T>(value: T, ms: number): T {
    const [settled, settle] = useState(value);
    useEffect(() => {
        const timer = setTimeout(() => settle(value), ms);
        return () => clearTimeout(timer);
    }, [value, ms]);
    return settled;
}
