import { t } from "../i18n";

export function ProfilePage() {
    return <h1>{t("profile.title")}</h1>;
}
