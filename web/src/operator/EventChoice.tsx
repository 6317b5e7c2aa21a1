/** What a webhook is told of: the scenes of stories, or events of the types that are ticked. */
import { t } from "../i18n";
import { Choices } from "../ui/bits";
import { type EventType, eventTypes } from "./eventTypes";

export interface Told {
    of: "scenes" | "events";
    types: EventType[];
}

export function toldOf(events: EventType[] | null): Told {
    return { of: events ? "events" : "scenes", types: events ?? [] };
}

function Types({ types, change }: { types: EventType[]; change: (types: EventType[]) => void }) {
    return (
        <fieldset class="event-types">
            <legend class="unseen">{t("hook.types")}</legend>
            {eventTypes.map((type) => (
                <label key={type}>
                    <input
                        type="checkbox"
                        name="event-type"
                        value={type}
                        checked={types.includes(type)}
                        onChange={(event) =>
                            change(event.currentTarget.checked ? [...types, type] : types.filter((one) => one !== type))}
                    />
                    <code>{type}</code>
                </label>
            ))}
        </fieldset>
    );
}

export function EventChoice({ told, change }: { told: Told; change: (told: Told) => void }) {
    return (
        <>
            <span class="field-label" aria-hidden="true">
                {t("hook.told")}
            </span>
            <Choices<Told["of"]>
                legend={t("hook.told")}
                name="hook-told"
                choices={[
                    { value: "scenes", label: t("hook.told_scenes") },
                    { value: "events", label: t("hook.told_events") },
                ]}
                value={told.of}
                change={(of) => change({ ...told, of })}
            />
            <p class="hint">{t(told.of === "scenes" ? "hook.told_scenes_hint" : "hook.told_events_hint")}</p>
            {told.of === "events" ? <Types types={told.types} change={(types) => change({ ...told, types })} /> : null}
        </>
    );
}
