import { render } from "preact";
import { App } from "./shell/App";
import { startKeys } from "./shell/keys";
import { startLive } from "./state/live";
import { refreshPlace } from "./state/router";
import { signInByLink } from "./state/session";
import "./style.css";

/** Before anything reads the address: it may hold tokens. */
function enter(): void {
    signInByLink();
    refreshPlace();
}

enter();
addEventListener("hashchange", enter);
startLive();
startKeys();

const root = document.getElementById("app");
if (root) render(<App />, root);
