/** The authors, with what is unread of each: a choice of one, or of all. Of many authors one is searched for by name. */
import { useEffect, useRef, useState } from "preact/hooks";
import type { UnreadRow } from "../api/types";
import { t } from "../i18n";
import { Badge } from "../ui/bits";
import { nameOf } from "../ui/format";
import { hasPrefix } from "../ui/search";

/** So many are still seen at a glance. */
const FEW = 20;
/** Of more than that, these are chips, those with most unread; the others are in the list. */
const FIRST = 6;
/** Rows of the list; whoever follows thousands types a few letters. */
const LISTED = 100;

interface Props {
    rows: UnreadRow[];
    chosen: number;
    choose: (id: number) => void;
}

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

function AuthorChip({ row, chosen, choose }: Omit<Props, "rows"> & { row: UnreadRow }) {
    return (
        <Chip
            id={row.user_id}
            chosen={row.user_id === chosen}
            choose={() => choose(row.user_id === chosen ? 0 : row.user_id)}
            name={nameOf(row.name, row.user_id)}
            n={row.unread}
            {...(row.following ? {} : { hint: t("inbox.not_followed") })}
        />
    );
}

function AuthorList({ rows, chosen, choose }: Props) {
    const [open, setOpen] = useState(false);
    const [typed, setTyped] = useState("");
    const field = useRef<HTMLInputElement>(null);
    useEffect(() => {
        if (open) field.current?.focus();
    }, [open]);
    const found = rows.filter((row) => hasPrefix(nameOf(row.name, row.user_id), typed));
    const take = (id: number) => {
        choose(id);
        setTyped("");
        setOpen(false);
    };
    return (
        <details
            class="authors"
            open={open}
            onToggle={(event) => setOpen(event.currentTarget.open)}
            onKeyDown={(event) => event.key === "Escape" && setOpen(false)}
        >
            <summary class="button">{t("inbox.all_authors", { n: rows.length })}</summary>
            {open ? (
                <div class="authors-panel">
                    <label class="unseen" for="author-search">
                        {t("people.search")}
                    </label>
                    <input
                        id="author-search"
                        ref={field}
                        type="search"
                        placeholder={t("people.search")}
                        autocomplete="off"
                        value={typed}
                        onInput={(event) => setTyped(event.currentTarget.value)}
                    />
                    <ul aria-label={t("inbox.authors")}>
                        {found.slice(0, LISTED).map((row) => (
                            <li key={row.user_id}>
                                <AuthorChip row={row} chosen={chosen} choose={take} />
                            </li>
                        ))}
                    </ul>
                    <p class="hint" role="status">
                        {found.length > LISTED ? t("people.more", { n: found.length - LISTED }) : ""}
                        {found.length ? "" : t("people.none_found")}
                    </p>
                </div>
            ) : null}
        </details>
    );
}

export function Chips({ rows, chosen, choose }: Props) {
    const waiting = rows.filter((row) => row.unread > 0);
    const sorted = [...waiting, ...rows.filter((row) => row.unread === 0)];
    const isMany = sorted.length > FEW;
    const shown = isMany ? sorted.filter((row, i) => i < FIRST || row.user_id === chosen) : sorted;
    if (!sorted.length) return null;
    return (
        <div class="authors-bar">
            <div class="chips" role="group" aria-label={t("inbox.authors")}>
                <Chip id={0} chosen={!chosen} choose={() => choose(0)} name={t("inbox.everybody")} n={0} />
                {shown.map((row) => <AuthorChip key={row.user_id} row={row} chosen={chosen} choose={choose} />)}
            </div>
            {isMany ? <AuthorList rows={sorted} chosen={chosen} choose={choose} /> : null}
        </div>
    );
}
