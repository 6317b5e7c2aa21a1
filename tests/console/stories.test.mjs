/** Stories and notifications, as readers and authors use them. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { until } from "./support/browser.mjs";
import { withDemo } from "./support/stage.mjs";

const shown = (page) => page.locator(".bubble").allTextContents();
const recordOf = async (server, story, user = 1) =>
    (await server.call(user, "GET", "/v1/reading")).items.find((row) => row.story_id === story);
const written = (server, story, ok) => until(async () => {
    const record = await recordOf(server, story);
    return ok(record) && record;
}, "the position is written");

async function publishStory(server, user, scenes) {
    const story = await server.call(user, "POST", "/v1/posts", { kind: "story", title: "Told <i>live</i>" });
    for (const [title, ...messages] of scenes)
        await server.scene(user, story.id, title, messages);
    return story.id;
}

test("a story is read by keys, clicks and taps, and goes on where one stopped, on another device too", () =>
    withDemo([], async ({ server, open }) => {
        const story = await publishStory(server, 5, [["One", "a", "b", "c"], ["Two", "d"]]);
        const page = await open(`story/${story}`);
        await page.waitForSelector("[data-read-on]");
        assert.deepEqual(await shown(page), []);
        const entered = await written(server, story, (record) => record);
        assert.equal(entered.scene_id, null, "entering makes a record without a position");

        await page.keyboard.press("Space");
        await page.click(".chat");
        assert.deepEqual(await shown(page), ["a", "b"]);
        const { items: [one] } = await server.call(1, "GET", `/v1/stories/${story}/scenes`);
        const { messages } = await server.call(1, "GET", `/v1/scenes/${one.id}`);
        await written(server, story, (record) => record.message_id === messages[1].id);

        const other = await open(`story/${story}`, { viewport: { width: 390, height: 844 }, hasTouch: true });
        await other.waitForSelector(".resumed");
        assert.deepEqual(await shown(other), ["a", "b"]);
        const before = await recordOf(server, story);
        await other.goto(`${server.origin}/#/stories`);
        await other.waitForSelector(`a[href="#/story/${story}"]`);
        assert.deepEqual(await recordOf(server, story), before, "opening without reading on changes nothing");

        await other.goto(`${server.origin}/#/story/${story}`);
        await other.waitForSelector(".resumed");
        await other.tap("[data-read-on]");
        await other.tap("[data-read-on]");
        await other.waitForSelector(".read-on.through");
        assert.deepEqual(await shown(other), ["a", "b", "c", "d"]);
        await other.goto(`${server.origin}/#/stories`);
        const last = await written(server, story, (record) => record.scene_id !== one.id);
        assert.ok(last.modified_at > before.modified_at);
    }));

test("what is read while the server is away is written when it is back, with its time", () =>
    withDemo([], async ({ server, open }) => {
        const story = await publishStory(server, 5, [["One", "a", "b", "c"]]);
        const page = await open(`story/${story}`);
        await page.waitForSelector("[data-read-on]");
        await page.keyboard.press("Space");
        const before = await written(server, story, (record) => record?.message_id);
        await page.route("**/v1/reading/**", (route) => route.abort());
        await page.keyboard.press("Space");
        assert.deepEqual(await shown(page), ["a", "b"]);
        const readBy = Date.now();
        await page.waitForTimeout(2500);
        assert.equal((await recordOf(server, story)).message_id, before.message_id);
        await page.unroute("**/v1/reading/**");
        await page.reload();
        const after = await written(server, story, (record) => record.message_id !== before.message_id);
        assert.ok(after.modified_at <= readBy);
    }));

test("a position that is removed is gone from the list, and from the server", () =>
    withDemo([], async ({ server, open }) => {
        const story = await publishStory(server, 5, [["One", "a"]]);
        await server.call(1, "PUT", `/v1/reading/${story}`, {});
        const page = await open("stories");
        const row = page.locator("section", { hasText: "Continue reading" }).locator(".row", { hasText: "Told <i>live</i>" });
        await row.getByRole("button").click();
        await until(async () => !(await recordOf(server, story)), "it is deleted");
        assert.equal(await row.count(), 0);
    }));

test("subscribe, be told live in two windows, mark all read, and nothing new is swallowed", () =>
    withDemo([], async ({ server, open }) => {
        const story = await publishStory(server, 5, [["One", "a"]]);
        const reader = await open(`story/${story}`);
        await reader.click(".subscribe");
        await reader.waitForSelector('.subscribe[aria-pressed="true"]');
        await until(async () => (await server.call(1, "GET", "/v1/subscriptions")).items.some((row) => row.story_id === story), "subscribed");
        const list = await open("notifications");
        await list.waitForSelector("[data-row]");
        const bell = (page) => page.locator("[data-nav=notifications] .badge").first().textContent();
        const { unread } = await server.call(1, "GET", "/v1/notifications");

        await server.scene(5, story, "<b>Two</b>", ["b"]);
        await list.waitForSelector("text=A new scene: <b>Two</b>");
        for (const page of [list, reader])
            await until(async () => (await bell(page)).startsWith(String(unread + 1)), "both windows count it");
        await reader.click("[data-read-on]");
        await reader.click("[data-read-on]");
        await until(async () => (await shown(reader)).includes("b"), "the new scene can be read on");
        await until(async () => (await bell(list)).startsWith(String(unread)), "and is not unread then");

        // The list is held as it is, so that the next scene is one that the reader has not seen.
        await list.route("**/v1/notifications?*", (route) => route.abort());
        await server.scene(5, story, "Three", ["c"]);
        await until(async () => (await bell(list)).startsWith(String(unread + 1)), "it is counted");
        await list.click("[data-mark-all]");
        await until(async () => (await server.call(1, "GET", "/v1/notifications")).unread === 1, "all that were seen are marked");
        await until(async () => (await bell(reader)).startsWith("1"), "the other window knows");
    }));

test("reading a scene to its end clears its notification, and no other", () =>
    withDemo([], async ({ server, open }) => {
        const story = await publishStory(server, 5, [["One", "a"]]);
        await server.call(1, "PUT", `/v1/stories/${story}/subscription`);
        await server.call(1, "POST", "/v1/notifications/mark-read", { up_to: (await server.call(1, "GET", "/v1/notifications")).as_of });
        for (const title of ["Two", "Three"]) await server.scene(5, story, title, ["b", "c"]);
        const unread = async () => (await server.call(1, "GET", "/v1/notifications")).items.filter((row) => !row.is_read).map((row) => row.scene_title);
        const page = await open(`story/${story}`);
        const bell = () => page.locator("[data-nav=notifications] .badge > [aria-hidden]").textContent({ timeout: 200 }).catch(() => "0");
        await until(async () => (await bell()) === "2", "two are counted");
        await page.click("[data-read-on]");
        await page.click("[data-read-on]");
        assert.deepEqual(await unread(), ["Three", "Two"], "not at its beginning");
        await page.click("[data-read-on]");
        await until(async () => (await bell()) === "1", "one is cleared");
        assert.deepEqual(await unread(), ["Three"]);
    }));

test("to subscribe is offered to those who can, and do not yet", () =>
    withDemo([], async ({ server, open }) => {
        const mine = await publishStory(server, 1, [["One", "a"]]);
        const other = await publishStory(server, 5, [["One", "a"]]);
        const page = await open(`story/${mine}`);
        const offer = "Subscribe, and you are told when it goes on.";
        await page.click("[data-read-on]");
        await page.waitForSelector(".read-on.through");
        assert.equal(await page.locator(".subscribe").count(), 0);
        assert.equal(await page.getByText(offer).count(), 0, "not to the author");
        await page.goto(`${server.origin}/#/story/${other}`);
        await page.click("[data-read-on]");
        await page.getByText(offer).waitFor();
        await page.click(".subscribe");
        await until(async () => (await page.getByText(offer).count()) === 0, "not to a subscriber");
    }));

test("the author writes a scene; lines become messages, and text stays text", () =>
    withDemo([], async ({ server, open }) => {
        const story = await publishStory(server, 1, []);
        const page = await open(`story/${story}`);
        const nasty = '<img src=x onerror="document.title=1">';
        await page.fill("#scene-title", nasty);
        await page.fill("#scene-text", `first\n\n  ${nasty}  \nlook: [img]javascript:alert(1)[/img]`);
        await page.click(".write-scene .primary");
        await page.waitForSelector("[data-read-on]");
        for (let i = 0; i < 3; i++) await page.click("[data-read-on]");
        await page.waitForSelector(".read-on.through");
        const texts = await shown(page);
        assert.deepEqual(texts.slice(0, 2), ["first", nasty]);
        assert.equal(await page.locator(".bubble img").count(), 0);
        assert.notEqual(await page.title(), "1");
        const { items } = await server.call(1, "GET", `/v1/stories/${story}/scenes`);
        assert.deepEqual(items.map((row) => [row.title, row.message_count]), [[nasty, 3]]);

        const guest = await open(`story/${story}`);
        await guest.waitForSelector("#act-as");
        await guest.selectOption("#act-as", "2");
        await guest.waitForSelector(".story h1");
        assert.equal(await guest.locator(".write-scene").count(), 0);
    }));

test("the author edits a scene: what stays keeps its id, and a reader's place", () =>
    withDemo([], async ({ server, open }) => {
        const story = await publishStory(server, 1, [["One", "a", "b\nwith a second line", "c"]]);
        const { items: [row] } = await server.call(1, "GET", `/v1/stories/${story}/scenes`);
        const before = await server.call(1, "GET", `/v1/scenes/${row.id}`);
        const page = await open(`story/${story}`);
        await page.locator(".scenes summary").click();
        await page.getByRole("button", { name: "Edit scene 1" }).click();
        await page.fill("#edit-title", "The first");
        await page.getByRole("textbox", { name: "Message 1" }).fill("A, changed");
        await page.getByRole("button", { name: "A new message below message 1" }).click();
        await page.getByRole("textbox", { name: "Message 2" }).fill("in between");
        await page.getByRole("button", { name: "Remove message 4" }).click();
        await page.locator(".edit-scene .primary").click();
        await until(async () => (await page.locator(".edit-scene").count()) === 0, "it is saved");
        const after = await server.call(1, "GET", `/v1/scenes/${row.id}`);
        assert.equal(after.title, "The first");
        assert.deepEqual(after.messages.map((message) => message.text), ["A, changed", "in between", "b\nwith a second line"]);
        assert.equal(after.messages[0].id, before.messages[0].id);
        assert.equal(after.messages[2].id, before.messages[1].id);
        for (let i = 0; i < 3; i++) await page.click("[data-read-on]");
        assert.deepEqual(await shown(page), after.messages.map((message) => message.text));
    }));

test("updates of stories can be turned off", () =>
    withDemo([], async ({ server, open }) => {
        const page = await open("notifications");
        await page.waitForSelector('[role="switch"]:checked');
        await page.click('[role="switch"]');
        await until(async () => !(await server.call(1, "GET", "/v1/settings")).story_updates, "it is off");
        await page.reload();
        await page.waitForSelector('[role="switch"]:enabled:not(:checked)');
    }));
