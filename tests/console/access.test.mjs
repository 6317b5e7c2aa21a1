// axe-core looks at every page, light and dark, on a phone and in a wide window: it finds no fault.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { test } from "node:test";
import { stage } from "./support/stage.mjs";

const require = createRequire(new URL("../../web/package.json", import.meta.url));
const axe = readFileSync(require.resolve("axe-core/axe.min.js"), "utf8");

const [admin, reader, ann, ben] = [1, 2, 3, 4];
const made = {};
const { server, open, window: fresh } = stage({ prepare });

async function prepare(server) {
    await server.name(admin, "Ada");
    await server.name(reader, "Robin");
    await server.name(ann, "Ann");
    for (const author of [ann, ben]) await server.follow(reader, author);
    await server.follow(ann, reader);
    for (let i = 0; i < 3; i++) made.post = (await server.publish(i % 2 ? ben : ann, `Post ${i}`, "Text. ".repeat(60), "activity")).id;
    made.gone = (await server.publish(ann, "Gone", "Text.")).id;
    await server.call(ann, "DELETE", `/v1/posts/${made.gone}`);
    const comment = await server.comment(ann, made.post, "A comment. [img]javascript:x[/img]");
    await server.comment(ben, made.post, "An answer", comment.id);
    const folded = await server.comment(ben, made.post, "Folded");
    for (const voter of [reader, ann, admin]) await server.call(voter, "PUT", `/v1/comments/${folded.id}/downvote`);
    await server.call(reader, "PUT", `/v1/posts/${made.post}/like`);
    made.story = (await server.publish(ann, "A story", "It begins.", "story")).id;
    await server.call(reader, "PUT", `/v1/stories/${made.story}/subscription`);
    for (const n of [1, 2]) await server.scene(ann, made.story, `Scene ${n}`, ["One.", "Two.", "Three."]);
    await server.call(admin, "PUT", "/v1/admin/webhooks/gateway", { url: "https://example.org/", secret: "sixteen letters at least" }, "admin");
}

/** In the dark only colours differ: the rules that look at them are enough. */
const ofColours = { type: "rule", values: ["color-contrast", "link-in-text-block"] };

async function faults(window, where, scheme = "light") {
    if (!(await window.page.evaluate(() => "axe" in window))) await window.page.evaluate(axe);
    const rules = { "target-size": { enabled: true } }; // which it leaves out unless told
    const options = { resultTypes: ["violations"], ...(scheme === "dark" ? { runOnly: ofColours } : { rules }) };
    const { violations } = await window.page.evaluate((how) => window.axe.run(how), options);
    return violations.map((one) => `${where}: ${one.id}: ${one.nodes.slice(0, 3).map((node) => `${node.html.slice(0, 160)} ${node.failureSummary}`)}`);
}

/** What each page shows when it is all there. */
const places = () => [
    ["#/inbox", "main [data-row].deleted"],
    [`#/post/${made.post}`, ".comment .folded"],
    [`#/post/${made.gone}`, "article.deleted"],
    [`#/user/${ann}`, "main [data-row]"],
    [`#/following/${reader}`, "main .row"],
    ["#/hot/activity", "main [data-row]"],
    ["#/history", "main [data-row]"],
    ["#/saved", "main [data-row]"],
    ["#/write", "#write-title"],
    ["#/profile", "#profile-name"],
    ["#/stories", "main [data-row]"],
    [`#/story/${made.story}`, "[data-read-on]"],
    ["#/notifications", "main [data-row]"],
    ["#/nowhere", "main h1"],
];

const operator = [
    ["#/operator/charts", ".chart canvas"],
    ["#/operator/events", "tbody tr"],
    ["#/operator/webhooks", "li.card"],
    ["#/operator/care", "#backup-name"],
];

async function lookAt(window, list, scheme) {
    const found = [];
    for (const [place, mark] of list) {
        await window.go(place);
        await window.page.locator(mark).first().waitFor();
        found.push(...(await faults(window, place, scheme)));
    }
    return found;
}

for (const colorScheme of ["light", "dark"]) {
    test(`the reader's pages, ${colorScheme}`, async () => {
        const window = await open(reader, { colorScheme });
        const found = await lookAt(window, places(), colorScheme);
        await window.page.keyboard.press("?");
        await window.page.waitForSelector("dialog.help[open]");
        found.push(...(await faults(window, "help", colorScheme)));
        assert.deepEqual(found, []);
    });

    test(`a wide window, ${colorScheme}`, async () => {
        const window = await open(reader, { viewport: { width: 1920, height: 1080 }, colorScheme });
        assert.deepEqual(await lookAt(window, places(), colorScheme), []);
    });

    test(`the operator's pages, ${colorScheme}`, async () => {
        const window = await open(admin, { colorScheme, role: "admin" });
        assert.deepEqual(await lookAt(window, operator, colorScheme), []);
    });

    test(`signing in, and a phone, ${colorScheme}`, async () => {
        const phone = { viewport: { width: 360, height: 740 }, colorScheme, locale: "zh-CN" };
        const window = await fresh(phone);
        await window.page.goto(server.origin);
        await window.page.waitForSelector("#token");
        const found = await faults(window, "sign in", colorScheme);
        await window.signIn(reader);
        found.push(...(await lookAt(window, places().slice(0, 2), colorScheme)));
        await window.page.locator("button.more").click();
        found.push(...(await faults(window, "more", colorScheme)));
        assert.deepEqual(found, []);
    });
}

test("axe does see a fault where there is one", async () => {
    const window = await open(reader);
    await window.page.evaluate(() => document.querySelector("main").append(document.createElement("button")));
    assert.match(String(await faults(window, "here")), /button-name/);
});
