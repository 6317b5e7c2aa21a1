/** Who liked a post, asked for when somebody wants to know. */
import { useState } from "preact/hooks";
import { call } from "../api/client";
import type { Page } from "../api/types";
import { t } from "../i18n";
import { Empty, Time, UserLink } from "../ui/bits";
import { FeedList, useFeed } from "../ui/FeedList";

type Liker = { user_id: number; name: string; at: number };

function List({ postId, count }: { postId: number; count: number }) {
    const feed = useFeed<Liker, Page<Liker>>(
        `${postId}/${count}`,
        (page) => call("get", "/v1/posts/{post_id}/likes", { path: { post_id: postId }, query: page }),
        (row) => row.user_id,
    );
    return (
        <FeedList
            feed={feed}
            label={t("post.who")}
            class="likers"
            row={(row) => (
                <li key={row.user_id}>
                    <UserLink id={row.user_id} name={row.name} /> <Time ms={row.at} />
                </li>
            )}
            empty={<Empty>{t("post.nobody")}</Empty>}
        />
    );
}

export function Likers({ postId, count }: { postId: number; count: number }) {
    const [open, setOpen] = useState(false);
    return (
        <details class="who-liked" open={open} onToggle={(event) => setOpen(event.currentTarget.open)}>
            <summary>{t("post.who")}</summary>
            {open ? <List postId={postId} count={count} /> : null}
        </details>
    );
}
