import { t } from "../i18n";

export function InboxPage() {
    return <h1>{t("nav.inbox")}</h1>;
}
