/** The fields of a post, for writing one and for changing one. */
import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { t } from "../i18n";
import { complain } from "../state/toasts";

export interface PostTexts {
    title: string;
    body: string;
}

export function PostForm(props: {
    first: PostTexts;
    submit: string;
    /** What is wrong is told here; the fields stay as they are. */
    send: (texts: PostTexts) => Promise<void>;
    cancel?: { label: string; run: () => void };
    /** Told of every letter. */
    changed?: (texts: PostTexts) => void;
    children?: ComponentChildren;
}) {
    const [title, setTitle] = useState(props.first.title);
    const [body, setBody] = useState(props.first.body);
    const [busy, setBusy] = useState(false);

    const change = (texts: PostTexts) => {
        setTitle(texts.title);
        setBody(texts.body);
        props.changed?.(texts);
    };
    const send = async () => {
        setBusy(true);
        try {
            await props.send({ title, body });
        } catch (problem) {
            complain(problem);
            setBusy(false);
        }
    };

    return (
        <form
            class="form"
            onSubmit={(event) => {
                event.preventDefault();
                void send();
            }}
        >
            {props.children}
            <label for="write-title">{t("write.name")}</label>
            <input
                id="write-title"
                required
                maxLength={200}
                value={title}
                onInput={(event) => change({ title: event.currentTarget.value, body })}
            />
            <label for="write-body">{t("write.body")}</label>
            <textarea
                id="write-body"
                rows={10}
                value={body}
                aria-describedby="write-hint"
                onInput={(event) => change({ title, body: event.currentTarget.value })}
            />
            <p id="write-hint" class="hint">
                {t("write.body_hint")}
            </p>
            <p class="buttons">
                {props.cancel ? (
                    <button type="button" onClick={props.cancel.run}>
                        {props.cancel.label}
                    </button>
                ) : null}
                <button type="submit" class="primary" disabled={busy || !title.trim()}>
                    {props.submit}
                </button>
            </p>
        </form>
    );
}
