import { useState } from "preact/hooks";
import { call, newKey } from "../api/client";
import type { Kind } from "../api/types";
import { t } from "../i18n";
import { go, place } from "../state/router";
import { complain, say } from "../state/toasts";
import { Choices } from "../ui/bits";

export function WritePage() {
    const [kind, setKind] = useState<Kind>(place.value.query.get("kind") === "story" ? "story" : "note");
    const [title, setTitle] = useState("");
    const [body, setBody] = useState("");
    const [busy, setBusy] = useState(false);

    const send = async () => {
        setBusy(true);
        try {
            const post = await call("post", "/v1/posts", { body: { kind, title, body }, once: newKey() });
            say(t("write.sent"));
            go(kind === "story" ? `#/story/${post.id}` : `#/post/${post.id}`);
        } catch (problem) {
            complain(problem);
            setBusy(false);
        }
    };

    return (
        <>
            <header class="page-head">
                <h1>{t("write.title")}</h1>
            </header>
            <form
                class="form"
                onSubmit={(event) => {
                    event.preventDefault();
                    void send();
                }}
            >
                <Choices<Kind>
                    legend={t("write.kind")}
                    name="kind"
                    choices={(["note", "activity", "story"] as const).map((value) => ({
                        value,
                        label: t(`kind.${value}`),
                    }))}
                    value={kind}
                    change={setKind}
                />
                <label for="write-title">{t("write.name")}</label>
                <input
                    id="write-title"
                    required
                    maxLength={200}
                    value={title}
                    onInput={(event) => setTitle(event.currentTarget.value)}
                />
                <label for="write-body">{t("write.body")}</label>
                <textarea
                    id="write-body"
                    rows={10}
                    value={body}
                    aria-describedby="write-hint"
                    onInput={(event) => setBody(event.currentTarget.value)}
                />
                <p id="write-hint" class="hint">
                    {t("write.body_hint")}
                </p>
                <button type="submit" class="primary" disabled={busy || !title.trim()}>
                    {t("write.send")}
                </button>
            </form>
        </>
    );
}
