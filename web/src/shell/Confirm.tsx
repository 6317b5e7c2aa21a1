import { useEffect, useRef } from "preact/hooks";
import { t } from "../i18n";
import { question } from "../state/confirm";

export function Confirm() {
    const dialog = useRef<HTMLDialogElement>(null);
    const asked = question.value;
    useEffect(() => {
        if (asked && !dialog.current?.open) dialog.current?.showModal();
    }, [asked]);
    if (!asked) return null;
    return (
        <dialog
            ref={dialog}
            class="confirm"
            aria-labelledby="confirm-text"
            onClose={() => asked.answer(dialog.current?.returnValue === "yes")}
        >
            <form method="dialog">
                <p id="confirm-text">{asked.text}</p>
                <p class="buttons">
                    <button type="submit" value="no">
                        {t("app.cancel")}
                    </button>
                    <button type="submit" value="yes" class="danger" data-yes>
                        {asked.yes}
                    </button>
                </p>
            </form>
        </dialog>
    );
}
