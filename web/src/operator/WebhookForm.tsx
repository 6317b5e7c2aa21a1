import { useEffect, useRef, useState } from "preact/hooks";
import { call } from "../api/client";
import type { Webhook } from "../api/types";
import { t } from "../i18n";
import { explain, say } from "../state/toasts";
import { EventChoice, toldOf } from "./EventChoice";

const SECRET_LEAST = 16;

/** Adds a webhook, or changes the one given. */
export function WebhookForm({ hook, close }: { hook: Webhook | null; close: () => void }) {
    const [name, setName] = useState("");
    const [url, setUrl] = useState(hook?.url ?? "");
    const [secret, setSecret] = useState("");
    const [disabled, setDisabled] = useState(hook?.state === "disabled");
    const [told, setTold] = useState(toldOf(hook?.events ?? null));
    const [error, setError] = useState("");
    const first = useRef<HTMLInputElement>(null);
    useEffect(() => {
        if (hook) first.current?.focus();
    }, [hook]);

    const save = async (event: Event) => {
        event.preventDefault();
        try {
            await call("put", "/v1/admin/webhooks/{name}", {
                path: { name: hook?.name ?? name.trim() },
                body: { url: url.trim(), disabled, events: told.of === "events" ? told.types : null, ...(secret ? { secret } : {}) },
                admin: true,
            });
            say(t("hook.saved"));
            setName("");
            setUrl("");
            setSecret("");
            setDisabled(false);
            setTold(toldOf(null));
            setError("");
            close();
        } catch (problem) {
            setError(explain(problem));
        }
    };
    return (
        <form class="form card" onSubmit={(event) => void save(event)}>
            <h3>{hook ? t("hook.editing", { name: hook.name }) : t("hook.add")}</h3>
            {hook ? null : (
                <>
                    <label for="hook-name">{t("hook.name")}</label>
                    <input
                        id="hook-name"
                        required
                        maxLength={64}
                        value={name}
                        onInput={(event) => setName(event.currentTarget.value)}
                    />
                </>
            )}
            <label for="hook-url">{t("hook.url")}</label>
            <input
                id="hook-url"
                ref={first}
                type="url"
                required
                maxLength={2048}
                placeholder="https://push.example.org/tidings"
                value={url}
                onInput={(event) => setUrl(event.currentTarget.value)}
            />
            <label for="hook-secret">{t("hook.secret")}</label>
            <input
                id="hook-secret"
                type="password"
                autocomplete="new-password"
                required={!hook}
                minLength={SECRET_LEAST}
                maxLength={256}
                value={secret}
                onInput={(event) => setSecret(event.currentTarget.value)}
                aria-describedby="hook-secret-hint"
            />
            <p class="hint" id="hook-secret-hint">
                {t("hook.secret_hint")} {hook ? t("hook.secret_keep") : ""}
            </p>
            <EventChoice told={told} change={setTold} />
            <label class="toggle">
                <input
                    type="checkbox"
                    checked={disabled}
                    onChange={(event) => setDisabled(event.currentTarget.checked)}
                />
                <span>{t("hook.disabled")}</span>
            </label>
            {error ? (
                <p class="field-error" role="alert">
                    {error}
                </p>
            ) : null}
            <div class="buttons">
                <button type="submit" class="primary" disabled={told.of === "events" && !told.types.length}>
                    {t("hook.save")}
                </button>
                {hook ? (
                    <button type="button" onClick={close}>
                        {t("hook.cancel")}
                    </button>
                ) : null}
            </div>
        </form>
    );
}
