/** Stories: where one stopped, what one subscribes to, what is popular. */
import { useEffect, useState } from "preact/hooks";
import { call } from "../api/client";
import type { HotRow, Reading } from "../api/types";
import { t } from "../i18n";
import { explain } from "../state/toasts";
import { Empty, Failed, Loading, Time, UserLink } from "../ui/bits";
import { Icon } from "../ui/Icon";
import { continueReading, forget, forgetAll, positions, syncPositions } from "./positions";
import { loadSubscriptions, subscriptions } from "./subscriptions";
import "./story.css";

const SHOWN_FIRST = 5;
const SYNC_MS = 15000;

function Begun({ record }: { record: Reading }) {
    return (
        <li class="row" data-row>
            <div class="row-text">
                {record.is_deleted ? (
                    <span class="gone">
                        {record.title} ({t("stories.deleted")})
                    </span>
                ) : (
                    <a class="row-title" href={`#/story/${record.story_id}`} data-open>
                        {record.title}
                    </a>
                )}
                <span class="meta">
                    <Time ms={record.modified_at} />
                    {record.scene_id === null ? <span>{t("stories.entered")}</span> : null}
                </span>
            </div>
            <button
                type="button"
                class="quiet"
                aria-label={t("stories.forget", { title: record.title })}
                onClick={() => void forget(record.story_id)}
            >
                <Icon name="close" />
            </button>
        </li>
    );
}

function ContinueReading() {
    const [all, setAll] = useState(false);
    useEffect(() => {
        void syncPositions();
        const timer = setInterval(() => void syncPositions(), SYNC_MS);
        return () => clearInterval(timer);
    }, []);
    const records = continueReading.value;
    return (
        <section aria-labelledby="continue">
            <div class="section-head">
                <h2 id="continue">{t("stories.continue")}</h2>
                {records.length ? (
                    <button
                        type="button"
                        class="quiet"
                        onClick={() => confirm(t("stories.clear_ask")) && void forgetAll()}
                    >
                        {t("stories.clear")}
                    </button>
                ) : null}
            </div>
            {positions.value === null ? <Loading /> : null}
            {positions.value && !records.length ? <Empty>{t("stories.continue_none")}</Empty> : null}
            <ul class="rows">
                {(all ? records : records.slice(0, SHOWN_FIRST)).map((record) => (
                    <Begun key={record.story_id} record={record} />
                ))}
            </ul>
            {records.length > SHOWN_FIRST && !all ? (
                <button type="button" onClick={() => setAll(true)}>
                    {t("stories.more_begun", { n: records.length })}
                </button>
            ) : null}
        </section>
    );
}

function Subscribed() {
    useEffect(() => void loadSubscriptions(), []);
    const rows = subscriptions.value;
    return (
        <section aria-labelledby="subscribed">
            <h2 id="subscribed">{t("stories.subscribed")}</h2>
            {rows === null ? <Loading /> : null}
            {rows && !rows.length ? <Empty>{t("stories.subscribed_none")}</Empty> : null}
            <ul class="rows">
                {rows?.map((row) => (
                    <li key={row.story_id} class="row" data-row>
                        <div class="row-text">
                            {row.is_deleted ? (
                                <span class="gone">
                                    {row.title} ({t("stories.deleted")})
                                </span>
                            ) : (
                                <a class="row-title" href={`#/story/${row.story_id}`} data-open>
                                    {row.title}
                                </a>
                            )}
                            <span class="meta">
                                <Time ms={row.since} />
                            </span>
                        </div>
                    </li>
                ))}
            </ul>
        </section>
    );
}

function PopularRow({ row }: { row: HotRow }) {
    return (
        <li class="row" data-row>
            <div class="row-text">
                <a class="row-title" href={`#/story/${row.post_id}`} data-open>
                    {row.title}
                </a>
                <p class="excerpt">{row.excerpt}</p>
                <span class="meta">
                    <UserLink id={row.author_id} name={row.author_name} />
                    <Time ms={row.created_at} />
                    <span>
                        <Icon name="heart" /> {row.stats.like_count}
                    </span>
                </span>
            </div>
        </li>
    );
}

function Popular() {
    const [rows, setRows] = useState<HotRow[] | null>(null);
    const [cursor, setCursor] = useState<string | null>(null);
    const [problem, setProblem] = useState<unknown>(null);
    const load = async (from: string | null) => {
        try {
            const page = await call("get", "/v1/hot", { query: { kind: "story", ...(from ? { cursor: from } : {}) } });
            // Scores move while one pages: what comes twice is shown once.
            setRows((before) => {
                const known = from ? (before ?? []) : [];
                const ids = new Set(known.map((row) => row.post_id));
                return [...known, ...page.items.filter((row) => !ids.has(row.post_id))];
            });
            setCursor(page.next_cursor);
            setProblem(null);
        } catch (error) {
            setProblem(error);
        }
    };
    useEffect(() => void load(null), []);
    return (
        <section aria-labelledby="popular">
            <h2 id="popular">{t("stories.popular")}</h2>
            {problem ? <Failed text={explain(problem)} retry={() => void load(cursor)} /> : null}
            {rows === null && !problem ? <Loading /> : null}
            {rows && !rows.length ? <Empty>{t("stories.popular_none")}</Empty> : null}
            <ul class="rows">{rows?.map((row) => <PopularRow key={row.post_id} row={row} />)}</ul>
            {cursor ? (
                <button type="button" onClick={() => void load(cursor)}>
                    {t("app.more")}
                </button>
            ) : null}
        </section>
    );
}

export function StoriesPage() {
    return (
        <div class="stories">
            <div class="section-head">
                <h1>{t("nav.stories")}</h1>
                <a class="button" href="#/write?kind=story">
                    <Icon name="pen" /> {t("stories.write")}
                </a>
            </div>
            <ContinueReading />
            <Subscribed />
            <Popular />
        </div>
    );
}
