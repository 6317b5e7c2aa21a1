import { t } from "../i18n";

export function SavedPage() {
    return <h1>{t("nav.saved")}</h1>;
}
