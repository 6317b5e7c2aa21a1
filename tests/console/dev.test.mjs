// `serve --dev`: the link that it prints, and walking about as whoever one likes.
import assert from "node:assert/strict";
import { test } from "node:test";
import { eventually } from "./support/browser.mjs";
import { stage } from "./support/stage.mjs";

const { server, window: fresh } = stage({ dev: true });

test("the link signs in, hides its tokens, and one may act as another", async () => {
    const window = await fresh();
    await window.page.goto(server.link);
    await window.online();
    const who = () => window.page.locator(".who strong").innerText();
    await eventually(who, "Robin");
    assert.doesNotMatch(window.page.url(), /dev=|ey/, "no token in the address");
    assert.equal(await window.page.evaluate(() => history.length), 2, "nor in the history");

    await window.page.selectOption("#act-as", { label: "Ann" });
    await eventually(who, "Ann");
    await window.online();

    // A second window, as Robin: what Ann writes here comes there.
    const robin = await fresh();
    await robin.page.goto(server.link);
    await robin.online();
    await robin.row(await newest(robin)).waitFor();
    const before = await robin.badge();
    await window.page.click("[data-nav=write]");
    await window.page.fill("#write-title", "Hello from Ann");
    await window.page.getByRole("button", { name: "Publish" }).click();
    await eventually(() => robin.badge(), before + 1);
    await robin.sees("Hello from Ann");

    await window.page.locator("details summary", { hasText: "Another user id" }).click();
    await window.page.fill("#act-as-id", "4242");
    await window.page.getByRole("button", { name: "Switch" }).click();
    await eventually(who, "User 4242");
    await eventually(() => window.badge(), 0);
});

test("what is possible only by a token of a service or an administrator is marked so", async () => {
    const window = await fresh();
    await window.page.goto(server.link);
    await window.online();
    const { id } = await server.publish(2, "Of Ann");
    await server.comment(1, id, "By Robin");
    await server.comment(2, id, "By Ann");
    await window.go(`#/post/${id}`);
    const power = (button) => button.locator("[data-power]").evaluateAll((all) => all.map((one) => one.dataset.power));
    const comment = (text) => window.page.locator(".comment", { hasText: text });
    await comment("By Ann").waitFor();
    assert.deepEqual(await power(window.page.getByRole("button", { name: "Delete this post admin token" })), ["admin"]);
    assert.deepEqual(await power(comment("By Ann").getByRole("button", { name: "Delete this comment" })), ["admin"]);
    assert.deepEqual(await power(comment("By Ann").getByRole("button", { name: "Hide" })), ["admin"]);
    assert.deepEqual(await power(comment("By Robin").getByRole("button", { name: "Delete this comment" })), [], "one's own");
    assert.deepEqual(await power(window.page.locator(".switch")), ["service"]);
    await window.go("#/operator");
    assert.deepEqual(await power(window.page.locator("main h1")), ["admin"]);

    // Ann may delete what is hers by being Ann.
    await window.page.selectOption("#act-as", { label: "Ann" });
    await window.go(`#/post/${id}`);
    await comment("By Ann").waitFor();
    assert.deepEqual(await power(window.page.getByRole("button", { name: "Delete this post" })), []);
});

const newest = (window) => window.page.locator("main [data-row]").first().getAttribute("data-post");

test("every picture of the demo community is there", async () => {
    const window = await fresh();
    await window.page.goto(server.link);
    await window.online();
    const { items } = await server.call(1, "GET", "/v1/inbox?limit=50");
    const post = (begins) => items.find((item) => item.title.startsWith(begins)).post_id;
    const drawn = (scope) => window.page.locator(`${scope} img.picture`).evaluateAll((all) =>
        all.map((one) => one.complete && one.naturalWidth >= 600 && new URL(one.src).pathname));
    for (const [place, scope, names] of [
        [`#/post/${post("Sourdough")}`, "article", ["loaf"]],
        [`#/post/${post("周末")}`, ".comments", ["summit"]],
    ]) {
        await window.go(place);
        await eventually(() => drawn(scope), names.map((name) => `/assets/demo-${name}.svg`));
    }
    await window.page.locator("details summary", { hasText: "Another user id" }).click();
    await window.page.fill("#act-as-id", "4242"); // who has read nothing
    await window.page.getByRole("button", { name: "Switch" }).click();
    for (const [begins, names] of [["The lighthouse", ["lighthouse"]], ["Letters", ["cat", "pot"]]]) {
        await window.go(`#/story/${await server.demoStory(begins)}`);
        await eventually(async () => {
            const next = window.page.locator("[data-read-on]");
            if ((await drawn(".chat")).length < names.length && (await next.count())) await next.click();
            return drawn(".chat");
        }, names.map((name) => `/assets/demo-${name}.svg`));
    }
    assert.equal(await window.page.locator(".picture-odd").count(), 0);
});
