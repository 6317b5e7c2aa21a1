import { t } from "../i18n";

export function PeoplePage() {
    return <h1>{t("people.following")}</h1>;
}
