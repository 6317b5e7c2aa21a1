// A post with what people do to it, and its author's page.
import assert from "node:assert/strict";
import { test } from "node:test";
import { eventually } from "./support/browser.mjs";
import { stage } from "./support/stage.mjs";

const { server, users, open } = stage();

async function published() {
    const [author, reader] = users(2);
    await server.name(author, "Ann");
    await server.follow(reader, author);
    return { author, reader, post: (await server.publish(author, "A bench", "Two boards.")).id };
}

const like = (window) => window.page.locator("article .react.like");

test("a like shows at once, and is taken back if the request is lost", async () => {
    const { reader, post } = await published();
    const window = await open(reader);
    await window.go(`#/post/${post}`);
    await eventually(() => like(window).textContent(), "Like 0");

    let lose;
    const held = new Promise((done) => (lose = done));
    await window.page.route("**/like", async (route) => {
        await held;
        await route.abort();
    });
    await like(window).click();
    await eventually(() => like(window).getAttribute("aria-pressed"), "true");
    assert.equal(await like(window).textContent(), "Like 1");
    lose();
    await eventually(() => like(window).getAttribute("aria-pressed"), "false");
    assert.equal(await like(window).textContent(), "Like 0");
    await window.sees("The server cannot be reached.");

    await window.page.unroute("**/like");
    await like(window).click();
    await window.page.locator("article .react.fav").click();
    await eventually(async () => {
        const { stats } = await server.call(reader, "GET", `/v1/posts/${post}`);
        return [stats.like_count, stats.fav_count];
    }, [1, 1]);
    await window.page.reload();
    await eventually(() => like(window).getAttribute("aria-pressed"), "true");
    await window.page.click("[data-nav=saved]");
    await window.sees("A bench");
});

test("comments: written, answered, voted down until they fold, unfolded and folded again", async () => {
    const { author, reader, post } = await published();
    const window = await open(reader);
    await window.go(`#/post/${post}`);
    await window.page.fill(".comment-form textarea", "Buy ovens now");
    await window.page.getByRole("button", { name: "Send" }).click();
    const comment = window.page.locator(".comment").first();
    await comment.getByText("Buy ovens now").waitFor();
    await eventually(() => window.page.locator("#comments-title small").innerText(), "1 comments");

    await comment.getByRole("button", { name: "Reply" }).click();
    await comment.locator(".comment-form textarea").fill("I answer myself");
    await comment.locator(".comment-form .primary").click();
    await window.page.locator(".thread.inner .comment").getByText("I answer myself").waitFor();
    await eventually(() => window.page.locator("#comments-title small").innerText(), "2 comments");

    // Two vote it down, then the author does so by hand: the third is enough.
    const id = await comment.getAttribute("data-comment");
    for (const voter of users(2)) await server.call(voter, "PUT", `/v1/comments/${id}/downvote`);
    const hers = await open(author);
    await hers.go(`#/post/${post}`);
    const own = hers.page.locator(`.comment[data-comment="${id}"] > .comment-own`);
    await own.locator(".react.down").click();
    await own.locator(".folded").waitFor();

    await window.page.reload();
    const folded = window.page.locator(`.comment[data-comment="${id}"] > .comment-own`);
    await folded.getByText("Folded, since many voted it down.").waitFor();
    assert.equal(await folded.locator(".body").count(), 0, "its text is not shown");
    await folded.getByRole("button", { name: "Show it anyway" }).click();
    await eventually(() => folded.locator(".body").innerText(), "Buy ovens now");
    await folded.getByRole("button", { name: "Fold again" }).click();
    await eventually(() => folded.locator(".body").count(), 0);

    // The author takes the vote back: it is to be seen again.
    await own.locator(".react.down").click();
    await eventually(() => hers.page.locator(".comment.hidden").count(), 0);
    await window.page.reload();
    await eventually(() => folded.locator(".body").innerText(), "Buy ovens now");

    await folded.getByRole("button", { name: "Delete this comment" }).click();
    await window.confirm();
    await folded.getByText("This comment was deleted.").waitFor();
});

test("an author's page: follow and its end, the mutual mark, lists, the filter by read status", async () => {
    const { author, post } = await published();
    const [guest] = users(1);
    await server.follow(author, guest);
    await server.publish(author, "A second one");
    const window = await open(guest);
    await window.go(`#/user/${author}`);
    await window.sees("Follows you");
    await window.sees("1 followers");
    await window.page.click("[data-follow]");
    await window.sees("You follow each other");
    await window.sees("2 followers");
    const late = await server.publish(author, "A third one");
    await eventually(() => window.badge(), 1);

    const rows = () => window.page.locator("main [data-row]").count();
    await eventually(rows, 3);
    await window.row(late.id).locator("[data-open]").click();
    await window.page.waitForSelector("article.post");
    await window.go(`#/user/${author}`);
    await window.page.getByText("Read", { exact: true }).click();
    await eventually(rows, 1);
    await window.page.getByText("Unread", { exact: true }).click();
    await eventually(rows, 2);
    assert.equal(await window.rowState(post), "unread");

    await window.page.getByRole("link", { name: "2 followers" }).click();
    await window.page.locator(`main a[href="#/user/${guest}"]`).first().waitFor();
    await window.go(`#/user/${author}`);
    await window.page.click("[data-follow]");
    await window.sees("1 followers");

    await window.page.route("**/v1/relation/follow", (route) => route.abort());
    await window.page.click("[data-follow]");
    await window.page.waitForSelector(".toast.error");
    await eventually(() => window.page.locator("[data-follow]").getAttribute("aria-pressed"), "false");
    await window.sees("1 followers");
});

test("the hot list has what is liked first", async () => {
    const { author, reader, post } = await published();
    const cold = await server.publish(author, "Nobody likes this");
    await server.call(reader, "PUT", `/v1/posts/${post}/fav`);
    const window = await open(reader);
    await window.page.click("[data-nav=hot]");
    await window.row(cold.id).waitFor();
    const ids = await window.page.locator("main [data-row]").evaluateAll((rows) => rows.map((row) => +row.dataset.post));
    assert.ok(ids.indexOf(post) < ids.indexOf(cold.id), String(ids));
});

test("who begins a story from the stories begins a story", async () => {
    const [author] = users(1);
    const window = await open(author);
    await window.page.click("[data-nav=stories]");
    await window.page.getByRole("link", { name: "Begin a story" }).click();
    await window.page.fill("#write-title", "Once");
    await window.page.getByRole("button", { name: "Publish" }).click();
    await window.page.fill("#scene-title", "The first scene");
});
