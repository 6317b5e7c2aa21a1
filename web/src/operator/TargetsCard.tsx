/** All that events are told to, webhooks among them: how far each is, and what is wrong. */
import type { Target } from "../api/types";
import { type Key, t } from "../i18n";
import { number } from "../ui/format";
import { duration } from "./units";

/** What it is at, if it gets on. */
function stateOf(target: Target): Key {
    if (target.state !== "ok") return `hook.state.${target.state}`;
    if (target.rebuilding) return "target.rebuilding";
    return target.reconciling ? "target.reconciling" : "hook.state.ok";
}

function TargetRow({ target }: { target: Target }) {
    return (
        <tr data-target={target.name}>
            <td>{target.name}</td>
            <td>
                <span class={`state state-${target.state}`}>{t(stateOf(target))}</span>
            </td>
            <td class="number">{target.lag_ms ? duration(target.lag_ms) : t("target.no_lag")}</td>
            <td class={target.dead ? "number bad" : "number"}>{number(target.dead)}</td>
            <td>{target.trouble ? <code>{target.trouble}</code> : null}</td>
        </tr>
    );
}

export function TargetsCard({ targets }: { targets: Target[] }) {
    return (
        <section class="shared">
            <h3>{t("target.title")}</h3>
            <p class="hint">{t("target.hint")}</p>
            <div class="table">
                <table>
                    <thead>
                        <tr>
                            <th scope="col">{t("target.name")}</th>
                            <th scope="col">{t("target.state")}</th>
                            <th scope="col" class="number">
                                {t("target.lag")}
                            </th>
                            <th scope="col" class="number">
                                {t("target.dead")}
                            </th>
                            <th scope="col">{t("target.trouble")}</th>
                        </tr>
                    </thead>
                    <tbody>
                        {targets.map((target) => (
                            <TargetRow key={target.name} target={target} />
                        ))}
                    </tbody>
                </table>
            </div>
        </section>
    );
}
