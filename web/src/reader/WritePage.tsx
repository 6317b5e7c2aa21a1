import { t } from "../i18n";

export function WritePage() {
    return <h1>{t("write.title")}</h1>;
}
