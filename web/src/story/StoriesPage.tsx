/** Stories: where one stopped, what one subscribes to, what is popular. */
import type { ComponentChildren } from "preact";
import { useEffect, useState } from "preact/hooks";
import { call } from "../api/client";
import type { HotRow, Reading } from "../api/types";
import { t } from "../i18n";
import { confirm } from "../state/confirm";
import { Avatar, Empty, Loading, Time, UserLink } from "../ui/bits";
import { FeedList, useFeed } from "../ui/FeedList";
import { Icon } from "../ui/Icon";
import { continueReading, forget, forgetAll, positions, syncPositions } from "./positions";
import { loadSubscriptions, subscriptions } from "./subscriptions";
import "./story.css";

const SHOWN_FIRST = 5;
const SYNC_MS = 15000;

/** A story that is known by its title; gone if it was deleted. */
function StoryRow(props: {
    id: number;
    title: string;
    isDeleted: boolean;
    meta: ComponentChildren;
    end?: ComponentChildren;
}) {
    return (
        <li class={props.isDeleted ? "row plain deleted" : "row plain"} data-row>
            <div class="row-text">
                <h3>
                    {props.isDeleted ? (
                        `${props.title} (${t("stories.deleted")})`
                    ) : (
                        <a href={`#/story/${props.id}`} data-open>
                            {props.title}
                        </a>
                    )}
                </h3>
                <p class="row-head">{props.meta}</p>
            </div>
            {props.end}
        </li>
    );
}

function Begun({ record }: { record: Reading }) {
    return (
        <StoryRow
            id={record.story_id}
            title={record.title}
            isDeleted={record.is_deleted}
            meta={
                <>
                    <Time ms={record.modified_at} />
                    {record.scene_id === null ? <span>{t("stories.entered")}</span> : null}
                </>
            }
            end={
                <button
                    type="button"
                    class="quiet"
                    aria-label={t("stories.forget", { title: record.title })}
                    onClick={() => void forget(record.story_id)}
                >
                    <Icon name="close" />
                </button>
            }
        />
    );
}

async function clearAll(): Promise<void> {
    if (await confirm(t("stories.clear_ask"), t("stories.clear"))) await forgetAll();
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
            <div class="page-head">
                <h2 id="continue">{t("stories.continue")}</h2>
                {records.length ? (
                    <button
                        type="button"
                        class="quiet"
                        onClick={() => void clearAll()}
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
                    <StoryRow
                        key={row.story_id}
                        id={row.story_id}
                        title={row.title}
                        isDeleted={row.is_deleted}
                        meta={<Time ms={row.since} />}
                    />
                ))}
            </ul>
        </section>
    );
}

function PopularRow({ row }: { row: HotRow }) {
    return (
        <li class="row" data-row>
            <Avatar id={row.author_id} name={row.author_name} />
            <div class="row-text">
                <p class="row-head">
                    <UserLink id={row.author_id} name={row.author_name} />
                    <Time ms={row.created_at} />
                </p>
                <h3>
                    <a href={`#/story/${row.post_id}`} data-open>
                        {row.title}
                    </a>
                </h3>
                {row.excerpt ? <p class="excerpt">{row.excerpt}</p> : null}
            </div>
        </li>
    );
}

function Popular() {
    const feed = useFeed<HotRow>(
        "stories",
        (page) => call("get", "/v1/hot", { query: { kind: "story", ...page } }),
        (row) => row.post_id,
    );
    return (
        <section aria-labelledby="popular">
            <h2 id="popular">{t("stories.popular")}</h2>
            <FeedList
                feed={feed}
                label={t("stories.popular")}
                row={(row) => <PopularRow key={row.post_id} row={row} />}
                empty={<Empty>{t("stories.popular_none")}</Empty>}
            />
        </section>
    );
}

export function StoriesPage() {
    return (
        <div class="stories">
            <div class="page-head">
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
