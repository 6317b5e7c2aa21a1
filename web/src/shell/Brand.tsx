import { t } from "../i18n";

export function Brand() {
    return (
        <span class="brand">
            <svg viewBox="0 0 32 32" aria-hidden="true">
                <path d="M5 20c3.5 0 3.5-4 7-4s3.5 4 7 4 3.5-4 8-4" />
                <circle cx="22.5" cy="9.5" r="3.5" />
            </svg>
            {t("app.name")}
        </span>
    );
}
