import { t } from "../i18n";

export function StoriesPage() {
    return <h1>{t("nav.stories")}</h1>;
}
