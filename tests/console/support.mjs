/** A server with the demo community, and a browser that looks at its console. */
import { spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";

const require = createRequire(new URL("../../web/package.json", import.meta.url));
const { chromium } = require("playwright-core");

const program = process.env.TIDINGS_BIN ?? new URL("../../build/tidings", import.meta.url).pathname;
const browserPath = process.env.CHROMIUM ?? "/usr/bin/chromium";
const flags = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--no-first-run"];

/** Until it is so; what it returned. */
export async function until(happens, what, patienceMs = 20000) {
    for (const end = Date.now() + patienceMs; ; ) {
        const result = await happens();
        if (result) return result;
        if (Date.now() > end) throw new Error(`not in ${patienceMs} ms: ${what}`);
        await new Promise((go) => setTimeout(go, 25));
    }
}

class Server {
    constructor(...args) {
        this.dir = mkdtempSync(join(tmpdir(), "tidings-console-"));
        this.args = ["serve", "--dev", "--data", join(this.dir, "data"), "--access-log", "0", ...args];
    }

    async start(listen = "127.0.0.1:0") {
        this.process = spawn(program, [...this.args, "--listen", listen], { stdio: ["ignore", "pipe", "inherit"] });
        let text = "";
        this.process.stdout.on("data", (bytes) => (text += bytes));
        this.ended = new Promise((done) => this.process.on("exit", done));
        this.link = await until(() => text.match(/http:\S+#dev=\S+/)?.[0], "the link");
        this.base = this.link.split("/#")[0];
        this.tokens = new URLSearchParams(this.link.split("#")[1]);
    }

    async stop() {
        this.process.kill("SIGTERM");
        await this.ended;
    }

    /** A call of a user, or of the administrator. */
    async api(method, path, { body, user = 1, admin = false, status } = {}) {
        const headers = { Authorization: `Bearer ${this.tokens.get(admin ? "admin" : "dev")}` };
        if (!admin) headers["X-User-Id"] = String(user);
        const init = { method, headers, ...(body ? { body: JSON.stringify(body) } : {}) };
        const answer = await fetch(`${this.base}/v1${path}`, init);
        if (status ? answer.status !== status : !answer.ok) throw new Error(`${method} ${path}: ${answer.status}`);
        return answer.status === 204 ? null : answer.json();
    }

    async story(titleBegins) {
        const { items } = await this.api("GET", "/hot?kind=story");
        return items.find((row) => row.title.startsWith(titleBegins)).post_id;
    }
}

/** Runs with a fresh server and a browser; everything is gone afterwards. */
export async function withConsole(args, run) {
    const server = new Server(...args);
    const browser = await chromium.launch({ executablePath: browserPath, args: flags });
    const errors = [];
    /** A window signed in by the link; its errors fail the test. */
    const open = async (path, options = {}) => {
        const context = await browser.newContext({ locale: "en-US", reducedMotion: "reduce", ...options });
        const page = await context.newPage();
        page.setDefaultTimeout(20000);
        page.on("pageerror", (error) => errors.push(String(error)));
        page.on("console", (message) => {
            if (/Content Security Policy/.test(message.text())) errors.push(message.text());
        });
        await page.goto(server.link);
        await page.waitForSelector("main h1");
        await page.goto(`${server.base}/#/${path}`);
        return page;
    };
    try {
        await server.start();
        await run({ server, open });
        if (errors.length) throw new Error(errors.join("\n"));
    } finally {
        await browser.close();
        await server.stop();
        rmSync(server.dir, { recursive: true });
    }
}
