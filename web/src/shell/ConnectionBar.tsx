import { t } from "../i18n";
import { connection, hasNetwork } from "../state/live";

/** Says it when the stream is broken; always there, so that a screen reader notices. */
export function ConnectionBar() {
    const offline = connection.value === "offline";
    return (
        <div class={offline ? "connection offline" : "connection"} role="status" data-connection={connection.value}>
            {offline ? t(hasNetwork.value ? "connection.offline" : "connection.no_network") : ""}
        </div>
    );
}
