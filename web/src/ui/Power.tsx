/** Marks what one may do only because of the token that the console holds, not because of who one is. */
import { t } from "../i18n";
import { Icon } from "./Icon";

export function Power({ of, short = false }: { of: "service" | "admin"; short?: boolean }) {
    const label = t(`power.${of}`);
    return (
        <span class="power" title={t(`power.${of}_hint`)} data-power={of}>
            <Icon name="key" />
            <span class={short ? "unseen" : ""}>{label}</span>
        </span>
    );
}
