import { t } from "../i18n";
import { dismiss, toasts, untold } from "../state/toasts";
import { Icon } from "../ui/Icon";

export function Toasts() {
    return (
        <div class="toasts" role="status" aria-live="polite">
            {toasts.value.map((toast) => (
                <div key={toast.id} class={`toast ${toast.kind}`}>
                    <p title={toast.text}>{toast.text}</p>
                    {toast.action ? (
                        <button
                            type="button"
                            onClick={() => {
                                dismiss(toast.id);
                                toast.action?.run();
                            }}
                        >
                            {toast.action.label}
                        </button>
                    ) : null}
                    <button type="button" class="quiet" aria-label={t("app.close")} onClick={() => dismiss(toast.id)}>
                        <Icon name="close" />
                    </button>
                </div>
            ))}
            {untold.value ? <p class="toast more">{t("toast.more", { n: untold.value })}</p> : null}
        </div>
    );
}
