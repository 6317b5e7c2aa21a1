import { t } from "../i18n";

export function PostPage() {
    return <h1>{t("post.title")}</h1>;
}
