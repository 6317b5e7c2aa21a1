/** For administrators: how the server is doing, what happens, webhooks, verify and backup. */
import type { ComponentType } from "preact";
import { type Key, t } from "../i18n";
import { place } from "../state/router";
import { isAdmin } from "../state/session";
import { Empty } from "../ui/bits";
import { Power } from "../ui/Power";
import { CarePart } from "./CarePart";
import { ChartsPart } from "./ChartsPart";
import { EventsPart } from "./EventsPart";
import { WebhooksPart } from "./WebhooksPart";
import "uplot/dist/uPlot.min.css";
import "./operator.css";

const parts: { word: string; label: Key; lead?: Key; component: ComponentType }[] = [
    { word: "charts", label: "operator.charts", component: ChartsPart },
    { word: "events", label: "operator.events", lead: "operator.events_lead", component: EventsPart },
    { word: "webhooks", label: "operator.webhooks", lead: "operator.webhooks_lead", component: WebhooksPart },
    { word: "care", label: "operator.care", component: CarePart },
];

export function OperatorPage() {
    const word = place.value.path[1] ?? "charts";
    const part = parts.find((one) => one.word === word) ?? parts[0];
    if (!isAdmin.value || !part)
        return (
            <>
                <h1>{t("nav.operator")}</h1>
                <Empty>{t("operator.denied")}</Empty>
            </>
        );
    return (
        <div class="operator">
            <h1>
                {t("nav.operator")} <Power of="admin" />
            </h1>
            <nav class="parts" aria-label={t("operator.parts")}>
                {parts.map((one) => (
                    <a key={one.word} href={`#/operator/${one.word}`} aria-current={one === part ? "page" : undefined}>
                        {t(one.label)}
                    </a>
                ))}
            </nav>
            <h2 class="unseen">{t(part.label)}</h2>
            {part.lead ? <p class="lead">{t(part.lead)}</p> : null}
            <part.component />
        </div>
    );
}
