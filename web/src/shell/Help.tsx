import { useEffect, useRef } from "preact/hooks";
import { t } from "../i18n";
import { helpIsOpen } from "./keys";

export function Help() {
    const dialog = useRef<HTMLDialogElement>(null);
    const open = helpIsOpen.value;
    useEffect(() => {
        if (open && !dialog.current?.open) dialog.current?.showModal();
    }, [open]);
    const close = () => {
        helpIsOpen.value = false;
    };
    if (!open) return null;
    return (
        <dialog ref={dialog} class="help" aria-labelledby="help-title" onClose={close}>
            <h2 id="help-title">{t("help.title")}</h2>
            <dl>
                <dt>
                    <kbd>j</kbd> <kbd>k</kbd>
                </dt>
                <dd>{t("help.move")}</dd>
                <dt>
                    <kbd>o</kbd>
                </dt>
                <dd>{t("help.open")}</dd>
                <dt>
                    <kbd>m</kbd>
                </dt>
                <dd>{t("help.mark")}</dd>
                <dt>
                    <kbd>i</kbd>
                </dt>
                <dd>{t("help.inbox")}</dd>
                <dt>
                    <kbd>?</kbd>
                </dt>
                <dd>{t("help.this")}</dd>
            </dl>
            <form method="dialog">
                <button type="submit">{t("app.close")}</button>
            </form>
        </dialog>
    );
}
