import { t } from "../i18n";

export function OperatorPage() {
    return <h1>{t("nav.operator")}</h1>;
}
