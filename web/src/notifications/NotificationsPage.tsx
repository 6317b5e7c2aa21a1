import { t } from "../i18n";

export function NotificationsPage() {
    return <h1>{t("nav.notifications")}</h1>;
}
