// The inbox as two people see it, side by side.
import assert from "node:assert/strict";
import { test } from "node:test";
import { eventually } from "./support/browser.mjs";
import { stage } from "./support/stage.mjs";

const { server, users, open } = stage();

async function reader(authors, posts = 0) {
    const [fan, ...all] = users(1 + authors);
    for (const [i, author] of all.entries()) {
        await server.name(author, `Author ${i + 1}`);
        await server.follow(fan, author);
    }
    const made = [];
    for (let i = 0; i < posts; i++) made.push(await server.publish(all[i % authors], `Post ${i + 1}`));
    return { fan, authors: all, posts: made.map((post) => post.id) };
}

test("what one publishes moves the other's badge, the tab and the list, without a reload", async () => {
    const { fan, authors } = await reader(1, 2);
    const [ann] = authors;
    const [his, hers] = [await open(fan), await open(ann)];
    await eventually(() => his.badge(), 2);

    await hers.page.click("[data-nav=write]");
    await hers.page.fill("#write-title", "Just written");
    await hers.page.fill("#write-body", "And at once in the inbox.");
    await hers.page.getByRole("button", { name: "Publish" }).click();
    await hers.sees("And at once in the inbox.");

    await eventually(() => his.badge(), 3);
    await eventually(() => his.chip(ann), 3);
    await eventually(() => his.page.title(), "(3) Inbox · Tidings");
    await eventually(() => his.page.locator("main [data-row] h2 a").first().innerText(), "Just written\n(unread)");
});

test("opening a post marks it read, and moves every count in every window", async () => {
    const { fan, authors, posts } = await reader(2, 5);
    const [one, other] = [await open(fan), await open(fan)];
    await eventually(() => other.badge(), 5);
    await eventually(() => other.chip(authors[0]), 3);

    await one.row(posts[4]).locator("[data-open]").click();
    await one.page.waitForSelector("article.post");
    for (const window of [one, other]) await eventually(() => window.badge(), 4);
    await eventually(() => one.page.title(), "(4) Post 5 · Tidings");
    await eventually(() => other.page.title(), "(4) Inbox · Tidings");
    await eventually(() => other.chip(authors[0]), 2);
    await eventually(() => other.chip(authors[1]), 2);
    await eventually(() => other.rowState(posts[4]), "read");

    await one.page.goBack();
    await eventually(() => one.page.title(), "(4) Inbox · Tidings");
    await eventually(() => one.rowState(posts[4]), "read");
    await eventually(() => one.chip(authors[0]), 2);
    assert.equal(await one.rowState(posts[3]), "unread");

    await other.page.getByText("Unread", { exact: true }).click();
    await eventually(() => other.page.locator("main [data-row]").count(), 4);
    await other.page.getByText("Read", { exact: true }).click();
    await eventually(() => other.page.locator("main [data-row]").count(), 1);
});

test("200 items and more: scrolling brings all of them, none twice, in order", async () => {
    const { fan, authors } = await reader(1);
    const n = 205;
    for (let i = 0; i < n; i++) await server.publish(authors[0], `No. ${i}`);
    const window = await open(fan);
    await eventually(() => window.badge(), n);
    const titles = () =>
        window.page.evaluate(() =>
            [...document.querySelectorAll("main [data-row] h2 a")].map((link) => link.firstChild.textContent));
    await window.page.mouse.move(700, 400);
    await eventually(async () => {
        await window.page.mouse.wheel(0, 4000);
        return (await titles()).length;
    }, n);
    assert.deepEqual(await titles(), Array.from({ length: n }, (_, i) => `No. ${n - 1 - i}`));

    // Back from a post, one is where one was.
    const far = window.page.locator("main [data-row]").nth(150);
    await far.scrollIntoViewIfNeeded();
    const id = await far.getAttribute("data-post");
    await far.locator("[data-open]").click();
    await window.page.waitForSelector("article.post");
    await window.page.goBack();
    await eventually(() =>
        window.row(id).evaluate((row) => {
            const { top, bottom } = row.getBoundingClientRect();
            return bottom > 0 && top < innerHeight;
        }), true);
    await eventually(() => window.badge(), n - 1);
});

test("a deleted post keeps its title, says so under it, and no longer counts", async () => {
    const { fan, authors, posts } = await reader(1, 2);
    const [his, hers] = [await open(fan), await open(authors[0])];
    await eventually(() => his.rowState(posts[1]), "unread");

    await hers.go(`#/post/${posts[1]}`);
    await hers.page.getByRole("button", { name: "Delete this post" }).click();
    await hers.confirm();

    await eventually(() => his.rowState(posts[1]), "deleted");
    await eventually(() => his.badge(), 1);
    const row = his.row(posts[1]);
    assert.equal(await row.locator(".notice").innerText(), "This post was deleted by its author.");
    assert.equal(await row.locator("h2 + .notice").count(), 1, "the notice is under the title");
    assert.equal(await row.locator(".excerpt").count(), 0, "the text is gone");

    await row.locator("[data-open]").click();
    await his.page.waitForSelector("article.post.deleted");
    assert.equal(await his.page.locator("article.post.deleted h1").innerText(), "Post 2");
    assert.equal(await his.page.locator("article .notice").innerText(), "This post was deleted by its author.");
});

test("mark all read swallows nothing that arrives at the same moment", async () => {
    const { fan, authors } = await reader(2, 6);
    const window = await open(fan);
    await eventually(() => window.badge(), 6);
    await window.page.waitForSelector("[data-mark-all]:enabled");

    // The request is on its way when something new is published.
    let late;
    await window.page.route("**/v1/inbox/mark-read", async (route) => {
        late = await server.publish(authors[1], "Came in between");
        await route.continue();
    });
    await window.page.click("[data-mark-all]");
    await window.sees("6 marked read.");
    await eventually(() => window.badge(), 1);
    await eventually(() => window.rowState(late.id), "unread");
    await eventually(() => window.page.locator("main [data-row].unread").count(), 1);
    await eventually(() => window.chip(authors[0]), 0);
    await eventually(() => window.chip(authors[1]), 1);
    assert.equal((await server.call(fan, "GET", "/v1/inbox/unread")).total, 1);
});

test("mark all read can be undone; what was read before stays read", async () => {
    const { fan, authors, posts } = await reader(2, 5);
    await server.call(fan, "POST", "/v1/inbox/mark-read", { post_ids: [posts[0]] });
    const window = await open(fan);
    await eventually(() => window.badge(), 4);
    await window.page.waitForSelector("[data-mark-all]:enabled");
    await window.page.click("[data-mark-all]");
    await window.sees("4 marked read.");
    await eventually(() => window.badge(), 0);
    await window.page.locator(".toast").getByRole("button", { name: "Undo" }).click();
    await eventually(() => window.badge(), 4);
    await eventually(() => window.rowState(posts[4]), "unread");
    assert.equal(await window.rowState(posts[0]), "read");
    assert.equal((await server.call(fan, "GET", "/v1/inbox/unread")).total, 4);

    // Of one author alone, likewise.
    await window.page.click(`.chip[data-author="${authors[1]}"]`);
    await window.page.getByRole("button", { name: "Mark all of Author 2 read" }).click();
    await eventually(() => window.badge(), 2);
    await window.page.locator(".toast").getByRole("button", { name: "Undo" }).last().click();
    await eventually(() => window.badge(), 4);
});

test("the offer to undo stands for ten seconds", async () => {
    const { fan } = await reader(1, 1);
    const window = await open(fan);
    await window.page.waitForSelector("[data-mark-all]:enabled");
    await window.page.clock.install();
    await window.page.click("[data-mark-all]");
    const undo = window.page.locator(".toast").getByRole("button", { name: "Undo" });
    await undo.waitFor();
    await window.page.clock.runFor(9500);
    assert.equal(await undo.count(), 1);
    await window.page.clock.runFor(1000);
    await eventually(() => undo.count(), 0);
});

test("a hundred authors are a list in which one searches", async () => {
    const { fan, authors } = await reader(100);
    await server.name(authors[70], "Zoë Quill");
    await server.publish(authors[70], "From Zoë");
    await server.publish(authors[3], "From the fourth");
    const window = await open(fan);
    await eventually(() => window.badge(), 2);
    assert.ok((await window.page.locator(".chips .chip").count()) < 10, "few of them are chips");
    await window.page.getByText("All 100 authors").click();
    const list = window.page.locator(".authors-panel .chip");
    await eventually(() => list.count(), 100);
    for (const width of [360, 1280]) {
        await window.page.setViewportSize({ width, height: 740 });
        const panel = await window.page.locator(".authors-panel").boundingBox();
        const main = await window.page.locator("main").boundingBox();
        assert.ok(panel.x >= main.x && panel.x + panel.width <= width, "it lies in the page");
    }
    await window.page.fill("#author-search", "zoe");
    await eventually(() => list.allInnerTexts().then((all) => all.map((text) => text.split("\n")[0].trim())), ["Zoë Quill"]);
    await window.page.fill("#author-search", "qui");
    await list.first().click();
    await eventually(() => window.page.locator("main [data-row] h2").allInnerTexts(), ["From Zoë\n(unread)"]);
    await eventually(() => window.page.locator('.chip[aria-pressed="true"]').innerText().then((text) => text.split("\n")[0].trim()), "Zoë Quill");
    assert.equal(await window.page.locator(".authors-panel").count(), 0);
    await window.page.locator('.chip[data-author="0"]').click();
    await eventually(() => window.page.locator("main [data-row]").count(), 2);
});

test("one author's posts can be chosen and marked read alone", async () => {
    const { fan, authors } = await reader(2, 4);
    const window = await open(fan);
    await window.page.click(`.chip[data-author="${authors[0]}"]`);
    await eventually(() => window.page.locator("main [data-row]").count(), 2);
    await window.page.getByRole("button", { name: "Mark all of Author 1 read" }).click();
    await eventually(() => window.badge(), 2);
    await eventually(() => window.chip(authors[0]), 0);
    await eventually(() => window.chip(authors[1]), 2);
});

test("a mark that the server refuses is taken back", async () => {
    const { fan, authors, posts } = await reader(1, 2);
    const window = await open(fan);
    await eventually(() => window.badge(), 2);
    let answer;
    const held = new Promise((done) => (answer = done));
    await window.page.route("**/v1/inbox/mark-read", async (route) => {
        await held;
        await route.abort();
    });
    await window.row(posts[0]).locator("[data-mark]").click();
    await eventually(() => window.rowState(posts[0]), "read");
    await eventually(() => window.badge(), 1);
    answer();
    await eventually(() => window.rowState(posts[0]), "unread");
    await eventually(() => window.badge(), 2);
    await eventually(() => window.chip(authors[0]), 2);
    await window.page.waitForSelector(".toast.error");
});

test("a mark counts at once, also while the numbers by author are still on their way", async () => {
    const { fan, authors, posts } = await reader(1, 2);
    const window = await open(fan);
    await window.row(posts[0]).waitFor();
    let answer;
    const held = new Promise((done) => (answer = done));
    await window.page.route("**/v1/inbox/unread", async (route) => {
        const old = await route.fetch();
        await held;
        await route.fulfill({ response: old });
    });
    await window.page.reload();
    await eventually(() => window.badge(), 2);
    await window.row(posts[0]).locator("[data-mark]").click();
    await eventually(() => window.badge(), 1);
    answer();
    await eventually(() => window.chip(authors[0]), 1);
    assert.equal(await window.badge(), 1);
});

test("marks reach the server in the order in which they were made", async () => {
    const { fan, posts } = await reader(1, 3);
    const window = await open(fan);
    await window.row(posts[0]).waitFor();
    await window.page.route("**/v1/inbox/mark-read", async (route) => {
        await new Promise((resolve) => setTimeout(resolve, 500));
        await route.continue();
    });
    await window.page.keyboard.press("j");
    await window.page.keyboard.press("m");
    await eventually(() => window.rowState(posts[2]), "read");
    await window.page.keyboard.press("m");
    await eventually(() => window.rowState(posts[2]), "unread");
    await new Promise((resolve) => setTimeout(resolve, 1000));
    await window.page.reload();
    await window.row(posts[2]).waitFor();
    assert.equal(await window.rowState(posts[2]), "unread");
    assert.equal(await window.badge(), 3);
});

test("the keyboard: j and k move, o opens, m marks, ? helps", async () => {
    const { fan, posts } = await reader(1, 3);
    const window = await open(fan);
    await window.row(posts[0]).waitFor();
    const focused = () =>
        window.page.evaluate(() => Number(document.activeElement.closest("[data-row]")?.dataset.post ?? 0));
    const press = (key) => window.page.keyboard.press(key);

    await press("j");
    await eventually(focused, posts[2]);
    await press("j");
    await eventually(focused, posts[1]);
    await press("k");
    await eventually(focused, posts[2]);
    await press("m");
    await eventually(() => window.rowState(posts[2]), "read");
    await eventually(() => window.badge(), 2);
    await press("m");
    await eventually(() => window.badge(), 3);
    await press("?");
    await window.page.waitForSelector("dialog.help[open]");
    await press("Escape");
    await eventually(() => window.page.locator("dialog.help").count(), 0);
    await window.row(posts[1]).locator("[data-open]").focus();
    await press("o");
    await window.page.waitForSelector(`article.post[data-post="${posts[1]}"]`);
    await press("i");
    await window.row(posts[1]).waitFor();

    // Letters typed into a field are letters.
    await window.go("#/write");
    await window.page.locator("#write-title").pressSequentially("jkomi?");
    assert.equal(await window.page.inputValue("#write-title"), "jkomi?");
    assert.equal(await window.page.locator("dialog").count(), 0);
});

test("history: what was opened, latest first; clearing it makes nothing unread", async () => {
    const { fan, posts } = await reader(1, 2);
    const window = await open(fan);
    for (const id of posts) {
        await window.go(`#/post/${id}`);
        await window.page.waitForSelector(`article.post[data-post="${id}"]`);
    }
    await window.page.click("[data-nav=history]");
    await eventually(() => window.page.locator("main [data-row] h2").allInnerTexts(), ["Post 2", "Post 1"]);
    await window.page.getByRole("button", { name: "Clear the history" }).click();
    await window.confirm();
    await window.sees("You have opened nothing yet.");
    await eventually(() => window.badge(), 0);
});

test("of many posts at once three are told and the others counted, and what one does is told all the same", async () => {
    const { fan, authors } = await reader(1);
    const window = await open(fan);
    await window.go("#/profile");
    await window.page.waitForSelector("#profile-name");
    await Promise.all(Array.from({ length: 20 }, () => server.publish(authors[0], "One of many")));
    const told = () => window.page.locator(".toast:not(.more) p").allInnerTexts();
    const more = window.page.locator(".toast.more");
    await eventually(() => more.innerText(), "and 17 more");
    assert.deepEqual(await told(), Array(3).fill("New: One of many"));
    await window.page.fill("#profile-name", "Robin");
    await window.page.getByRole("button", { name: "Save" }).click();
    await eventually(async () => (await told()).at(-1), "Saved.");
    assert.ok((await told()).length <= 3);
    await eventually(() => window.page.locator(".toast").count(), 0);
    await server.publish(authors[0], "Later");
    await eventually(told, ["New: Later"]);
    assert.equal(await more.count(), 0);
});

test("rows say how often a post was liked, kept and commented; also those that came later, and after a change", async () => {
    const { fan, authors, posts } = await reader(1, 30);
    await server.call(fan, "PUT", `/v1/posts/${posts[29]}/like`);
    await server.call(authors[0], "PUT", `/v1/posts/${posts[29]}/like`);
    await server.call(fan, "PUT", `/v1/posts/${posts[29]}/fav`);
    await server.comment(fan, posts[0], "The oldest");
    await server.call(authors[0], "DELETE", `/v1/posts/${posts[28]}`);
    const window = await open(fan);
    const counts = (post) => window.row(post).locator(".stats").allInnerTexts().then((all) => all.map((text) => (text.match(/\d+/g) ?? []).join(" ")));
    await eventually(() => counts(posts[29]), ["2 1 0"]);
    assert.deepEqual(await counts(posts[28]), [], "a deleted one has none");
    await window.row(posts[12]).scrollIntoViewIfNeeded();
    await eventually(() => counts(posts[0]), ["0 0 1"], "of the second page");

    await server.comment(fan, posts[29], "One more");
    await server.publish(authors[0], "News"); // the list is read again
    await eventually(() => counts(posts[29]), ["2 1 1"]);
    await window.go(`#/user/${authors[0]}`);
    await eventually(() => counts(posts[29]), ["2 1 1"], "the author's page has them, too");
});

test("rows change live, those that are read as well: an edit and a deletion", async () => {
    const { fan, authors, posts } = await reader(1, 3);
    const [author] = authors;
    await server.call(fan, "POST", "/v1/inbox/mark-read", { post_ids: posts });
    const [inbox, page, away] = [await open(fan), await open(fan), await open(fan)];
    await page.go(`#/user/${author}`);
    await away.row(posts[0]).waitFor();
    await away.go("#/write");
    const title = (window, post) => window.row(post).locator("h2 a").innerText({ timeout: 200 }).catch(() => "");
    for (const window of [inbox, page]) await eventually(() => title(window, posts[0]), "Post 1");

    await server.call(author, "PATCH", `/v1/posts/${posts[0]}`, { title: "Better", body: "Other words" });
    for (const window of [inbox, page]) {
        await eventually(() => title(window, posts[0]), "Better");
        assert.equal(await window.row(posts[0]).locator(".excerpt").innerText(), "Other words");
        assert.equal(await window.rowState(posts[0]), "read");
    }
    await server.call(author, "DELETE", `/v1/posts/${posts[1]}`);
    await eventually(() => inbox.rowState(posts[1]), "deleted");
    await eventually(() => page.row(posts[1]).count(), 0);
    await away.go("#/inbox");
    await eventually(() => title(away, posts[0]), "Better", "and who comes back sees it");
});
