/** The events as they happen, with filters. The newest MOST are kept; the filters choose among these. */
import { useRef, useState } from "preact/hooks";
import { call } from "../api/client";
import type { EventRow } from "../api/types";
import { language, t } from "../i18n";
import { explain } from "../state/toasts";
import { Empty } from "../ui/bits";
import { fullTime } from "../ui/format";
import { eventTypes } from "./eventTypes";
import { usePoll } from "./usePoll";

const MOST = 500;
const PAGE = 100;
const EVERY_MS = 1000;
/** What a turn reads at most. Who is further behind than that is not following but far away: see useTail. */
const PAGES_A_TURN = 20;
const NEAR_MS = 2000;

/** On one server events have ids in the order of time: 41 bits of milliseconds and 12 more. Here only to choose where to begin. */
const ID_EPOCH_MS = 1577836800000;
const ID_PER_MS = 4096;

const BEGINS = { since_5m: 5 * 60_000, since_1h: 60 * 60_000, since_1d: 24 * 60 * 60_000 } as const;
type Begin = keyof typeof BEGINS;

function idAgo(ms: number): number {
    return Math.max(0, (Date.now() - ms - ID_EPOCH_MS) * ID_PER_MS);
}

interface Filters {
    type: string;
    actor: string;
    target: string;
}

const NONE: Filters = { type: "", actor: "", target: "" };

function matches(event: EventRow, filters: Filters): boolean {
    return (
        (!filters.type || event.type === filters.type) &&
        (!filters.actor || String(event.actor_user_id ?? "") === filters.actor.trim()) &&
        (!filters.target || [event.target_id, event.post_id].map(String).includes(filters.target.trim()))
    );
}

/**
 * Follows the log from a place on. Only the newest are shown, so where more has happened than can be
 * read in a turn, it leaves out what lies between.
 */
function useTail(begin: Begin, isPaused: boolean) {
    const [events, setEvents] = useState<EventRow[]>([]);
    const [skipped, setSkipped] = useState(false);
    const [problem, setProblem] = useState<unknown>(null);
    const after = useRef<number | null>(null);
    const oldest = useRef(Date.now() - BEGINS[begin]);
    usePoll(
        async (signal) => {
            try {
                let place = after.current ?? idAgo(BEGINS[begin]);
                let full = true;
                for (let pages = 0; full && pages < PAGES_A_TURN; pages++) {
                    const query = { after: place, limit: PAGE };
                    const page = await call("get", "/v1/events", { query, admin: true, signal });
                    if (signal.aborted) return;
                    after.current = place = page.next_after;
                    full = page.items.length === PAGE;
                    const found = page.items.filter((event) => event.happened_at >= oldest.current).reverse();
                    if (found.length) setEvents((before) => [...found, ...before].slice(0, MOST));
                }
                if (full) {
                    after.current = Math.max(place, idAgo(NEAR_MS));
                    setSkipped(true);
                }
                setProblem(null);
            } catch (error) {
                if (!signal.aborted) setProblem(error);
            }
        },
        EVERY_MS,
        !isPaused,
    );
    return { events, skipped, problem };
}

function time(ms: number): string {
    return new Date(ms).toLocaleTimeString(language.value, {
        hour: "2-digit",
        minute: "2-digit",
        second: "2-digit",
        fractionalSecondDigits: 3,
        hour12: false,
    });
}

function otherOf(event: EventRow): string {
    const author = event.author_id === null ? [] : [`author ${event.author_id}`];
    const post = event.post_id === null || event.post_id === event.target_id ? [] : [`post ${event.post_id}`];
    const reaction = event.reaction === null ? [] : [event.reaction];
    return [...reaction, ...post, ...author].join(", ");
}

function Table({ events }: { events: EventRow[] }) {
    return (
        <div class="table" role="region" aria-label={t("operator.events")} tabIndex={0}>
            <table>
                <thead>
                    <tr>
                        <th scope="col">{t("tail.time")}</th>
                        <th scope="col">{t("tail.type")}</th>
                        <th scope="col">{t("tail.actor")}</th>
                        <th scope="col">{t("tail.target")}</th>
                        <th scope="col">{t("tail.delta")}</th>
                        <th scope="col">{t("tail.more")}</th>
                    </tr>
                </thead>
                <tbody>
                    {events.map((event) => (
                        <tr key={event.event_id}>
                            <td>
                                <time dateTime={new Date(event.happened_at).toISOString()} title={fullTime(event.happened_at)}>
                                    {time(event.happened_at)}
                                </time>
                            </td>
                            <td>{event.type}</td>
                            <td>
                                {event.actor_user_id === null ? (
                                    t("tail.server")
                                ) : (
                                    <a href={`#/user/${event.actor_user_id}`}>{event.actor_user_id}</a>
                                )}
                            </td>
                            <td>
                                {event.target_type} {event.target_id}
                            </td>
                            <td class="number">{event.delta > 0 ? `+${event.delta}` : event.delta}</td>
                            <td>{otherOf(event)}</td>
                        </tr>
                    ))}
                </tbody>
            </table>
        </div>
    );
}

function Tail({ begin, isPaused, filters }: { begin: Begin; isPaused: boolean; filters: Filters }) {
    const { events, skipped, problem } = useTail(begin, isPaused);
    const shown = events.filter((event) => matches(event, filters));
    return (
        <>
            <p class="warning" role="alert" hidden={!problem}>
                {problem ? explain(problem) : ""}
            </p>
            <p class="hint">
                {t("tail.shown", { n: shown.length, all: events.length })} {t("tail.most", { n: MOST })}{" "}
                {skipped ? t("tail.skipped") : ""}
            </p>
            {shown.length ? (
                <Table events={shown} />
            ) : (
                <Empty>{events.length ? t("tail.none_match") : t("tail.none")}</Empty>
            )}
        </>
    );
}

export function EventsPart() {
    const [begin, setBegin] = useState<Begin>("since_1h");
    const [isPaused, setPaused] = useState(false);
    const [filters, setFilters] = useState(NONE);
    const set = (changes: Partial<Filters>) => setFilters({ ...filters, ...changes });
    return (
        <>
            <form class="filters" onSubmit={(event) => event.preventDefault()}>
                <label>
                    {t("tail.type")}
                    <select value={filters.type} onChange={(event) => set({ type: event.currentTarget.value })}>
                        <option value="">{t("tail.any")}</option>
                        {eventTypes.map((type) => <option key={type}>{type}</option>)}
                    </select>
                </label>
                <label>
                    {t("tail.actor")}
                    <input
                        inputMode="numeric"
                        value={filters.actor}
                        onInput={(event) => set({ actor: event.currentTarget.value })}
                    />
                </label>
                <label>
                    {t("tail.target")}
                    <input
                        inputMode="numeric"
                        value={filters.target}
                        onInput={(event) => set({ target: event.currentTarget.value })}
                    />
                </label>
                <label>
                    {t("tail.since")}
                    <select
                        value={begin}
                        onChange={(event) => setBegin(event.currentTarget.value as Begin)}
                    >
                        {(Object.keys(BEGINS) as Begin[]).map((from) => (
                            <option key={from} value={from}>
                                {t(`tail.${from}`)}
                            </option>
                        ))}
                    </select>
                </label>
                <button type="button" aria-pressed={isPaused} onClick={() => setPaused(!isPaused)}>
                    {isPaused ? t("tail.resume") : t("tail.pause")}
                </button>
                <button type="button" class="quiet" disabled={filters === NONE} onClick={() => setFilters(NONE)}>
                    {t("tail.clear")}
                </button>
            </form>
            <Tail key={begin} begin={begin} isPaused={isPaused} filters={filters} />
        </>
    );
}
