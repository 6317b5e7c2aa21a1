import { render } from "preact";
import { startBell } from "./notifications/bell";
import { App } from "./shell/App";
import { startKeys } from "./shell/keys";
import { startLive } from "./state/live";
import { signInByLink } from "./state/session";
import "./style.css";

signInByLink();
addEventListener("hashchange", signInByLink);
startLive();
startBell();
startKeys();

const root = document.getElementById("app");
if (root) render(<App />, root);
