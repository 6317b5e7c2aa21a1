import { t } from "../i18n";

export function HotPage() {
    return <h1>{t("nav.hot")}</h1>;
}
