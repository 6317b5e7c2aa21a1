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

test("a second reaction does not get lost while the first is under way", async () => {
    const { reader, post } = await published();
    const window = await open(reader);
    await window.go(`#/post/${post}`);
    await eventually(() => like(window).textContent(), "Like 0");
    let go;
    const held = new Promise((done) => (go = done));
    await window.page.route("**/like", async (route) => {
        await held;
        await route.continue();
    });
    await like(window).click();
    await like(window).click(); // the same again is dropped: it would undo the first
    await window.page.locator("article .react.fav").click();
    go();
    await eventually(async () => {
        const { stats } = await server.call(reader, "GET", `/v1/posts/${post}`);
        return [stats.like_count, stats.fav_count];
    }, [1, 1]);
});

test("comments: written, answered, voted down until they fold, unfolded and folded again", async () => {
    const { author, reader, post } = await published();
    const window = await open(reader);
    await window.go(`#/post/${post}`);
    await window.page.fill(".comment-form textarea", "Buy ovens now");
    await window.page.getByRole("button", { name: "Send" }).click();
    const comment = window.page.locator(".comment").first();
    await comment.getByText("Buy ovens now").waitFor();
    await eventually(() => window.page.locator("#comments-title small").innerText(), "1 comment");

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

test("an open post is live: comments, replies, likes, folds and edits of others appear without a reload", async () => {
    const { author, reader, post } = await published();
    const [guest, ...voters] = users(4);
    const window = await open(reader);
    await window.go(`#/post/${post}`);
    const count = () => window.page.locator("#comments-title small").innerText();
    const heat = () => window.page.locator("article .heat").innerText();
    await eventually(count, "0 comments");
    await window.page.evaluate(() => (window.isSamePage = true));

    const first = await server.comment(guest, post, "From elsewhere");
    const comment = window.page.locator(`.comment[data-comment="${first.id}"] > .comment-own`);
    await eventually(() => comment.locator(".body").innerText(), "From elsewhere");
    await eventually(count, "1 comment");
    await eventually(heat, "Heat 5");
    await server.comment(author, post, "An answer", first.id);
    await window.page.locator(".thread.inner .comment").getByText("An answer").waitFor();
    await eventually(count, "2 comments");
    await server.call(guest, "PUT", `/v1/posts/${post}/like`);
    await eventually(() => like(window).textContent(), "Like 1");
    await eventually(heat, "Heat 13");

    // What one is reading stays where it is, whatever the votes.
    const second = await server.comment(guest, post, "The second");
    await window.page.getByText("The second").waitFor();
    for (const voter of voters) await server.call(voter, "PUT", `/v1/comments/${first.id}/like`);
    await eventually(() => comment.locator(".react.like").textContent(), "Like this comment 3");
    const order = () => window.page.locator(".comments > .thread > .comment").evaluateAll((all) => all.map((one) => +one.dataset.comment));
    assert.deepEqual(await order(), [second.id, first.id]);

    for (const voter of voters) await server.call(voter, "PUT", `/v1/comments/${second.id}/downvote`);
    await window.page.locator(`.comment[data-comment="${second.id}"] .folded`).waitFor();
    await eventually(count, "2 comments");
    await server.call(author, "PATCH", `/v1/posts/${post}`, { title: "A better bench", body: "Three boards." });
    await eventually(() => window.page.locator("article h1").innerText(), "A better bench");
    await eventually(() => window.page.title(), "A better bench · Tidings");

    // Another post, over the same stream anew; and the first one is heard no more.
    const other = await server.publish(author, "Another one");
    await window.go(`#/post/${other.id}`);
    await eventually(() => like(window).textContent(), "Like 0");
    await server.call(guest, "PUT", `/v1/posts/${other.id}/like`);
    await eventually(() => like(window).textContent(), "Like 1");
    await server.call(author, "DELETE", `/v1/posts/${other.id}`);
    await window.page.waitForSelector("article.post.deleted");
    assert.equal(await window.page.evaluate(() => window.isSamePage), true);
    await eventually(() => window.page.locator(".connection").getAttribute("data-connection"), "online");
});

test("a new comment is shown also under a post with many, where the hottest come first", async () => {
    const { author, reader, post } = await published();
    const [guest] = users(1);
    for (let i = 0; i < 30; i++) {
        const { id } = await server.comment(author, post, `Liked ${i}`);
        await server.call(guest, "PUT", `/v1/comments/${id}/like`);
    }
    const window = await open(reader);
    await window.go(`#/post/${post}`);
    const texts = () => window.page.locator(".comments > .thread > .comment .body").allInnerTexts();
    await window.page.getByText("Liked 0", { exact: true }).or(window.page.getByText("Liked 29", { exact: true })).first().waitFor();
    await server.comment(guest, post, "From elsewhere");
    await eventually(async () => (await texts())[0], "From elsewhere");
    await window.page.fill(".comment-form textarea", "My own");
    await window.page.getByRole("button", { name: "Send" }).click();
    await eventually(async () => (await texts())[0], "My own");
    await server.comment(guest, post, "And another");
    await eventually(async () => (await texts()).slice(0, 3), ["And another", "My own", "From elsewhere"]);
    await window.page.mouse.move(700, 400);
    await eventually(async () => {
        await window.page.mouse.wheel(0, 4000);
        return (await texts()).length;
    }, 33);
    assert.equal(new Set(await texts()).size, 33, "each once");
});

test("after one's own comment the number and the heat are right, also when no stream tells", async () => {
    const { reader, post } = await published();
    const window = await open(reader);
    await window.page.route("**/v1/stream*", (route) => route.abort());
    await window.go(`#/post/${post}`);
    await window.page.waitForSelector("[data-connection=offline]");
    await eventually(() => window.page.locator("article .heat").innerText(), "Heat 0");
    await window.page.fill(".comment-form textarea", "Mine");
    await window.page.getByRole("button", { name: "Send" }).click();
    await eventually(() => window.page.locator("article .heat").innerText(), "Heat 5");
    await eventually(() => window.page.locator("#comments-title small").innerText(), "1 comment");
    await eventually(() => window.page.locator(".comment").count(), 1);
});

test("an author edits a post; others cannot", async () => {
    const { author, reader, post } = await published();
    const [hers, his] = [await open(author), await open(reader)];
    for (const window of [hers, his]) await window.go(`#/post/${post}`);
    await his.page.waitForSelector("article.post");
    assert.equal(await his.page.getByRole("button", { name: "Edit this post" }).count(), 0);
    await hers.page.getByRole("button", { name: "Edit this post" }).click();
    assert.equal(await hers.page.inputValue("#write-title"), "A bench");
    assert.equal(await hers.page.inputValue("#write-body"), "Two boards.");
    await hers.page.getByRole("button", { name: "Cancel" }).click();
    await hers.page.getByRole("button", { name: "Edit this post" }).click();
    await hers.page.fill("#write-title", "A long bench");
    await hers.page.fill("#write-body", "Four boards.");
    await hers.page.getByRole("button", { name: "Save" }).click();
    await eventually(() => hers.page.locator("article h1").innerText(), "A long bench");
    await eventually(() => his.page.locator("article .body").innerText(), "Four boards.");
    await his.page.getByText(/edited/).waitFor();
    const { title, body } = await server.call(reader, "GET", `/v1/posts/${post}`);
    assert.deepEqual([title, body], ["A long bench", "Four boards."]);
});

test("an author's page: follow and its end, the mutual mark, lists, the filter by read status", async () => {
    const { author, post } = await published();
    const [guest] = users(1);
    await server.follow(author, guest);
    await server.publish(author, "A second one");
    const window = await open(guest);
    await window.go(`#/user/${author}`);
    await window.sees("Follows you");
    await window.sees("1 follower");
    await window.page.click("[data-follow]");
    await window.sees("You follow each other");
    await window.sees("2 followers");
    // Both are shown before the server has it.
    await eventually(async () => (await server.call(guest, "GET", `/v1/relation/status?user_id=${author}`)).following, true);
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
    await window.sees("1 follower");

    await window.page.route("**/v1/relation/follow", (route) => route.abort());
    await window.page.click("[data-follow]");
    await window.page.waitForSelector(".toast.error");
    await eventually(() => window.page.locator("[data-follow]").getAttribute("aria-pressed"), "false");
    await window.sees("1 follower");
});

test("one's own posts are not unread", async () => {
    const { author, post } = await published();
    const window = await open(author);
    await window.page.click("[data-nav=user]");
    await window.row(post).waitFor();
    assert.equal(await window.rowState(post), "");
    assert.equal(await window.row(post).locator("h2").innerText(), "A bench");
    assert.equal(await window.page.locator("input[name=read-status]").count(), 0);
});

test("people: followers and following are one click away", async () => {
    const { reader } = await published();
    const [fan] = users(1);
    await server.name(fan, "Élodie Marsh");
    await server.follow(fan, reader);
    const window = await open(reader);
    const names = () => window.page.locator("main [data-row] h2").allInnerTexts();
    await window.page.click("[data-nav=people]");
    await eventually(names, ["Ann"]);
    await window.page.getByText("Followers", { exact: true }).click();
    await eventually(names, ["Élodie Marsh"]);
});

test("people: anybody is found by the beginning of the name", async () => {
    const [reader, ...far] = users(4);
    for (const [i, name] of ["Xenia Far", "XENIA near", "Xénia"].entries()) await server.name(far[i], name);
    const window = await open(reader);
    const names = () => window.page.locator("main [data-row] h2").allInnerTexts();
    await window.page.click("[data-nav=people]");
    for (const [typed, found] of [
        ["xEN", ["Xenia Far", "XENIA near"]],
        ["XÉ", ["Xénia"]],
        ["enia", []],
        ["xenia n", ["XENIA near"]],
        [`#${far[0]}`, ["Xenia Far"]],
        ["x".repeat(100), []],
    ]) {
        await window.page.fill("#people-search", typed);
        await eventually(names, found, typed);
    }
    // By the keyboard alone: down into what was found, and Enter from the field is the first.
    await window.page.fill("#people-search", "");
    await window.page.locator("#people-search").pressSequentially("xenia");
    await eventually(names, ["Xenia Far", "XENIA near"]);
    await window.page.keyboard.press("ArrowDown");
    await window.page.keyboard.press("j");
    await window.page.keyboard.press("o");
    await eventually(() => window.page.url().endsWith(`#/user/${far[1]}`), true);
    await window.page.goBack();
    await window.page.locator("#people-search").pressSequentially("xenia");
    await eventually(names, ["Xenia Far", "XENIA near"]);
    await window.page.keyboard.press("Enter");
    await eventually(() => window.page.url().endsWith(`#/user/${far[0]}`), true);
});

test("people: who types on is asked for once", async () => {
    const [reader, other] = users(2);
    await server.name(other, "Yolanda");
    const window = await open(reader);
    const asked = [];
    window.page.on("request", (request) => {
        const url = new URL(request.url());
        if (url.pathname === "/v1/users/search") asked.push(url.searchParams.get("prefix"));
    });
    await window.page.click("[data-nav=people]");
    // The page's time goes on when it is told to, so that no slow machine makes a pause.
    await window.page.clock.install();
    await window.page.clock.pauseAt(Date.now() + 60_000);
    const names = () => window.page.locator("main [data-row] h2").allInnerTexts();
    for (const letter of "yolan") {
        await window.page.locator("#people-search").press(letter);
        await window.page.clock.runFor(100);
    }
    await window.page.clock.runFor(300);
    await window.page.clock.resume();
    await eventually(names, ["Yolanda"]);
    assert.deepEqual(asked, ["y", "yolan"], "the first letter at once, and then what was left standing");
});

test("addresses in texts are links, of the web only", async () => {
    const { author, reader, post } = await published();
    const text = [
        "See https://a.example/x?y=1&z=(2), (or http://b.example/c).",
        "javascript:alert(1) JAVASCRIPT://x data:text/html,x ftp://c.example//d file:///etc/passwd mailto:x@y.example",
        "看https://例子.example/路径。还有 HTTPS://D.example! https:// http://[bad",
        'https://e.example/"onclick="pwned() https://f.example/<b>',
    ].join("\n");
    await server.call(author, "PATCH", `/v1/posts/${post}`, { body: text });
    await server.comment(author, post, "Also https://g.example/ and javascript:alert(2)");
    const window = await open(reader);
    await window.go(`#/post/${post}`);
    const links = (where) => window.page.locator(`${where} .body a`).evaluateAll((all) =>
        all.map((link) => [link.textContent, link.getAttribute("href"), link.target, link.rel]));
    const link = (shown, href = shown) => [shown, href, "_blank", "noopener noreferrer"];
    await eventually(() => links("article"), [
        link("https://a.example/x?y=1&z=(2)"),
        link("http://b.example/c"),
        link("https://例子.example/路径", "https://xn--fsqu00a.example/%E8%B7%AF%E5%BE%84"),
        link("HTTPS://D.example", "https://d.example/"),
        link("https://e.example/"),
        link("https://f.example/"),
    ]);
    await eventually(() => links(".comment"), [link("https://g.example/")]);
    assert.equal(await window.page.locator("article .body").innerText(), text);
});

test("the hot list has what is liked first", async () => {
    const { author, reader, post } = await published();
    const cold = await server.publish(author, "Nobody likes this");
    await server.call(reader, "PUT", `/v1/posts/${post}/fav`);
    const window = await open(reader);
    await window.page.click("[data-nav=hot]");
    // The inbox, which is left, has both rows, too, in the other order.
    const ids = () => window.page.locator("main [data-row]").evaluateAll((rows) => rows.map((row) => +row.dataset.post));
    await eventually(async () => (await ids()).filter((id) => id === post || id === cold.id), [post, cold.id]);
});

test("who begins a story from the stories begins a story", async () => {
    const [author] = users(1);
    const window = await open(author);
    await window.page.click("[data-nav=stories]");
    await window.page.getByRole("link", { name: "Begin a story" }).click();
    await window.page.fill("#write-title", "Once");
    await window.page.getByRole("button", { name: "Publish" }).click();
    await window.page.fill("#scene-title", "The first scene");
    await eventually(() => window.page.locator(".toast p").allInnerTexts(), [
        "The story is there. It has nothing to read until you write its first scene, below."], "followers see nothing yet");
});

test("forms say that a picture is an address", async () => {
    const [author] = users(1);
    const story = await server.publish(author, "A story", "", "story");
    for (const [locale, says] of [["en-GB", /URL/], ["zh-CN", /网上的地址（URL）|填写.*网址/]]) {
        const window = await open(author, { locale });
        for (const [place, hint] of [["#/write", "#write-hint"], ["#/profile", "#profile-hint"], [`#/story/${story.id}`, "#scene-hint"]]) {
            await window.go(place);
            assert.match(await window.page.locator(hint).innerText(), says, place);
        }
    }
});

test("back leads to where one came from, as it was left", async () => {
    const { reader, author, post } = await published();
    await server.call(reader, "PUT", `/v1/posts/${post}/fav`);
    const window = await open(reader);
    const { page } = window;
    const back = page.locator("[data-back]");
    for (const [place, title] of [["#/hot/note", "Hot"], ["#/saved/favs", "Saved"], [`#/user/${author}`, "Author"], ["#/inbox?filter=read", "Inbox"]]) {
        await window.go(place);
        await window.row(post).locator("[data-open]").click();
        await page.waitForSelector("article.post");
        await eventually(() => back.innerText(), title);
        await page.reload();
        await eventually(() => back.innerText(), title, "also after a reload");
        assert.equal(await back.getAttribute("href"), place, "which another tab can open, too");
        await back.click();
        await eventually(() => new URL(page.url()).hash, place);
        await page.goForward();
        await eventually(() => back.innerText(), title, "and after going forward");
    }

    // From the post to its author, to whom the author follows, and back the whole way.
    await page.locator(".byline .user").click();
    await page.locator(".counters a").first().click();
    await eventually(() => back.innerText(), "Author");
    await back.click();
    await eventually(() => new URL(page.url()).hash, `#/user/${author}`);
    await page.goBack();
    await eventually(() => new URL(page.url()).hash, `#/post/${post}`);
    await eventually(() => back.innerText(), "Inbox");
});

test("who came from outside goes back to the inbox", async () => {
    const { reader, post } = await published();
    const window = await open(reader);
    await window.page.goto("about:blank");
    await window.page.goto(`${window.server.origin}/#/post/${post}`);
    await window.page.waitForSelector("article.post");
    await eventually(() => window.page.locator("[data-back]").innerText(), "Inbox");
    await window.page.getByRole("button", { name: "Mark unread" }).click();
    await eventually(() => new URL(window.page.url()).hash, "#/inbox");
    await eventually(() => window.rowState(post), "unread");
});

test("people: one follows and unfollows in the list, and it is undone if the server refuses", async () => {
    const [me, ann, ben] = users(3);
    await server.name(ann, "Follow Ann");
    await server.name(ben, "Follow Ben");
    await server.follow(ann, me);
    await server.follow(ben, me);
    await server.follow(me, ben);
    const window = await open(me);
    const button = (id) => window.page.locator(`[data-follow="${id}"]`);
    const status = async (id) => (await server.call(me, "GET", `/v1/relation/status?user_id=${id}`)).following;
    await window.go(`#/followers/${me}`);
    await eventually(() => button(ann).innerText(), "Follow");
    assert.equal(await button(ben).innerText(), "Unfollow");
    assert.equal(await button(ann).getAttribute("aria-label"), "Follow: Follow Ann");
    await button(ann).click();
    await eventually(() => button(ann).innerText(), "Unfollow");
    await eventually(() => status(ann), true);
    await button(ben).click();
    await eventually(() => status(ben), false);

    await window.page.route("**/v1/relation/follow", (route) => route.abort());
    await button(ben).click();
    await window.page.waitForSelector(".toast.error");
    await eventually(() => button(ben).innerText(), "Follow");
    await window.page.unroute("**/v1/relation/follow");

    await window.page.fill("#people-search", "Follow");
    await eventually(() => button(ann).innerText(), "Unfollow", "and those who are found have it");
    await window.go(`#/following/${ann}`);
    await window.page.locator("main [data-row]").waitFor();
    assert.equal(await button(me).count(), 0, "nobody follows oneself");
});

test("what is being written stays through leaving and reloading, until it is published, discarded, or one signs out", async () => {
    const [author, other] = users(2);
    const window = await open(author);
    const { page } = window;
    const fields = async () => [await page.inputValue("#write-title"), await page.inputValue("#write-body"),
        await page.locator("[name=kind]:checked").getAttribute("value")];
    const write = async (title) => {
        await page.fill("#write-title", title);
        await page.fill("#write-body", "Half a sentence");
        await page.getByText("Activity", { exact: true }).click();
    };
    const back = async () => {
        await page.click("[data-nav=inbox]");
        await page.waitForSelector("[data-mark-all]");
        await page.click("[data-nav=write]");
    };
    await page.click("[data-nav=write]");
    await write("A draft");
    await back();
    await eventually(fields, ["A draft", "Half a sentence", "activity"]);
    await page.reload();
    await eventually(fields, ["A draft", "Half a sentence", "activity"]);
    await page.goto("about:blank");
    await page.goto(`${window.server.origin}/#/write`);
    await eventually(fields, ["A draft", "Half a sentence", "activity"]);
    await page.getByRole("button", { name: "Publish" }).click();
    await page.waitForSelector("article.post");
    await page.click("[data-nav=write]");
    await eventually(fields, ["", "", "note"]);

    await write("Never mind");
    await page.getByRole("button", { name: "Discard" }).click();
    await eventually(fields, ["", "", "activity"]);
    await back();
    await eventually(fields, ["", "", "note"]);

    await write("Mine alone");
    await page.getByRole("button", { name: "Sign out" }).click();
    await page.waitForSelector("main.sign-in");
    assert.doesNotMatch(await page.evaluate(() => JSON.stringify(localStorage)), /Mine alone/);
    await window.signIn(other);
    await window.go("#/write");
    await eventually(fields, ["", "", "note"]);
});
