/** Small things that pages are made of. */
import type { ComponentChildren } from "preact";
import { t } from "../i18n";
import { ago, fullTime, nameOf, number } from "./format";
import { safePicture } from "./pictures";

export function Time({ ms }: { ms: number }) {
    return (
        <time dateTime={new Date(ms).toISOString()} title={fullTime(ms)}>
            {ago(ms)}
        </time>
    );
}

/** A number of things that wait; nothing if there are none. */
export function Badge({ n, label }: { n: number | null; label?: string }) {
    if (!n) return null;
    return (
        <span class="badge">
            <span aria-hidden="true">{n > 999 ? "999+" : n}</span>
            <span class="unseen">{label ?? number(n)}</span>
        </span>
    );
}

export function Avatar({ id, name, url, large = false }: { id: number; name: string; url?: string; large?: boolean }) {
    const picture = url ? safePicture(url) : null;
    const letter = [...nameOf(name, id)][0] ?? "?";
    return (
        <span class={`avatar hue-${id % 8}${large ? " large" : ""}`} aria-hidden="true">
            {picture ? <img src={picture} alt="" loading="lazy" referrerpolicy="no-referrer" /> : letter}
        </span>
    );
}

export function UserLink({ id, name }: { id: number; name: string }) {
    return (
        <a class="user" href={`#/user/${id}`}>
            {nameOf(name, id)}
        </a>
    );
}

export interface Choice<T extends string> {
    value: T;
    label: string;
}

/** One of a few: a group of radio buttons that looks like a switch. */
export function Choices<T extends string>(props: {
    legend: string;
    name: string;
    choices: Choice<T>[];
    value: T;
    change: (value: T) => void;
}) {
    return (
        <fieldset class="choices">
            <legend class="unseen">{props.legend}</legend>
            {props.choices.map((choice) => (
                <label key={choice.value}>
                    <input
                        type="radio"
                        name={props.name}
                        value={choice.value}
                        checked={choice.value === props.value}
                        onChange={() => props.change(choice.value)}
                    />
                    <span>{choice.label}</span>
                </label>
            ))}
        </fieldset>
    );
}

export function Empty({ children }: { children: ComponentChildren }) {
    return <p class="empty">{children}</p>;
}

/** A call failed where a page or a list should be. */
export function Failed({ text, retry }: { text: string; retry: () => void }) {
    return (
        <div class="failed" role="alert">
            <p>{text}</p>
            <button type="button" onClick={retry}>
                {t("app.retry")}
            </button>
        </div>
    );
}

export function Loading() {
    return (
        <p class="loading" role="status">
            {t("app.loading")}
        </p>
    );
}
