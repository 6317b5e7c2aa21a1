import { useEffect, useRef } from "preact/hooks";
import { type LiveEvents, onLive } from "../state/live";

/** Runs on an event of the stream while the component is there. */
export function useLive<N extends keyof LiveEvents>(name: N, run: (data: LiveEvents[N]) => void): void {
    const latest = useRef(run);
    latest.current = run;
    useEffect(() => onLive(name, (data) => latest.current(data)), [name]);
}
