import { useState } from "preact/hooks";
import { call, newKey } from "../api/client";
import type { Kind } from "../api/types";
import { t } from "../i18n";
import { type Draft, keepDraft, loadDraft } from "../state/drafts";
import { go, place } from "../state/router";
import { me } from "../state/session";
import { say } from "../state/toasts";
import { Choices } from "../ui/bits";
import { PostForm, type PostTexts } from "./PostForm";

const EMPTY: Draft = { kind: "note", title: "", body: "" };

/** The draft, of the kind that the address asks for, if it does. */
function firstDraft(): Draft {
    const draft = loadDraft(me.value) ?? EMPTY;
    return place.value.query.get("kind") === "story" ? { ...draft, kind: "story" } : draft;
}

export function WritePage() {
    const [draft, setDraft] = useState(firstDraft);
    const [discarded, setDiscarded] = useState(0); // how often: the form begins anew
    const change = (now: Draft) => {
        keepDraft(me.value, now);
        setDraft(now);
    };

    const send = async (texts: PostTexts) => {
        const { kind } = draft;
        const post = await call("post", "/v1/posts", { body: { kind, ...texts }, once: newKey() });
        keepDraft(me.value, null);
        say(t(kind === "story" ? "write.story_begun" : "write.sent"));
        go(kind === "story" ? `#/story/${post.id}` : `#/post/${post.id}`);
    };
    const discard = () => {
        change({ ...EMPTY, kind: draft.kind });
        setDiscarded(discarded + 1);
    };

    return (
        <>
            <header class="page-head">
                <h1>{t("write.title")}</h1>
            </header>
            <PostForm
                key={discarded}
                first={draft}
                submit={t("write.send")}
                send={send}
                changed={(texts) => change({ ...draft, ...texts })}
                {...(draft.title || draft.body ? { cancel: { label: t("write.discard"), run: discard } } : {})}
            >
                <Choices<Kind>
                    legend={t("write.kind")}
                    name="kind"
                    choices={(["note", "activity", "story"] as const).map((value) => ({
                        value,
                        label: t(`kind.${value}`),
                    }))}
                    value={draft.kind}
                    change={(kind) => change({ ...draft, kind })}
                />
            </PostForm>
            <p class="hint">{t("write.draft_hint")}</p>
        </>
    );
}
