/** Webhooks: what they are, how they do, and changing them. Secrets go in and never come out. */
import { useState } from "preact/hooks";
import { call } from "../api/client";
import type { Webhook } from "../api/types";
import { t } from "../i18n";
import { confirm } from "../state/confirm";
import { complain, explain, say } from "../state/toasts";
import { Empty, Failed, Loading, Time } from "../ui/bits";
import { fullTime, number } from "../ui/format";
import { Icon } from "../ui/Icon";
import { usePoll } from "./usePoll";
import { WebhookForm } from "./WebhookForm";

const EVERY_MS = 3000;

function Facts({ hook }: { hook: Webhook }) {
    return (
        <dl class="facts small">
            <div class="fact flat">
                <dt>{t("hook.delivered")}</dt>
                <dd>{number(hook.delivered)}</dd>
            </div>
            <div class="fact flat">
                <dt>{t("hook.failed")}</dt>
                <dd>{number(hook.failed)}</dd>
            </div>
            <div class={hook.dead ? "fact flat bad" : "fact flat"}>
                <dt>{t("hook.dead")}</dt>
                <dd>{number(hook.dead)}</dd>
            </div>
            {hook.waiting_since === null ? null : (
                <div class="fact flat">
                    <dt>{t("hook.waiting")}</dt>
                    <dd>
                        <Time ms={hook.waiting_since} />
                    </dd>
                </div>
            )}
            {hook.attempts ? (
                <div class="fact flat">
                    <dt>{t("hook.attempts")}</dt>
                    <dd>{number(hook.attempts)}</dd>
                </div>
            ) : null}
            {hook.retry_at === null ? null : (
                <div class="fact flat">
                    <dt>{t("hook.retry_at")}</dt>
                    <dd>{fullTime(hook.retry_at)}</dd>
                </div>
            )}
        </dl>
    );
}

interface Actions {
    edit: () => void;
    retry: () => void;
    remove: () => void;
}

function Card({ hook, actions }: { hook: Webhook; actions: Actions }) {
    return (
        <li class="card">
            <div class="page-head">
                <h3>{hook.name}</h3>
                <span class={`state state-${hook.state}`}>{t(`hook.state.${hook.state}`)}</span>
            </div>
            <p class="address">{hook.url}</p>
            <p class="hint" data-told>
                {t("hook.told")}: {hook.events ? hook.events.join(", ") : t("hook.told_scenes")}
            </p>
            <Facts hook={hook} />
            {hook.last_error === null ? null : (
                <p class="hint">
                    {t("hook.last_error")}: <code>{hook.last_error}</code>
                </p>
            )}
            <div class="buttons">
                <button type="button" onClick={actions.edit}>
                    <Icon name="pen" /> {t("hook.edit")}
                </button>
                <button type="button" onClick={actions.retry}>
                    {t("hook.retry")}
                </button>
                <button type="button" class="quiet" onClick={actions.remove}>
                    <Icon name="trash" /> {t("hook.delete")}
                </button>
            </div>
        </li>
    );
}

export function WebhooksPart() {
    const [hooks, setHooks] = useState<Webhook[] | null>(null);
    const [problem, setProblem] = useState<unknown>(null);
    /** The one in the form; null: a new one. */
    const [edited, setEdited] = useState<Webhook | null>(null);

    const load = async (signal?: AbortSignal) => {
        try {
            const page = await call("get", "/v1/admin/webhooks", { admin: true, ...(signal ? { signal } : {}) });
            setHooks(page.items);
            setProblem(null);
        } catch (error) {
            if (!signal?.aborted) setProblem(error);
        }
    };
    usePoll(load, EVERY_MS);

    const act = async (run: () => Promise<unknown>, done = "") => {
        try {
            await run();
            if (done) say(done);
        } catch (error) {
            complain(error);
        }
        await load();
    };
    const remove = async (hook: Webhook) => {
        if (!(await confirm(t("hook.delete_ask", { name: hook.name }), t("hook.delete")))) return;
        await act(() => call("delete", "/v1/admin/webhooks/{name}", { path: { name: hook.name }, admin: true }));
    };
    const actionsOf = (hook: Webhook): Actions => {
        const options = { path: { name: hook.name }, admin: true };
        return {
            edit: () => setEdited(hook),
            retry: () => void act(() => call("post", "/v1/admin/webhooks/{name}/retry", options), t("hook.retried")),
            remove: () => void remove(hook),
        };
    };
    return (
        <>
            {problem ? <Failed text={explain(problem)} retry={() => void load()} /> : null}
            {!hooks && !problem ? <Loading /> : null}
            {hooks && !hooks.length ? <Empty>{t("hook.none")}</Empty> : null}
            <ul class="cards">
                {hooks?.map((hook) => <Card key={hook.name} hook={hook} actions={actionsOf(hook)} />)}
            </ul>
            <WebhookForm
                key={edited?.name ?? ""}
                hook={edited}
                close={() => {
                    setEdited(null);
                    void load();
                }}
            />
        </>
    );
}
