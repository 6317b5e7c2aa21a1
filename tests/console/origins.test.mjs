// A page of another origin calls the API from a real browser: cors_origins says whether it may read what comes back, and
// its EventSource opens a stream with a ticket.
import assert from "node:assert/strict";
import { createServer } from "node:http";
import { after, test } from "node:test";
import { stage } from "./support/stage.mjs";
import { until } from "./support/browser.mjs";

const pages = [];

/** An empty page on a port of its own, and so of an origin of its own. */
async function serveAPage() {
    const page = createServer((_, answer) => answer.setHeader("Content-Type", "text/html").end("<!doctype html>"));
    await new Promise((done) => page.listen(0, "127.0.0.1", done));
    pages.push(page);
    return `http://127.0.0.1:${page.address().port}`;
}

const [allowed, stranger] = [await serveAPage(), await serveAPage()];
const { server, users, window } = stage({ args: ["--cors-origins", allowed] });
after(() => {
    for (const page of pages) {
        page.close();
        page.closeAllConnections();
    }
});

async function open(origin) {
    const { page } = await window();
    await page.goto(origin);
    return page;
}

/** What a script of the page gets: the answer, as far as it may be read, or the error. */
const call = (page, path, how) =>
    page.evaluate(
        async ([url, options]) => {
            try {
                const answer = await fetch(url, options);
                const names = ["x-request-id", "ratelimit", "etag", "www-authenticate", "retry-after"];
                const headers = Object.fromEntries(names.map((name) => [name, answer.headers.get(name)]));
                const text = await answer.text();
                return { status: answer.status, headers, body: text ? JSON.parse(text) : null };
            } catch (error) {
                return { error: error.name };
            }
        },
        [`${server.origin}${path}`, how],
    );

const as = (user, more = {}) => ({ Authorization: `Bearer ${server.token(user)}`, ...more });

test("a page of an allowed origin reads answers, refusals and their headers", async () => {
    const [reader, author] = users(2);
    const page = await open(allowed);
    const followed = await call(page, "/v1/relation/follow", {
        method: "POST",
        headers: as(reader, { "Content-Type": "application/json", "Idempotency-Key": "k" }),
        body: JSON.stringify({ user_id: author }),
    });
    assert.equal(followed.status, 200);
    await server.publish(author, "Hello");
    const badge = await call(page, "/v1/inbox/badge", { headers: as(reader) });
    assert.deepEqual(badge.body, { total: 1 });
    assert.match(badge.headers["x-request-id"], /^[0-9a-f]{16}$/);
    const unfollowed = await call(page, "/v1/relation/unfollow", {
        method: "POST",
        headers: as(reader, { "Content-Type": "application/json" }),
        body: JSON.stringify({ user_id: author }),
    });
    assert.match(unfollowed.headers.ratelimit, /^"follow"/);
    const renamed = await call(page, "/v1/users/me", {
        method: "PUT",
        headers: as(reader, { "Content-Type": "application/json" }),
        body: JSON.stringify({ name: "Robin", avatar: "" }),
        credentials: "include",
    });
    assert.equal(renamed.body.name, "Robin");
    const unknown = await call(page, "/v1/inbox/badge", {});
    assert.deepEqual([unknown.status, unknown.body.code], [401, "token_missing"]);
    assert.match(unknown.headers["www-authenticate"], /^Bearer /);
    const missing = await call(page, "/v1/posts/999", { headers: as(reader) });
    assert.deepEqual([missing.status, missing.body.code], [404, "not_found"]);
    const large = await call(page, "/v1/posts", { method: "POST", headers: as(reader), body: "x".repeat(200_000) });
    assert.deepEqual([large.status, large.body.code], [413, "body_too_large"]);
    assert.ok((await call(page, "/v1/openapi.json", {})).headers.etag);
});

test("a page of any other origin reads nothing and sends nothing that would need asking", async () => {
    const [author] = users(1);
    const page = await open(stranger);
    assert.deepEqual(await call(page, "/v1/inbox/badge", { headers: as(author) }), { error: "TypeError" });
    const published = await call(page, "/v1/posts", {
        method: "POST",
        headers: as(author),
        body: JSON.stringify({ kind: "note", title: "No", body: "" }),
    });
    assert.deepEqual(published, { error: "TypeError" });
    const { posts } = await server.call(author, "GET", `/v1/relation/counter?user_id=${author}`);
    assert.equal(posts, 0);
});

/** An EventSource in the page; what it hears is in `heard` of that name. */
const listen = (page, name, url) =>
    page.evaluate(
        ([key, address]) => {
            const heard = { open: false, closed: false, posts: [] };
            const source = new EventSource(address);
            source.onopen = () => (heard.open = true);
            source.onerror = () => (heard.closed ||= source.readyState === EventSource.CLOSED);
            source.addEventListener("post", (event) => heard.posts.push(JSON.parse(event.data)));
            globalThis[key] = heard;
        },
        [name, url],
    );

test("EventSource opens a stream of another origin with a ticket, once", async () => {
    const [reader, author] = users(2);
    await server.follow(reader, author);
    const page = await open(allowed);
    const { status, body } = await call(page, "/v1/stream/ticket", { method: "POST", headers: as(reader) });
    assert.equal(status, 201);
    const url = `${server.origin}/v1/stream?ticket=${encodeURIComponent(body.ticket)}`;
    await listen(page, "first", url);
    await page.waitForFunction(() => globalThis.first.open);
    const post = await server.publish(author, "To those who listen");
    await until(() => page.evaluate((id) => globalThis.first.posts.some((one) => one.post_id === id), post.id), "the post");
    await listen(page, "second", url);
    await page.waitForFunction(() => globalThis.second.closed);
    assert.equal(await page.evaluate(() => globalThis.second.open), false);
});
