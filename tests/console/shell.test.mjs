// Around the pages: signing in, languages, colours, a phone, and a server that goes away and comes back.
import assert from "node:assert/strict";
import { test } from "node:test";
import { eventually } from "./support/browser.mjs";
import { stage } from "./support/stage.mjs";

const { server, users, open, window: fresh } = stage();

test("sign in with a token and out again; what is no token is refused", async () => {
    const [user] = users(1);
    await server.name(user, "Robin");
    const window = await fresh();
    await window.page.goto(server.origin);
    await window.page.fill("#token", "not a token");
    await window.page.getByRole("button", { name: "Sign in" }).click();
    await window.sees("This is not a token: it must be three parts");

    await window.signIn(user);
    await eventually(() => window.page.locator(".who strong").innerText(), "Robin");
    assert.equal(await window.page.locator("[data-nav=operator]").count(), 0, "not for users");
    assert.equal(await window.page.locator("#act-as-id").count(), 0, "nor acting for others");
    await window.page.reload();
    await window.online();
    await window.page.getByRole("button", { name: "Sign out" }).click();
    await window.page.waitForSelector("main.sign-in");
    await eventually(() => window.page.title(), "Sign in · Tidings");
    assert.equal(await window.page.evaluate(() => localStorage.getItem("tidings.session")), null);
});

test("Chinese and English can be switched, and the choice stays", async () => {
    const [user, author] = users(2);
    await server.follow(user, author);
    const gone = await server.publish(author, "Soon gone");
    await server.call(author, "DELETE", `/v1/posts/${gone.id}`);
    const window = await open(user);
    const heading = () => window.page.locator("main h1").innerText();
    await eventually(heading, "Inbox");
    await window.page.getByText("中文", { exact: true }).click();
    await eventually(heading, "收件箱");
    await eventually(() => window.page.title(), "收件箱 · Tidings");
    assert.equal(await window.page.evaluate(() => document.documentElement.lang), "zh-CN");
    await eventually(() => window.row(gone.id).locator(".notice").innerText(), "该笔记已被作者删除");
    await window.page.reload();
    await eventually(heading, "收件箱");
    await window.page.getByText("English", { exact: true }).click();
    await eventually(heading, "Inbox");
    await eventually(() => window.row(gone.id).locator(".notice").innerText(), "This post was deleted by its author.");

    const chinese = await fresh({ locale: "zh-CN" });
    await chinese.page.goto(server.origin);
    await eventually(() => chinese.page.locator("h1").innerText(), "登录");
});

test("light and dark: as the system has it, or as one chooses, and the choice stays", async () => {
    const [user] = users(1);
    const window = await open(user, { colorScheme: "dark" });
    const isDark = () =>
        window.page.evaluate(() => {
            const [r, g, b] = getComputedStyle(document.body).backgroundColor.match(/\d+/g).map(Number);
            return r + g + b < 3 * 128;
        });
    assert.equal(await isDark(), true);
    await window.page.emulateMedia({ colorScheme: "light" });
    await eventually(isDark, false);
    await window.page.getByText("Dark", { exact: true }).click();
    await eventually(isDark, true);
    await window.page.reload();
    await window.online();
    assert.equal(await isDark(), true);
    await window.page.getByText("Light", { exact: true }).click();
    await window.page.emulateMedia({ colorScheme: "dark" });
    await eventually(isDark, false);
});

test("a phone of 360 × 740: nothing is wider than the screen, and all can be reached", async () => {
    const [user, author] = users(2);
    await server.name(author, "A name that is quite long for a small screen, isn't it");
    await server.follow(user, author);
    const word = "Donaudampfschifffahrtsgesellschaftskapitän".repeat(3);
    const post = await server.publish(author, word, `${word} ${word}`);
    let parent = 0;
    for (let depth = 0; depth < 6; depth++) parent = (await server.comment(author, post.id, word, parent)).id;
    const story = await server.publish(author, word, word, "story");
    await server.scene(author, story.id, word, [word]);

    const window = await open(user, { viewport: { width: 360, height: 740 }, hasTouch: true, isMobile: true });
    await eventually(() => window.badge(), 2);
    const bar = await window.page.locator("[data-nav=inbox]").boundingBox();
    assert.ok(bar.y + bar.height > 600, "the navigation is at the foot");

    const places = {
        "#/inbox": "main [data-row]",
        [`#/post/${post.id}`]: ".thread .thread .comment",
        [`#/user/${author}`]: ".person",
        "#/hot": "main [data-row]",
        "#/history": "main [data-row]",
        "#/stories": "main [data-row]",
        [`#/story/${story.id}`]: "[data-read-on]",
        "#/notifications": ".settings",
        "#/write": "#write-title",
        "#/profile": "#profile-name",
    };
    for (const [place, mark] of Object.entries(places)) {
        await window.go(place);
        await window.page.locator(mark).first().waitFor();
        await eventually(() => window.fits(), true, `${place} is too wide`);
    }
    await window.page.locator("button.more").tap();
    await window.page.locator("[data-nav=history]").tap();
    await eventually(() => window.page.locator("main h1").innerText(), "History");
    assert.equal(await window.page.locator("button.more").getAttribute("aria-expanded"), "false");
});

test("on a phone the badge stays on one line, also when it says 999+", async () => {
    const [user, author] = users(2);
    await server.follow(user, author);
    const window = await open(user, { viewport: { width: 360, height: 740 }, hasTouch: true, isMobile: true });
    const badge = window.page.locator("[data-nav=inbox] .badge");
    const height = async () => (await badge.boundingBox()).height;
    await server.publish(author, "The first");
    await eventually(() => window.badge(), 1);
    const one = await height();
    for (let i = 0; i < 20; i++) await Promise.all(Array.from({ length: 50 }, () => server.publish(author, "One of many")));
    await eventually(() => badge.locator("[aria-hidden]").innerText(), "999+");
    assert.equal(await height(), one);
    assert.equal(await window.fits(), true);
});

test("on a phone one writes from any page, and no number lies over a picture", async () => {
    const [user, author] = users(2);
    await server.follow(user, author);
    const story = await server.publish(author, "A story", "", "story");
    await server.call(user, "PUT", `/v1/stories/${story.id}/subscription`);
    await server.scene(author, story.id, "A scene", ["one"]);
    const window = await open(user, { viewport: { width: 360, height: 740 }, hasTouch: true, isMobile: true });
    await eventually(() => window.badge("notifications"), 1);
    for (const word of ["inbox", "notifications"]) {
        const [icon, badge] = await Promise.all(["svg", ".badge"].map((part) => window.page.locator(`[data-nav=${word}] ${part}`).boundingBox()));
        assert.ok(badge.x >= icon.x + icon.width - 1, `${word}: the number begins where the picture ends`);
    }
    await window.page.locator("[data-write]").tap();
    await window.page.waitForSelector("#write-title");
    const inside = await window.page.locator("main .choices").evaluate((box) => {
        const outer = box.getBoundingClientRect();
        return [...box.querySelectorAll("label span")].map((one) => one.getBoundingClientRect()).every(
            (one) => Math.abs(one.top - outer.top - (outer.bottom - one.bottom)) <= 1);
    });
    assert.ok(inside, "the kinds stand in the middle of their switch");
});

test("the server dies and comes back: one is told, nothing is lost, and the counts are right again", async () => {
    const [user, author] = users(2);
    await server.follow(user, author);
    const first = await server.publish(author, "Before");
    const window = await open(user, { at: server });
    await eventually(() => window.badge(), 1);

    await server.stop("SIGKILL");
    await window.sees("The server cannot be reached. Trying again …");
    await window.row(first.id).locator("[data-mark]").click();
    await window.page.waitForSelector(".toast.error");
    await eventually(() => window.rowState(first.id), "unread");
    assert.equal(await window.badge(), 1);

    await server.start();
    const second = await server.publish(author, "While nobody listened");
    await server.call(user, "POST", "/v1/inbox/mark-read", { post_ids: [first.id] });
    const third = await server.publish(author, "And another");
    await window.online();
    await eventually(() => window.badge(), 2);
    await eventually(() => window.rowState(first.id), "read");
    await eventually(() => window.rowState(second.id), "unread");
    await eventually(() => window.rowState(third.id), "unread");
    await eventually(() => window.page.locator(".connection").innerText(), "");

    // And the stream is alive.
    await server.publish(author, "Live again");
    await eventually(() => window.badge(), 3);
});

test("a browser without a network says so at once, and goes on when there is one", async () => {
    const [user, author] = users(2);
    await server.follow(user, author);
    const window = await open(user);
    await window.page.context().setOffline(true);
    await window.page.locator(".connection.offline", { hasText: "You are offline" }).waitFor({ timeout: 3000 });
    await window.page.context().setOffline(false);
    await window.online();
    await server.publish(author, "On the air again");
    await eventually(() => window.badge(), 1);

    const chinese = await open(user, { locale: "zh-CN" });
    await chinese.page.context().setOffline(true);
    await chinese.page.locator(".connection.offline", { hasText: "你已离线" }).waitFor({ timeout: 3000 });
});

test("a long title takes two lines of a message, no more", async () => {
    const [user, author] = users(2);
    await server.follow(user, author);
    const window = await open(user);
    await window.go("#/hot");
    for (const title of ["字".repeat(200), "W".repeat(200), "long words ".repeat(18).trim()]) {
        await server.publish(author, title);
        const text = window.page.locator(".toast p", { hasText: title.slice(0, 20) }).last();
        await text.waitFor();
        const lines = await text.evaluate((one) => one.clientHeight / parseFloat(getComputedStyle(one).lineHeight));
        assert.ok(lines < 2.1, `${lines} lines`);
        assert.match(await text.getAttribute("title"), new RegExp(title.slice(0, 20)));
    }
});

test("a wide window has rows beside each other and a post beside its comments; lines stay readable", async () => {
    const [user, author] = users(2);
    await server.follow(user, author);
    const posts = [];
    for (let i = 0; i < 3; i++) posts.push((await server.publish(author, `Post ${i}`, "words and more words ".repeat(80))).id);
    await server.comment(author, posts[0], "A comment. ".repeat(40));
    const window = await open(user, { viewport: { width: 1920, height: 1080 } });
    const { page } = window;
    const box = (what) => page.locator(what).first().boundingBox();
    for (const place of ["#/inbox", `#/user/${author}`]) {
        await window.go(place);
        await window.row(posts[0]).waitFor();
        const [first, second] = [await window.row(posts[2]).boundingBox(), await window.row(posts[1]).boundingBox()];
        assert.ok(first.y === second.y && second.x > first.x + first.width, `${place}: two in a row, in order`);
        assert.ok(second.x + second.width > 1800, `${place}: to the edge`);
    }
    await window.go(`#/post/${posts[0]}`);
    await page.waitForSelector(".comment");
    const [text, comments] = [await box("article .body"), await box(".comments")];
    assert.ok(comments.x > text.x + text.width && comments.x + comments.width > 1800, "beside it, to the edge");
    assert.ok(text.width < 800 && comments.y < 150);
    await window.go("#/write");
    assert.ok((await box("#write-body")).width <= 800, "a form does not spread");
    for (const place of ["#/inbox", `#/post/${posts[0]}`, "#/hot", "#/stories", "#/notifications", "#/profile"]) {
        await window.go(place);
        assert.equal(await window.fits(), true, place);
    }

    await page.setViewportSize({ width: 1200, height: 800 });
    await window.go("#/inbox");
    await window.row(posts[0]).waitFor();
    assert.equal((await window.row(posts[2]).boundingBox()).x, (await window.row(posts[1]).boundingBox()).x, "one column where there is no room");
});
