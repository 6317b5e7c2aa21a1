// /docs in a real browser: examples name the address that the page came from, calls are tried with a token, and what an
// answer holds stays text. And the first screen of docs/INTEGRATE.md, as it stands there.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { createServer, request } from "node:http";
import { test } from "node:test";
import { stage } from "./support/stage.mjs";
import { eventually, until } from "./support/browser.mjs";

const { server, users, window } = stage();
const require = createRequire(new URL("../../web/package.json", import.meta.url));
const axe = readFileSync(require.resolve("axe-core/axe.min.js"), "utf8");

async function openDocs(how) {
    const { page } = await window(how);
    await page.goto(`${server.origin}/docs`);
    await page.locator("#try-token").waitFor();
    return page;
}

/** The form of a call, opened. */
async function form(page, operation) {
    const article = page.locator(`article[aria-labelledby="${operation}"]`);
    await article.locator("details.try > summary").click();
    await article.locator(".form button").first().waitFor();
    return article.locator("details.try");
}

test("examples name the address that the page came from", async () => {
    const page = await openDocs();
    const example = await page.locator('article[aria-labelledby="getBadge"] pre').first().textContent();
    assert.ok(example.includes(`"${server.origin}/v1/inbox/badge"`), example);
    assert.ok(!(await page.locator("main").textContent()).includes("127.0.0.1:8080"));
});

test("a call is made with the token, and its answer shown", async () => {
    const [reader, author] = users(2);
    await server.follow(reader, author);
    await server.publish(author, "Tried");
    const page = await openDocs();
    const badge = await form(page, "getBadge");
    await badge.getByRole("button", { name: "Send GET" }).click();
    await until(async () => (await badge.locator("pre").textContent()).startsWith("401"), "a refusal without a token");
    await page.fill("#try-token", server.token(reader));
    await badge.getByRole("button", { name: "Send GET" }).click();
    await until(async () => (await badge.locator("pre").textContent()).includes('"total": 1'), "the badge");
    assert.deepEqual(await page.evaluate(() => [localStorage.length, sessionStorage.length, document.cookie]), [0, 0, ""]);
});

test("path, query and body come from the fields, and what comes back is text", async () => {
    const [author] = users(1);
    const page = await openDocs();
    await page.fill("#try-token", server.token(author));
    const publish = await form(page, "publish");
    const title = "<img src=x onerror=alert(1)>";
    await publish.getByLabel("body", { exact: true }).fill(JSON.stringify({ kind: "note", title }));
    await publish.getByRole("button", { name: "Send POST" }).click();
    const made = await until(async () => /^201[^]*"id": (\d+)/.exec(await publish.locator("pre").textContent())?.[1], "the post");
    assert.equal(await publish.locator("pre img").count(), 0);

    const get = await form(page, "getPost");
    await get.getByLabel(/^post_id/).fill(made);
    await get.getByRole("button", { name: "Send GET" }).click();
    await until(async () => (await get.locator("pre").textContent()).includes(title), "the same post");
});

test("a stream is shown while it comes, and can be stopped", async () => {
    const [reader, author] = users(2);
    await server.follow(reader, author);
    const page = await openDocs();
    await page.fill("#try-token", server.token(reader));
    const stream = await form(page, "stream");
    await stream.getByRole("button", { name: "Send GET" }).click();
    await until(async () => (await stream.locator("pre").textContent()).includes('{"total":0}'), "the first badge");
    await server.publish(author, "Live");
    await until(async () => (await stream.locator("pre").textContent()).includes('{"total":1}'), "the next badge");
    await stream.getByRole("button", { name: "Stop" }).click();
    await until(async () => (await stream.locator("pre").textContent()).includes("Stopped."), "the end");
});

for (const colorScheme of ["light", "dark"])
    test(`axe finds nothing, ${colorScheme}`, async () => {
        const page = await openDocs({ colorScheme });
        await form(page, "publish");
        await page.evaluate(axe);
        const { violations } = await page.evaluate(() => window.axe.run({ resultTypes: ["violations"] }));
        assert.deepEqual(violations.map((one) => `${one.id}: ${one.nodes[0].html.slice(0, 200)}`), []);
    });

/** A front of the application's own: its page, its route for tokens, and the rest from the server. */
async function applicationWith(html, token) {
    const front = createServer((asked, answer) => {
        if (asked.url === "/") return answer.setHeader("Content-Type", "text/html; charset=utf-8").end(`<!doctype html>${html}`);
        if (asked.url === "/my/tidings-token") return answer.end(token);
        const { method, headers, url: path } = asked;
        const passed = request({ host: "127.0.0.1", port: server.port, method, headers, path }, (from) => {
            answer.writeHead(from.statusCode, from.headers);
            from.pipe(answer);
        });
        answer.on("close", () => passed.destroy());
        asked.pipe(passed);
    });
    await new Promise((done) => front.listen(0, "127.0.0.1", done));
    return front;
}

test("the first screen of INTEGRATE.md has a badge, a list, and is live", async () => {
    const text = readFileSync(new URL("../../docs/INTEGRATE.md", import.meta.url), "utf8");
    const [, html] = /^```html\n([^]*?)^```$/m.exec(text);
    const [reader, author] = users(2);
    await server.name(author, "Ann");
    await server.follow(reader, author);
    await server.publish(author, "First <b>post</b>");
    const front = await applicationWith(html, server.token(reader));
    try {
        const { page } = await window();
        const rows = () => page.locator("#list li").allTextContents();
        const badge = () => page.locator("#badge").textContent();
        await page.goto(`http://127.0.0.1:${front.address().port}/`);
        await eventually(rows, ["● Ann: First <b>post</b>"]);
        await eventually(badge, "1");
        await server.publish(author, "Second");
        await eventually(rows, ["● Ann: Second", "● Ann: First <b>post</b>"]);
        await eventually(badge, "2");
        await page.locator("#list li").first().click();
        await eventually(rows, ["Ann: Second", "● Ann: First <b>post</b>"]);
        await eventually(badge, "1");
    } finally {
        front.close();
        front.closeAllConnections();
    }
});
