import { t } from "../i18n";

export function HistoryPage() {
    return <h1>{t("nav.history")}</h1>;
}
