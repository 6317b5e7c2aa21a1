// The pictures of the README, from the demo community. They go to docs/images/ with TIDINGS_SCREENSHOTS=1
// (`make screenshots`); otherwise they are only taken, since no two days look the same.
import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { fileURLToPath } from "node:url";
import { eventually } from "./support/browser.mjs";
import { stage } from "./support/stage.mjs";

const keep = process.env.TIDINGS_SCREENSHOTS === "1";
const images = keep
    ? fileURLToPath(new URL("../../docs/images/", import.meta.url))
    : mkdtempSync(join(tmpdir(), "tidings-pictures-"));
mkdirSync(images, { recursive: true });
after(() => keep || rmSync(images, { recursive: true }));

const { server, window: fresh } = stage({ dev: true });

async function signedIn(options) {
    const window = await fresh(options);
    await window.page.goto(server.link);
    await window.online();
    await window.page.locator("main [data-row]").first().waitFor();
    return window;
}

/** A picture is worth nothing if it is blank: it has some colours, and therefore some size. */
async function take(window, name) {
    await window.page.evaluate(() => document.activeElement?.blur());
    await window.page.evaluate(() => document.fonts.ready.then(() => undefined));
    const bytes = await window.page.screenshot({ path: join(images, `${name}.png`) });
    assert.ok(bytes.length > 10_000, `${name} is blank`);
}

const openRow = (window, title) => window.page.locator("main [data-row]", { hasText: title }).locator("[data-open]").first().click();

test("the inbox, light and dark, and in Chinese", async () => {
    for (const colorScheme of ["light", "dark"]) await take(await signedIn({ colorScheme }), `inbox-${colorScheme}`);
    await take(await signedIn({ locale: "zh-CN" }), "inbox-zh");
});

test("a post with its comments", async () => {
    const window = await signedIn();
    await openRow(window, "Sourdough");
    await window.page.locator(".comment .folded").waitFor();
    await window.page.evaluate(() => document.querySelector(".reactions").scrollIntoView());
    await take(window, "post");
});

test("a story that is being read", async () => {
    const window = await signedIn();
    await openRow(window, "The lighthouse");
    await window.page.getByRole("link", { name: "Read the story" }).click();
    await window.page.waitForSelector("[data-read-on]");
    const read = () => window.page.locator(".bubble").count();
    await eventually(async () => {
        if ((await read()) < 7) await window.page.keyboard.press("ArrowRight");
        return read();
    }, 7);
    await take(window, "story");
});

test("a phone", async () => {
    const phone = { viewport: { width: 360, height: 740 }, isMobile: true, hasTouch: true, colorScheme: "dark" };
    await take(await signedIn(phone), "phone");
});

test("the operator's page while something happens", async () => {
    const window = await signedIn();
    await window.go("#/operator");
    await window.page.waitForSelector(".chart canvas");
    const reading = () => window.page.locator(".chart .legend strong").first().innerText();
    const token = new URLSearchParams(new URL(server.link).hash.slice(1)).get("dev");
    const someone = async () => {
        const headers = { Authorization: `Bearer ${token}`, "X-User-Id": String(1000 + Math.floor(Math.random() * 100)) };
        const follow = { method: "POST", headers, body: JSON.stringify({ user_id: 1 + Math.floor(Math.random() * 6) }) };
        await fetch(`${server.origin}/v1/relation/${Math.random() < 0.5 ? "un" : ""}follow`, follow);
        for (let i = 0; i < 9; i++) await fetch(`${server.origin}/v1/inbox`, { headers });
    };
    for (const end = Date.now() + (keep ? 60_000 : 500); Date.now() < end; )
        await Promise.all(Array.from({ length: 1 + Math.floor(Math.random() * 8) }, someone));
    await eventually(async () => /\d/.test(await reading()), true);
    await take(window, "operator");
});
