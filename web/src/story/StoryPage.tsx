import { t } from "../i18n";

export function StoryPage() {
    return <h1>{t("nav.stories")}</h1>;
}
