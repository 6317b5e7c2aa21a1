/** Back to where one came from; whoever came from outside goes to a page that is named. */
import { t } from "../i18n";
import { goBack, origin } from "../state/router";
import { Icon } from "./Icon";

export function Back({ otherwise }: { otherwise: { address: string; label: string } }) {
    const from = origin.value;
    return (
        <p class="back">
            <a
                href={from?.address ?? otherwise.address}
                class="button quiet"
                data-back
                onClick={(event) => {
                    // Another tab is the browser's business; here the entry before is the place itself, as it was left.
                    if (event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
                    event.preventDefault();
                    goBack(otherwise.address);
                }}
            >
                <Icon name="back" /> {from ? t(from.title) : otherwise.label}
            </a>
        </p>
    );
}
