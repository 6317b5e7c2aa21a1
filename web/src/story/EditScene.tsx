/** The author's form for a scene that is out: messages that stay keep their ids, and so readers their places. */
import { useEffect, useState } from "preact/hooks";
import { call } from "../api/client";
import type { Scene } from "../api/types";
import { t } from "../i18n";
import { complain, say } from "../state/toasts";
import { Icon } from "../ui/Icon";
import { TITLE_MOST } from "./WriteScene";

interface Line {
    /** Of the form's own: a new message has no id yet. */
    key: number;
    id: number | null;
    text: string;
}

let nextKey = 1;

function lineOf(id: number | null, text: string): Line {
    return { key: nextKey++, id, text };
}

function MessageField(props: { line: Line; n: number; change: (text: string) => void; below: () => void; remove: () => void }) {
    const { line, n } = props;
    return (
        <li>
            <textarea
                rows={Math.min(6, 1 + Math.ceil(line.text.length / 60))}
                aria-label={t("story.message_n", { n })}
                value={line.text}
                onInput={(event) => props.change(event.currentTarget.value)}
            />
            <button type="button" class="quiet" aria-label={t("story.message_below", { n })} onClick={props.below}>
                <Icon name="add" />
            </button>
            <button type="button" class="quiet" aria-label={t("story.message_remove", { n })} onClick={props.remove}>
                <Icon name="trash" />
            </button>
        </li>
    );
}

function Fields({ scene, done }: { scene: Scene; done: (now: Scene | null) => void }) {
    const [title, setTitle] = useState(scene.title);
    const [lines, setLines] = useState(() => scene.messages.map((message) => lineOf(message.id, message.text)));
    const [sending, setSending] = useState(false);
    const written = lines.filter((line) => line.text.trim());

    const save = async (event: Event) => {
        event.preventDefault();
        setSending(true);
        const messages = written.map(({ id, text }) => (id === null ? text.trim() : { id, text: text.trim() }));
        try {
            const body = { title: title.trim(), messages };
            done(await call("patch", "/v1/scenes/{scene_id}", { path: { scene_id: scene.id }, body }));
            say(t("story.edit_done"));
        } catch (error) {
            complain(error);
            setSending(false);
        }
    };
    const insertBelow = (i: number) => setLines([...lines.slice(0, i + 1), lineOf(null, ""), ...lines.slice(i + 1)]);
    return (
        <form class="edit-scene form card" onSubmit={(event) => void save(event)}>
            <h2>{t("story.edit_scene", { n: scene.number })}</h2>
            <label for="edit-title">{t("story.write_title")}</label>
            <input
                id="edit-title"
                required
                maxLength={TITLE_MOST}
                value={title}
                onInput={(event) => setTitle(event.currentTarget.value)}
            />
            <ol class="edit-messages" aria-label={t("story.write_messages")}>
                {lines.map((line, i) => (
                    <MessageField
                        key={line.key}
                        line={line}
                        n={i + 1}
                        change={(text) => setLines(lines.map((other) => (other === line ? { ...line, text } : other)))}
                        below={() => insertBelow(i)}
                        remove={() => setLines(lines.filter((other) => other !== line))}
                    />
                ))}
            </ol>
            <p class="hint">{t("story.edit_hint")}</p>
            <p class="buttons">
                <button type="button" onClick={() => done(null)}>
                    {t("app.cancel")}
                </button>
                <button type="submit" class="primary" disabled={sending || !written.length || !title.trim()}>
                    {t("app.save")}
                </button>
            </p>
        </form>
    );
}

/** The scene as it is now, then its form; `done` gets it as it is afterwards, null if nothing was changed. */
export function EditScene({ id, done }: { id: number; done: (now: Scene | null) => void }) {
    const [scene, setScene] = useState<Scene | null>(null);
    useEffect(() => {
        call("get", "/v1/scenes/{scene_id}", { path: { scene_id: id } }).then(setScene, (error: unknown) => {
            complain(error);
            done(null);
        });
    }, [id]);
    return scene ? <Fields scene={scene} done={done} /> : null;
}
