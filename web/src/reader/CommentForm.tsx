import { useEffect, useId, useRef, useState } from "preact/hooks";
import { call, newKey } from "../api/client";
import type { Comment } from "../api/types";
import { t } from "../i18n";
import { complain } from "../state/toasts";

export function CommentForm(props: {
    postId: number;
    parentId?: number;
    label: string;
    sent: (comment: Comment) => void;
    cancel?: () => void;
}) {
    const id = useId();
    const field = useRef<HTMLTextAreaElement>(null);
    const [body, setBody] = useState("");
    const [busy, setBusy] = useState(false);

    useEffect(() => {
        if (props.cancel) field.current?.focus();
    }, []);

    const send = async () => {
        setBusy(true);
        try {
            const comment = await call("post", "/v1/posts/{post_id}/comments", {
                path: { post_id: props.postId },
                body: { body, ...(props.parentId ? { parent_id: props.parentId } : {}) },
                once: newKey(),
            });
            setBody("");
            props.sent(comment);
        } catch (problem) {
            complain(problem);
        } finally {
            setBusy(false);
        }
    };

    return (
        <form
            class="comment-form"
            onSubmit={(event) => {
                event.preventDefault();
                void send();
            }}
        >
            <label for={id} class="unseen">
                {props.label}
            </label>
            <textarea
                id={id}
                ref={field}
                rows={props.cancel ? 2 : 3}
                required
                placeholder={props.label}
                value={body}
                onInput={(event) => setBody(event.currentTarget.value)}
            />
            <p class="buttons">
                {props.cancel ? (
                    <button type="button" onClick={props.cancel}>
                        {t("app.cancel")}
                    </button>
                ) : null}
                <button type="submit" class="primary" disabled={busy || !body.trim()}>
                    {t("comments.send")}
                </button>
            </p>
        </form>
    );
}
