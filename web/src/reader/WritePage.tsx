import { useState } from "preact/hooks";
import { call, newKey } from "../api/client";
import type { Kind } from "../api/types";
import { t } from "../i18n";
import { go, place } from "../state/router";
import { say } from "../state/toasts";
import { Choices } from "../ui/bits";
import { PostForm, type PostTexts } from "./PostForm";

const EMPTY: PostTexts = { title: "", body: "" };

export function WritePage() {
    const [kind, setKind] = useState<Kind>(place.value.query.get("kind") === "story" ? "story" : "note");

    const send = async (texts: PostTexts) => {
        const post = await call("post", "/v1/posts", { body: { kind, ...texts }, once: newKey() });
        say(t(kind === "story" ? "write.story_begun" : "write.sent"));
        go(kind === "story" ? `#/story/${post.id}` : `#/post/${post.id}`);
    };

    return (
        <>
            <header class="page-head">
                <h1>{t("write.title")}</h1>
            </header>
            <PostForm first={EMPTY} submit={t("write.send")} send={send}>
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
            </PostForm>
        </>
    );
}
