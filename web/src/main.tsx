import { render } from "preact";
import { startBell } from "./notifications/bell";
import { App } from "./shell/App";
import { startKeys } from "./shell/keys";
import { startInbox } from "./state/inbox";
import { startLive } from "./state/live";
import { refreshPlace } from "./state/router";
import { signInByLink } from "./state/session";
import "./style/base.css";
import "./style/frame.css";
import "./style/parts.css";
import "./style/reader.css";
import "./style/narrow.css";
import "./style/wide.css";

/** Before anything reads the address: it may hold tokens. */
function enter(): void {
    signInByLink();
    refreshPlace();
}

enter();
addEventListener("hashchange", enter);
startInbox();
startLive();
startBell();
startKeys();

const root = document.getElementById("app");
if (root) render(<App />, root);
