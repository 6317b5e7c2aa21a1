/** A story as a chat: messages appear one by one, and it goes on where the reader stopped. */
import { useEffect, useRef, useState } from "preact/hooks";
import type { Post } from "../api/types";
import { t } from "../i18n";
import { idAt } from "../state/router";
import { me } from "../state/session";
import { useSubject } from "../state/subject";
import { explain } from "../state/toasts";
import { Empty, Failed, Loading, UserLink } from "../ui/bits";
import { counted } from "../ui/format";
import { Icon } from "../ui/Icon";
import { Parts } from "../ui/Parts";
import { EditScene } from "./EditScene";
import { SceneList } from "./SceneList";
import { SubscribeButton } from "./SubscribeButton";
import { isSubscribed, subscriptions } from "./subscriptions";
import { type OpenScene, useStory } from "./useStory";
import { WriteScene } from "./WriteScene";
import "./story.css";

function Head({ story, scenes }: { story: Post; scenes: number }) {
    return (
        <header class="story-head">
            <div>
                <h1>{story.title}</h1>
                <p class="meta">
                    <UserLink id={story.author_id} name={story.author_name} />
                    <span>{counted("story.scene_count", scenes)}</span>
                    <a href={`#/post/${story.id}`}>{t("story.discussion")}</a>
                </p>
            </div>
            {story.author_id === me.value ? null : (
                <SubscribeButton story={{ story_id: story.id, author_id: story.author_id, title: story.title }} />
            )}
        </header>
    );
}

/** Sides change with every message: who speaks is the author's to say, in the text. */
function Messages({ open }: { open: OpenScene }) {
    return (
        <section class="scene" aria-label={t("story.scene", { n: open.scene.number, title: open.scene.title })}>
            <h2>
                <span class="scene-number">{open.scene.number}</span> {open.scene.title}
            </h2>
            {open.scene.messages.slice(0, open.shown).map((message, i) => (
                <p key={message.id} class={i % 2 ? "bubble right" : "bubble"} data-message={message.id}>
                    <Parts parts={message.parts} />
                </p>
            ))}
        </section>
    );
}

const OTHERS = "a, button, input, textarea, select, summary, dialog *";

/** Space and the right arrow, unless they mean something where the focus is. */
function useReadOnKeys(readOn: () => void): void {
    const latest = useRef(readOn);
    latest.current = readOn;
    useEffect(() => {
        const press = (event: KeyboardEvent) => {
            if ((event.key !== " " && event.key !== "ArrowRight") || event.ctrlKey || event.altKey || event.metaKey) return;
            if (event.target instanceof Element && event.target.closest(OTHERS)) return;
            event.preventDefault();
            latest.current();
        };
        addEventListener("keydown", press);
        return () => removeEventListener("keydown", press);
    }, []);
}

/** Keeps the newest message in sight. */
function useFollowing(count: number) {
    const end = useRef<HTMLDivElement>(null);
    useEffect(() => {
        if (!count) return;
        const calm = matchMedia("(prefers-reduced-motion: reduce)").matches;
        end.current?.scrollIntoView({ block: "end", behavior: calm ? "auto" : "smooth" });
    }, [count]);
    return end;
}

function ReadOn({ last, isThrough, maySubscribe, busy, readOn }: {
    last: OpenScene;
    isThrough: boolean;
    maySubscribe: boolean;
    busy: boolean;
    readOn: () => void;
}) {
    const all = last.scene.messages.length;
    if (isThrough)
        return (
            <p class="read-on through" role="status">
                <strong>{t("story.through")}</strong> {maySubscribe ? t("story.through_hint") : ""}
            </p>
        );
    const label = last.shown === 0 ? t("story.begin") : last.shown < all ? t("story.next") : t("story.next_scene");
    return (
        <div class="read-on">
            <button type="button" class="primary" onClick={readOn} aria-disabled={busy} data-read-on>
                {label} <Icon name="down" />
            </button>
            <span class="hint keys">{t("story.keys")}</span>
            <span class="hint">{t("story.progress", { n: last.shown, all })}</span>
        </div>
    );
}

export function StoryPage() {
    const id = idAt(1);
    const reader = useStory(id);
    const { story, open } = reader;
    const [editing, setEditing] = useState(0);
    const shown = open.reduce((n, one) => n + one.shown, 0);
    const end = useFollowing(reader.hasEarlier || shown > 1 ? shown : 0);
    const readOn = () => void reader.readOn();
    useReadOnKeys(readOn);
    useSubject(story?.title);

    if (reader.problem) return <Failed text={explain(reader.problem)} retry={() => location.reload()} />;
    if (!story) return <Loading />;
    const last = open.at(-1);
    const tap = (event: MouseEvent) => {
        const onOther = event.target instanceof Element && event.target.closest(OTHERS);
        if (!onOther && !getSelection()?.toString()) readOn();
    };
    return (
        <article class="story">
            <Head story={story} scenes={reader.scenes.length} />
            {reader.scenes.length ? (
                <SceneList
                    scenes={reader.scenes}
                    current={last?.scene.id ?? 0}
                    isAuthor={story.author_id === me.value}
                    choose={(row) => void reader.jumpTo(row)}
                    edit={(row) => setEditing(row.id)}
                    changed={() => void reader.refresh()}
                />
            ) : (
                <Empty>{t("story.no_scenes")}</Empty>
            )}
            {editing ? (
                <EditScene
                    id={editing}
                    done={(now) => {
                        setEditing(0);
                        if (now) reader.replace(now);
                    }}
                />
            ) : null}
            {reader.hasEarlier ? (
                <button type="button" class="earlier" onClick={() => void reader.showEarlier()}>
                    <Icon name="up" /> {t("story.earlier")}
                </button>
            ) : null}
            {last && !editing ? (
                <>
                    <div class="chat" role="log" aria-label={t("story.log")} onClick={tap}>
                        {open.map((one) => <Messages key={one.scene.id} open={one} />)}
                        {reader.isResumed ? <p class="resumed">{t("story.resumed")}</p> : null}
                    </div>
                    <ReadOn
                        last={last}
                        isThrough={reader.isThrough}
                        maySubscribe={story.author_id !== me.value && !!subscriptions.value && !isSubscribed(id)}
                        busy={reader.busy}
                        readOn={readOn}
                    />
                    <div class="chat-end" ref={end} />
                </>
            ) : null}
            {story.author_id === me.value ? <WriteScene story={id} done={() => void reader.refresh()} /> : null}
        </article>
    );
}
