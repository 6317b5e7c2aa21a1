// Sessions: a new tab, a bookmark and a shared link are signed in; signing out ends it in all tabs; nothing of it is
// of use to a script or to another page; and a token that is refused says why.
import assert from "node:assert/strict";
import { createHmac } from "node:crypto";
import { createServer } from "node:http";
import { test } from "node:test";
import { eventually } from "./support/browser.mjs";
import { SECRET } from "./support/server.mjs";
import { stage } from "./support/stage.mjs";

const { server, users, open, window: fresh } = stage();
const demo = stage({ dev: true });

/** A token of any claims, signed with the server's key or another. */
function forged(claims, secret = SECRET) {
    const part = (data) => Buffer.from(typeof data === "string" ? data : JSON.stringify(data)).toString("base64url");
    const text = `${part({ alg: "HS256", typ: "JWT" })}.${part(claims)}`;
    return `${text}.${createHmac("sha256", secret).update(text).digest("base64url")}`;
}

const in_s = (seconds) => Math.floor(Date.now() / 1000) + seconds;

test("Ctrl-click, a bookmark and a shared link open signed in", async () => {
    const [reader, author] = users(2);
    await server.name(reader, "Robin");
    await server.follow(reader, author);
    const post = await server.publish(author, "To be shared", "Its text.");
    const window = await open(reader);
    const context = window.page.context();

    const [clicked] = await Promise.all([context.waitForEvent("page"),
        window.row(post.id).locator("[data-open]").click({ modifiers: ["Control"] })]);
    await clicked.getByText("Its text.").waitFor();

    await clicked.close();
    await window.page.close(); // no tab is left
    const bookmark = await context.newPage();
    await bookmark.goto(`${server.origin}/#/post/${post.id}`);
    await bookmark.getByText("Its text.").waitFor();
    await bookmark.locator(".who strong", { hasText: "Robin" }).waitFor();

    // A link on a page of another site.
    const site = createServer((_, answer) => answer.writeHead(200, { "Content-Type": "text/html" }).end(
        `<a href="${server.origin}/#/post/${post.id}">look</a>`));
    await new Promise((done) => site.listen(0, "127.0.0.1", done));
    try {
        const other = await context.newPage();
        await other.goto(`http://127.0.0.1:${site.address().port}/`);
        await other.click("a");
        await other.getByText("Its text.").waitFor();
    } finally {
        site.close();
        site.closeAllConnections();
    }
});

test("signing out ends it in every tab at once, and for good", async () => {
    const [user, next] = users(2);
    const window = await open(user);
    const context = window.page.context();
    const other = await context.newPage();
    await other.goto(`${window.server.origin}/#/hot`);
    await other.waitForSelector("[data-connection=online]", { state: "attached" });
    await eventually(async () => (await context.cookies(`${window.server.origin}/v1/`)).map((one) => one.name), ["tidings-user"]);
    await window.page.getByRole("button", { name: "Sign out" }).click();
    for (const page of [window.page, other]) await page.waitForSelector("main.sign-in");
    await eventually(async () => (await context.cookies()).length, 0);
    await other.reload();
    await other.waitForSelector("main.sign-in");

    // Who signs in next is signed in everywhere, as nobody else.
    await server.name(next, "Next");
    await window.signIn(next);
    await other.locator(".who strong", { hasText: "Next" }).waitFor();
});

test("no script can read the token, and nothing that another page sends counts", async () => {
    const [user, author] = users(2);
    const window = await open(user);
    const { page } = window;
    const [cookie] = await page.context().cookies(`${server.origin}/v1/`);
    assert.deepEqual([cookie.httpOnly, cookie.sameSite, cookie.expires, cookie.path], [true, "Strict", -1, "/v1"]);
    const seen = await page.evaluate(() => document.cookie + JSON.stringify(localStorage) + JSON.stringify(sessionStorage));
    assert.doesNotMatch(seen, /eyJ/, "no token where scripts look");

    // Another port is the same site: its requests have the cookie, and still are nobody's.
    let had = "";
    const site = createServer((request, answer) => {
        had = request.headers.cookie ?? had;
        answer.writeHead(200, { "Content-Type": "text/html" }).end("<!doctype html>");
    });
    await new Promise((done) => site.listen(0, "127.0.0.1", done));
    try {
        const evil = await page.context().newPage();
        await evil.goto(`http://127.0.0.1:${site.address().port}/v1/`);
        assert.match(had, /tidings-user/, "so that the test tests something");
        const sent = await evil.evaluate(async ([origin, id]) => {
            const follow = (headers) => fetch(`${origin}/v1/relation/follow`, {
                method: "POST", mode: headers ? "cors" : "no-cors", credentials: "include", ...(headers ? { headers } : {}),
                body: JSON.stringify({ user_id: id }),
            }).then((answer) => answer.type, () => "blocked");
            return [await follow(), await follow({ "Tidings-Session": "user" })];
        }, [server.origin, author]);
        assert.deepEqual(sent, ["opaque", "blocked"]);
    } finally {
        site.close();
        site.closeAllConnections();
    }
    const status = await server.call(user, "GET", `/v1/relation/status?user_id=${author}`);
    assert.equal(status.following, false);
});

test("a token that is refused says why, in both languages", async () => {
    const [user] = users(1);
    const good = server.token(user).split(".");
    const cases = [
        ["not a token", /three parts/, /三段/],
        [`${good[0]}.${good[1]}.${"A".repeat(43)}`, /not signed with a key/, /密钥/],
        [forged({ sub: String(user), exp: in_s(600) }, "another secret, also of 32 bytes or more"), /not of this server/, /不属于本服务器/],
        [forged({ sub: String(user), exp: in_s(-3600) }), /has expired/, /已过期/],
        [forged({ sub: String(user), exp: in_s(7200), nbf: in_s(3600) }), /does not hold yet/, /尚未生效/],
        [forged({ sub: "nobody", exp: in_s(600) }), /what it says is not right\.\s*\S+/, /内容不对。\s*\S+/],
    ];
    for (const [locale, at, button] of [["en-GB", 1, "Sign in"], ["zh-CN", 2, "登录"]]) {
        const { page } = await fresh({ locale });
        await page.goto(server.origin);
        for (const [token, ...texts] of cases) {
            await page.fill("#token", token);
            await page.getByRole("button", { name: button }).click();
            await page.locator("[role=alert]", { hasText: texts[at - 1] }).waitFor();
            assert.equal((await page.context().cookies()).length, 0);
        }
        await page.fill("#token", `Bearer ${server.token(user)}\n`); // as it is copied
        await page.getByRole("button", { name: button }).click();
        await page.waitForSelector("[data-connection=online]", { state: "attached" });
    }
});

test("a session whose token the server does not take any more ends, and keeps the draft", async () => {
    const [user] = users(1);
    const window = await open(user);
    const { page } = window;
    await window.go("#/write");
    await page.fill("#write-title", "Not lost");
    await page.context().clearCookies();
    await page.reload();
    await page.waitForSelector("main.sign-in");
    await window.sees("Please sign in again.");
    await window.signIn(user);
    await window.go("#/write");
    await eventually(() => page.inputValue("#write-title"), "Not lost");
});

test("a new tab acts for whom the tab acts that it was opened from; each keeps its own", async () => {
    const window = await demo.window();
    await window.enter();
    const { page } = window;
    const who = (tab) => tab.locator(".who strong").innerText();
    await page.selectOption("#act-as", { label: "Ann" });
    await eventually(() => who(page), "Ann");
    const [second] = await Promise.all([page.context().waitForEvent("page"), page.click(".new-window")]);
    await eventually(() => who(second), "Ann");
    await second.selectOption("#act-as", { label: "Mateo" });
    await eventually(() => who(second), "Mateo");
    assert.equal(await who(page), "Ann");
    await page.reload();
    await eventually(() => who(page), "Ann");
    const [third] = await Promise.all([page.context().waitForEvent("page"),
        page.locator("[data-nav=hot]").click({ modifiers: ["Control"] })]);
    await eventually(() => who(third), "Ann", "the tab it was opened from was used last");
    await third.locator("[data-nav=operator]").click();
    await third.waitForSelector(".chart canvas"); // with the administrator's token
    assert.doesNotMatch(await page.evaluate(() => JSON.stringify(localStorage) + JSON.stringify(sessionStorage)), /eyJ/);
});

test("a stranger's link signs nobody out, and nobody in as somebody else without being asked", async () => {
    const [user, stranger] = users(2);
    await server.name(user, "Robin");
    await server.name(stranger, "Mallory");
    const window = await open(user);
    const { page } = window;
    const who = () => page.locator(".who strong").innerText();
    for (const token of ["x", "a.b.c", forged({ sub: String(user), exp: in_s(-3600) })]) {
        await window.go(`#dev=${token}`);
        await page.locator(".toast.error").last().waitFor();
        await page.locator(".toast.error button").last().click();
        await eventually(who, "Robin");
    }
    await window.go(`#dev=${server.token(stranger)}`);
    await page.locator("dialog", { hasText: `as user ${stranger}` }).getByRole("button", { name: "Cancel" }).click();
    await page.reload();
    await window.online();
    await eventually(who, "Robin");
    await window.go(`#dev=${server.token(stranger)}`);
    await window.confirm();
    await eventually(who, "Mallory");
});
