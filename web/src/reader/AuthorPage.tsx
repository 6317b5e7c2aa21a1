import { t } from "../i18n";

export function AuthorPage() {
    return <h1>{t("author.title")}</h1>;
}
