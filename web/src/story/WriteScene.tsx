/** The author's form for the next scene. */
import { useRef, useState } from "preact/hooks";
import { call } from "../api/client";
import { t } from "../i18n";
import { complain, say } from "../state/toasts";
import { counted } from "../ui/format";

export const TITLE_MOST = 200;

export function messagesOf(text: string): string[] {
    return text
        .split("\n")
        .map((line) => line.trim())
        .filter(Boolean);
}

export function WriteScene({ story, done }: { story: number; done: () => void }) {
    const [title, setTitle] = useState("");
    const [text, setText] = useState("");
    const [sending, setSending] = useState(false);
    // The same until it worked: a repeat after a lost answer makes no second scene.
    const once = useRef("");
    const messages = messagesOf(text);

    const publish = async (event: Event) => {
        event.preventDefault();
        if (sending) return;
        setSending(true);
        once.current ||= Array.from(crypto.getRandomValues(new Uint32Array(4)), (n) => n.toString(36)).join("-");
        try {
            await call("post", "/v1/stories/{story_id}/scenes", {
                path: { story_id: story },
                body: { title: title.trim(), messages },
                once: once.current,
            });
            once.current = "";
            setTitle("");
            setText("");
            say(t("story.write_done"));
            done();
        } catch (error) {
            complain(error);
        } finally {
            setSending(false);
        }
    };
    const change = (set: (value: string) => void) => (event: { currentTarget: { value: string } }) => {
        once.current = "";
        set(event.currentTarget.value);
    };
    return (
        <form class="write-scene form" onSubmit={(event) => void publish(event)}>
            <h2>{t("story.write")}</h2>
            <label for="scene-title">{t("story.write_title")}</label>
            <input id="scene-title" required maxLength={TITLE_MOST} value={title} onInput={change(setTitle)} />
            <label for="scene-text">{t("story.write_messages")}</label>
            <textarea
                id="scene-text"
                required
                rows={6}
                value={text}
                onInput={change(setText)}
                aria-describedby="scene-hint"
            />
            <p class="hint" id="scene-hint">
                {t("story.write_hint")} {counted("story.messages", messages.length)}
            </p>
            <button type="submit" class="primary" disabled={sending || !messages.length || !title.trim()}>
                {t("story.write_go")}
            </button>
        </form>
    );
}
