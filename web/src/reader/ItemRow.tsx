/** A post in a list: the inbox, an author's page, a hot list. */
import type { ComponentChildren } from "preact";
import type { Item, Kind, PostStats } from "../api/types";
import { t } from "../i18n";
import { me } from "../state/session";
import { Avatar, Time, UserLink } from "../ui/bits";
import { Icon } from "../ui/Icon";
import { nameOf } from "../ui/format";
import { Stats } from "./Stats";

export interface RowPost {
    post_id: number;
    kind: Kind;
    author_id: number;
    author_name: string;
    title: string;
    excerpt: string;
    created_at: number;
}

export function KindTag({ kind }: { kind: Kind }) {
    return kind === "note" ? null : <span class={`kind ${kind}`}>{t(`kind.${kind}`)}</span>;
}

/** The row without what is said of reading: `marks` go to its end, `notice` under the title. */
export function PostRow(props: {
    post: RowPost;
    class?: string;
    state?: string;
    notice?: string | null;
    marks?: ComponentChildren;
    foot?: ComponentChildren;
}) {
    const { post } = props;
    return (
        <li class={`row ${props.class ?? ""}`} data-row data-post={post.post_id}>
            <Avatar id={post.author_id} name={nameOf(post.author_name, post.author_id)} />
            <div class="row-text">
                <p class="row-head">
                    <UserLink id={post.author_id} name={post.author_name} />
                    <KindTag kind={post.kind} />
                    <Time ms={post.created_at} />
                </p>
                <h2>
                    <a href={`#/post/${post.post_id}`} data-open>
                        {post.title}
                        {props.state ? <span class="unseen"> ({props.state})</span> : null}
                    </a>
                </h2>
                {props.notice ? <p class="notice">{props.notice}</p> : null}
                {post.excerpt ? <p class="excerpt">{post.excerpt}</p> : null}
                {props.foot}
            </div>
            {props.marks}
        </li>
    );
}

export function ItemRow({ item, stats, mark }: {
    item: Item;
    /** Undefined: not known yet; null: there are none. */
    stats: PostStats | null | undefined;
    mark?: (isRead: boolean) => void;
}) {
    const mine = item.author_id === me.value; // nobody has to read what one wrote
    const unread = !item.is_read && !item.is_deleted && !mine;
    const label = t(item.is_read ? "inbox.mark_unread" : "inbox.mark_read");
    return (
        <PostRow
            post={item}
            class={item.is_deleted ? "deleted" : unread ? "unread" : mine ? "" : "read"}
            state={item.is_deleted ? t("inbox.item_deleted") : unread ? t("inbox.item_unread") : ""}
            notice={item.is_deleted ? item.notice : null}
            foot={item.is_deleted || stats === null ? null : <Stats stats={stats} />}
            marks={
                mark && !item.is_deleted ? (
                    <button
                        type="button"
                        class="quiet mark"
                        data-mark
                        title={label}
                        aria-label={`${label}: ${item.title}`}
                        onClick={() => mark(!item.is_read)}
                    >
                        <Icon name={item.is_read ? "eye" : "check"} />
                    </button>
                ) : null
            }
        />
    );
}
