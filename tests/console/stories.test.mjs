/** Stories and notifications, as readers and authors use them. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { until, withConsole } from "./support.mjs";

const shown = (page) => page.locator(".bubble").allTextContents();
const recordOf = async (server, story, user = 1) =>
    (await server.api("GET", "/reading", { user })).items.find((row) => row.story_id === story);
const written = (server, story, ok) => until(async () => {
    const record = await recordOf(server, story);
    return ok(record) && record;
}, "the position is written");

async function publishStory(server, user, scenes) {
    const story = await server.api("POST", "/posts", { user, body: { kind: "story", title: "Told <i>live</i>" } });
    for (const [title, ...messages] of scenes)
        await server.api("POST", `/stories/${story.id}/scenes`, { user, body: { title, messages } });
    return story.id;
}

test("a story is read by keys, clicks and taps, and goes on where one stopped, on another device too", () =>
    withConsole([], async ({ server, open }) => {
        const story = await publishStory(server, 5, [["One", "a", "b", "c"], ["Two", "d"]]);
        const page = await open(`story/${story}`);
        await page.waitForSelector("[data-read-on]");
        assert.deepEqual(await shown(page), []);
        const entered = await written(server, story, (record) => record);
        assert.equal(entered.scene_id, null, "entering makes a record without a position");

        await page.keyboard.press("Space");
        await page.click(".chat");
        assert.deepEqual(await shown(page), ["a", "b"]);
        const { items: [one] } = await server.api("GET", `/stories/${story}/scenes`);
        const { messages } = await server.api("GET", `/scenes/${one.id}`);
        await written(server, story, (record) => record.message_id === messages[1].id);

        const other = await open(`story/${story}`, { viewport: { width: 390, height: 844 }, hasTouch: true });
        await other.waitForSelector(".resumed");
        assert.deepEqual(await shown(other), ["a", "b"]);
        const before = await recordOf(server, story);
        await other.goto(`${server.base}/#/stories`);
        await other.waitForSelector(`a[href="#/story/${story}"]`);
        assert.deepEqual(await recordOf(server, story), before, "opening without reading on changes nothing");

        await other.goto(`${server.base}/#/story/${story}`);
        await other.waitForSelector(".resumed");
        await other.tap("[data-read-on]");
        await other.tap("[data-read-on]");
        await other.waitForSelector(".read-on.through");
        assert.deepEqual(await shown(other), ["a", "b", "c", "d"]);
        await other.goto(`${server.base}/#/stories`);
        const last = await written(server, story, (record) => record.scene_id !== one.id);
        assert.ok(last.modified_at > before.modified_at);
    }));

test("what is read while the server is away is written when it is back, with its time", () =>
    withConsole([], async ({ server, open }) => {
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
    withConsole([], async ({ server, open }) => {
        const story = await publishStory(server, 5, [["One", "a"]]);
        await server.api("PUT", `/reading/${story}`, { body: {} });
        const page = await open("stories");
        const row = page.locator("section", { hasText: "Continue reading" }).locator(".row", { hasText: "Told <i>live</i>" });
        await row.getByRole("button").click();
        await until(async () => !(await recordOf(server, story)), "it is deleted");
        assert.equal(await row.count(), 0);
    }));

test("subscribe, be told live in two windows, mark all read, and nothing new is swallowed", () =>
    withConsole([], async ({ server, open }) => {
        const story = await publishStory(server, 5, [["One", "a"]]);
        const reader = await open(`story/${story}`);
        await reader.click(".subscribe");
        await reader.waitForSelector('.subscribe[aria-pressed="true"]');
        await until(async () => (await server.api("GET", "/subscriptions")).items.some((row) => row.story_id === story), "subscribed");
        const list = await open("notifications");
        await list.waitForSelector("[data-row]");
        const bell = (page) => page.locator("[data-nav=notifications] .badge").first().textContent();
        const { unread } = await server.api("GET", "/notifications");

        await server.api("POST", `/stories/${story}/scenes`, { user: 5, body: { title: "<b>Two</b>", messages: ["b"] } });
        await list.waitForSelector("text=A new scene: <b>Two</b>");
        for (const page of [list, reader])
            await until(async () => (await bell(page)).startsWith(String(unread + 1)), "both windows count it");
        await reader.click("[data-read-on]");
        await reader.click("[data-read-on]");
        await until(async () => (await shown(reader)).includes("b"), "the new scene can be read on");

        // The list is held as it is, so that the next scene is one that the reader has not seen.
        await list.route("**/v1/notifications?*", (route) => route.abort());
        await server.api("POST", `/stories/${story}/scenes`, { user: 5, body: { title: "Three", messages: ["c"] } });
        await until(async () => (await bell(list)).startsWith(String(unread + 2)), "it is counted");
        await list.click("[data-mark-all]");
        await until(async () => (await server.api("GET", "/notifications")).unread === 1, "all that were seen are marked");
        await until(async () => (await bell(reader)).startsWith("1"), "the other window knows");
    }));

test("the author writes a scene; lines become messages, and text stays text", () =>
    withConsole([], async ({ server, open }) => {
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
        const { items } = await server.api("GET", `/stories/${story}/scenes`);
        assert.deepEqual(items.map((row) => [row.title, row.message_count]), [[nasty, 3]]);

        const guest = await open(`story/${story}`);
        await guest.waitForSelector("#act-as");
        await guest.selectOption("#act-as", "2");
        await guest.waitForSelector(".story h1");
        assert.equal(await guest.locator(".write-scene").count(), 0);
    }));

test("updates of stories can be turned off", () =>
    withConsole([], async ({ server, open }) => {
        const page = await open("notifications");
        await page.waitForSelector('[role="switch"]:checked');
        await page.click('[role="switch"]');
        await until(async () => !(await server.api("GET", "/settings")).story_updates, "it is off");
        await page.reload();
        await page.waitForSelector('[role="switch"]:enabled:not(:checked)');
    }));
