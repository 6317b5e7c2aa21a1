// Debian's Chromium, and a person in front of it. Every page is watched: an error of a script, a dialog, or
// something that the Content-Security-Policy had to stop fails the test that meets it.
import assert from "node:assert/strict";
import { createRequire } from "node:module";

const require = createRequire(new URL("../../../web/package.json", import.meta.url));
const { chromium } = require("playwright-core");

const executablePath = process.env.CHROMIUM ?? "/usr/bin/chromium";
const PATIENCE_MS = 30_000;

/** Nothing but the server of the test can be reached: pictures from elsewhere just do not load. */
const args = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
];

/** Looks until it is as wanted; what it was at last is in the message. */
export async function eventually(look, want, what) {
    const end = Date.now() + PATIENCE_MS;
    for (;;) {
        const got = await look();
        try {
            return assert.deepEqual(got, want, what);
        } catch (error) {
            if (Date.now() > end) throw error;
        }
        await new Promise((done) => setTimeout(done, 40));
    }
}

/** Looks until it is so; what it was. */
export async function until(look, what) {
    const end = Date.now() + PATIENCE_MS;
    for (;;) {
        const got = await look();
        if (got) return got;
        if (Date.now() > end) throw new Error(`not in ${PATIENCE_MS} ms: ${what}`);
        await new Promise((done) => setTimeout(done, 40));
    }
}

/** A window with what a person does and sees in it. */
export class Window {
    wrong = [];

    constructor(page, server) {
        this.page = page;
        this.server = server;
        page.setDefaultTimeout(PATIENCE_MS);
        page.on("pageerror", (error) => this.wrong.push(`script error: ${error.message}`));
        page.on("dialog", (dialog) => {
            this.wrong.push(`dialog: ${dialog.message()}`);
            void dialog.dismiss();
        });
        page.on("console", (message) => {
            if (/Content.Security.Policy/i.test(message.text())) this.wrong.push(message.text());
        });
    }

    /** Pastes a token, as a person would. */
    async signIn(user, role = "user") {
        await this.page.goto(this.server.origin);
        await this.page.fill("#token", this.server.token(user, role));
        await this.page.getByRole("button", { name: /^(Sign in|登录)$/ }).click();
        await this.online();
        return this;
    }

    /** Follows the link of `serve --dev`, which signs in as its first user. */
    async enter() {
        await this.page.goto(this.server.link);
        await this.online();
        return this;
    }

    async online() {
        await this.page.waitForSelector("[data-connection=online]", { state: "attached" });
    }

    /** Another page of the console, by its address. */
    async go(hash) {
        await this.page.evaluate((to) => {
            location.hash = to;
        }, hash);
    }

    badge(word = "inbox") {
        const number = this.page.locator(`[data-nav=${word}] .badge > [aria-hidden]`);
        return number.textContent({ timeout: 200 }).then(Number, () => 0);
    }

    chip(author) {
        const number = this.page.locator(`.chip[data-author="${author}"] .badge > [aria-hidden]`);
        return number.textContent({ timeout: 200 }).then(Number, () => 0);
    }

    row(post) {
        return this.page.locator(`main [data-row][data-post="${post}"]`);
    }

    /** Unread, read, deleted. */
    async rowState(post) {
        const classes = (await this.row(post).getAttribute("class", { timeout: 200 }).catch(() => "")) ?? "";
        return ["unread", "read", "deleted"].find((one) => classes.split(" ").includes(one)) ?? "";
    }

    async sees(text) {
        await this.page.getByText(text).first().waitFor();
    }

    async confirm() {
        await this.page.locator("dialog [data-yes]").click();
    }

    async fits() {
        return this.page.evaluate(() => document.documentElement.scrollWidth <= innerWidth);
    }
}

export class Browser {
    #browser;
    #windows = [];

    static async launch() {
        const made = new Browser();
        // With a new, empty profile, which goes with it.
        made.#browser = await chromium.launch({ executablePath, args, headless: true });
        return made;
    }

    /** A window of a person's own: nothing is shared with other windows. */
    async window(server, options = {}) {
        const context = await this.#browser.newContext({
            viewport: { width: 1200, height: 800 },
            locale: "en-GB",
            reducedMotion: "reduce",
            ...options,
        });
        const made = new Window(await context.newPage(), server);
        this.#windows.push(made);
        return made;
    }

    /** After every test: nothing went wrong in any window. Closes them. */
    async finish() {
        const windows = this.#windows.splice(0);
        const wrong = windows.flatMap((one) => one.wrong);
        for (const one of windows) await one.page.context().close();
        assert.deepEqual(wrong, []);
    }

    async close() {
        await this.#browser?.close();
    }
}
