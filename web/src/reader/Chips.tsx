/** The authors, with what is unread of each: a choice of one, or of all. */
import { useState } from "preact/hooks";
import type { UnreadRow } from "../api/types";
import { t } from "../i18n";
import { Badge } from "../ui/bits";
import { nameOf } from "../ui/format";

/** Somebody may follow thousands. */
const FIRST = 30;

function Chip(props: { id: number; chosen: boolean; choose: () => void; name: string; n: number; hint?: string }) {
    return (
        <button
            type="button"
            class="chip"
            aria-pressed={props.chosen}
            data-author={props.id}
            title={props.hint}
            onClick={props.choose}
        >
            {props.name} <Badge n={props.n} label={t("inbox.unread", { n: props.n })} />
        </button>
    );
}

export function Chips(props: { rows: UnreadRow[]; chosen: number; choose: (id: number) => void }) {
    const [all, setAll] = useState(false);
    const waiting = props.rows.filter((row) => row.unread > 0);
    const sorted = [...waiting, ...props.rows.filter((row) => row.unread === 0)];
    const shown = all ? sorted : sorted.filter((row, i) => i < FIRST || row.user_id === props.chosen);
    if (!sorted.length) return null;
    return (
        <div class="chips" role="group" aria-label={t("inbox.authors")}>
            <Chip id={0} chosen={!props.chosen} choose={() => props.choose(0)} name={t("inbox.everybody")} n={0} />
            {shown.map((row) => (
                <Chip
                    key={row.user_id}
                    id={row.user_id}
                    chosen={row.user_id === props.chosen}
                    choose={() => props.choose(row.user_id === props.chosen ? 0 : row.user_id)}
                    name={nameOf(row.name, row.user_id)}
                    n={row.unread}
                    {...(row.following ? {} : { hint: t("inbox.not_followed") })}
                />
            ))}
            {shown.length < sorted.length ? (
                <button type="button" class="chip" onClick={() => setAll(true)}>
                    {t("app.more")} ({sorted.length - shown.length})
                </button>
            ) : null}
        </div>
    );
}
