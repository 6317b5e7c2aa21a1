// Text of users is text, wherever it is shown: no script runs, no element comes of it, the
// Content-Security-Policy has nothing to stop, and nothing but pictures of the web is asked of other hosts.
import assert from "node:assert/strict";
import { test } from "node:test";
import { eventually } from "./support/browser.mjs";
import { stage } from "./support/stage.mjs";

const { server, users, window: fresh } = stage();

const corpus = [
    "<script>pwned()</script>",
    "<img src=x onerror=pwned()>",
    '"><svg onload=pwned()><b class=injected>',
    "'-pwned()-'\" autofocus onfocus=pwned() x='",
    "</title></textarea></style></script><script>pwned()</script>",
    "<iframe srcdoc='<script>parent.pwned()</script>'>",
    "<a class=injected href=javascript:pwned()>x</a>",
    "<form class=injected action=javascript:pwned()><button>x",
    "<style>*{background:url(javascript:pwned())}</style>",
    "<meta http-equiv=refresh content='0;url=javascript:pwned()'><base href=//evil.example/>",
    "<math><mtext></p><mglyph><style><img src=x onerror=pwned()>",
    "&lt;img src=x onerror=pwned()&gt;&#60;b&#62;",
    "{{constructor.constructor('pwned()')()}} ${pwned()} #{pwned()}",
    "javascript:pwned()//",
    "__proto__ constructor toString",
    "\u202eabc\u202c<b class=injected>\u2028\u200b",
];

const pictures = [
    "javascript:pwned()",
    "JaVaScRiPt:pwned()",
    " javascript:pwned()",
    "data:text/html,<script>pwned()</script>",
    "data:image/svg+xml,<svg xmlns='http://www.w3.org/2000/svg' onload='pwned()'/>",
    "vbscript:pwned()",
    "blob:pwned",
    "file:///etc/passwd",
    "//evil.example/x.png",
    "https://evil.example/x.png\" onerror=\"pwned()",
    "https://evil.example/<script>pwned()</script>",
];

/** Before any script of the page: tells when something runs, or had to be stopped. */
function watch() {
    window.caught = [];
    window.pwned = () => window.caught.push("a script ran");
    addEventListener("securitypolicyviolation", (event) =>
        window.caught.push(`${event.violatedDirective}: ${event.blockedURI} ${event.sourceFile}`));
}

/** Whatever is in the page that the console does not make. */
function strangers() {
    const isLink = (url) => /^(#|\/|https?:\/\/)/.test(url) && !/^\/\//.test(url);
    const found = [];
    for (const element of document.querySelectorAll("*")) {
        const name = element.localName;
        const say = (why) => found.push(`${why}: ${element.outerHTML.slice(0, 200)}`);
        if (/^(iframe|frame|object|embed|base|math|mtext|mglyph|style|marquee)$/.test(name)) say("element");
        if (name === "script" && !/^\/assets\//.test(element.getAttribute("src") ?? "")) say("script");
        if (name === "meta" && element.getAttribute("http-equiv")) say("meta");
        if (element.classList.contains("injected")) say("injected");
        for (const { name: attribute, value } of element.attributes) {
            if (/^on/.test(attribute)) say("handler");
            if (attribute === "srcdoc" || attribute === "autofocus" || attribute === "formaction") say("attribute");
            if (attribute === "href" && name !== "link" && !isLink(value)) say("link");
            if (attribute === "src" && name === "img" && !/^https?:\/\//.test(value)) say("picture");
            if (attribute === "action") say("action");
        }
    }
    return found;
}

test("a hostile corpus in every text field stays text on every page", async () => {
    const [author, reader] = users(2);
    const parts = [...corpus, ...pictures.map((url) => `[img]${url}[/img]`)];
    const all = parts.join("\n");
    await server.follow(reader, author);
    await server.name(author, corpus[2]);
    // What could end an attribute is refused; this is what is not.
    await assert.rejects(server.name(reader, corpus[1], "https://evil.example/a.png?\"><script>"), /avatar/);
    await server.name(reader, corpus[1], "https://evil.example/a.png?'onerror=alert(1)//");
    const posts = [];
    for (const text of corpus) posts.push((await server.publish(author, text, all)).id);
    const gone = await server.publish(author, corpus[0], all, "activity");
    await server.call(author, "DELETE", `/v1/posts/${gone.id}`);
    const [post] = posts;
    for (const text of parts) await server.comment(reader, post, text);
    const first = await server.comment(author, post, corpus[1]);
    await server.comment(reader, post, all, first.id);
    const story = await server.publish(author, corpus[1], all, "story");
    await server.call(reader, "PUT", `/v1/stories/${story.id}/subscription`);
    for (const text of corpus.slice(0, 4)) await server.scene(author, story.id, text, parts);
    await server.call(reader, "PUT", `/v1/posts/${post}/like`);
    await server.call(reader, "PUT", `/v1/posts/${post}/fav`);

    const page = await fresh();
    await page.page.addInitScript(watch);
    const foreign = [];
    page.page.on("request", (request) => {
        if (!request.url().startsWith(server.origin)) foreign.push([request.resourceType(), request.url()]);
    });
    await page.signIn(reader);

    const clean = async (where) => {
        assert.deepEqual(await page.page.evaluate(strangers), [], where);
        assert.deepEqual(await page.page.evaluate(() => window.caught), [], where);
    };
    /** Goes there, and wants to see the texts as they were written. */
    const visit = async (hash, selector, texts) => {
        await page.go(hash);
        for (const text of texts)
            await eventually(() =>
                page.page.evaluate(
                    ([where, what]) => [...document.querySelectorAll(where)].some((one) => one.textContent.includes(what)),
                    [selector, text],
                ), true, `${hash} shows ${text}`);
        await clean(hash);
    };

    await visit("#/inbox", "main [data-row] h2", corpus);
    await visit("#/inbox", "main [data-row] .user", [corpus[2]]);
    await visit("#/inbox", ".chip", [corpus[2]]);
    await visit("#/inbox", ".who", [corpus[1]]);
    await visit(`#/post/${post}`, "article h1", [corpus[0]]);
    await eventually(async () => (await page.page.title()).includes(corpus[0]), true);
    await visit(`#/post/${post}`, "article .body", corpus);
    await visit(`#/post/${post}`, "article .body", pictures.slice(0, 9).map((url) => url.trim()));
    await page.page.getByText("Oldest", { exact: true }).click();
    await page.page.mouse.move(700, 400);
    await eventually(async () => {
        await page.page.mouse.wheel(0, 4000);
        return page.page.locator(".comments > .thread > .comment").count();
    }, parts.length + 1);
    await visit(`#/post/${post}`, ".comment .body", corpus);
    await visit(`#/post/${gone.id}`, "article h1", [corpus[0]]);
    await visit(`#/user/${author}`, ".person h1", [corpus[2]]);
    await visit(`#/followers/${author}`, "main .user, main [data-open]", [corpus[1]]);
    await visit("#/hot", "main [data-row] h2", [corpus[0]]);
    await visit("#/history", "main [data-row] h2", [corpus[0]]);
    await visit("#/saved", "main [data-row] h2", [corpus[0]]);
    await visit("#/stories", "main [data-row]", [corpus[1]]);
    await visit("#/notifications", "main [data-row]", corpus.slice(0, 4));
    await visit(`#/story/${story.id}`, ".story h1", [corpus[1]]);
    for (const _ of parts) await page.page.keyboard.press("Space");
    await visit(`#/story/${story.id}`, ".bubble", corpus);
    await visit(`#/story/${story.id}`, ".scenes button", corpus.slice(0, 4));
    await visit("#/profile", ".who", [corpus[1]]);
    assert.equal(await page.page.inputValue("#profile-name"), corpus[1]);

    // Toasts, questions, the window's title.
    await page.go("#/hot");
    await server.publish(author, corpus[1]);
    await page.page.locator(".toast", { hasText: corpus[1] }).waitFor();
    await clean("toast");
    const strange = foreign.filter(([kind, url]) => kind !== "image" || !/^https?:\/\/evil\.example\//.test(url));
    assert.deepEqual(strange, []);

    const own = await fresh();
    await own.page.addInitScript(watch);
    await own.signIn(author);
    await own.go(`#/post/${posts[1]}`);
    await own.page.getByRole("button", { name: "Delete this post" }).click();
    await own.page.locator("dialog", { hasText: corpus[1] }).waitFor();
    assert.deepEqual(await own.page.evaluate(strangers), []);
    assert.deepEqual(await own.page.evaluate(() => window.caught), []);
});

test("nor does anything come of what webhooks are called, where they are and what they answer", async () => {
    const [admin] = users(1);
    const secret = "sixteen letters at least";
    const put = (name, url) =>
        server.call(admin, "PUT", `/v1/admin/webhooks/${encodeURIComponent(name)}`, { url, secret, disabled: true }, "admin");
    // What the server lets in.
    const taken = [];
    for (const [i, text] of corpus.entries()) {
        const url = `https://evil.example/?${encodeURIComponent(text).replaceAll("'", "%27")}#'"pwned()`;
        for (const made of [url, `https://evil.example/${text}`, text])
            await put(`hook-${i}`, made).then(() => taken.push(made), () => undefined);
        await put(text, "https://evil.example/").then(() => taken.push(text), () => undefined);
    }
    assert.ok(taken.length > 0, "some of it is let in");
    const window = await fresh();
    await window.page.addInitScript(watch);
    await window.signIn(admin, "admin");
    const clean = async (where) => {
        assert.deepEqual(await window.page.evaluate(strangers), [], where);
        assert.deepEqual(await window.page.evaluate(() => window.caught), [], where);
    };
    const { items } = await server.call(admin, "GET", "/v1/admin/webhooks", undefined, "admin");
    await window.go("#/operator/webhooks");
    await eventually(() => window.page.locator("li.card .address").allTextContents(), items.map((hook) => hook.url));
    await clean("webhooks");

    // The same in the form, which says what is wrong with it.
    for (const text of corpus.slice(0, 4)) {
        await window.page.fill("#hook-name", text);
        await window.page.fill("#hook-url", "https://evil.example/");
        await window.page.fill("#hook-secret", secret);
        await window.page.click("form.card button[type=submit]");
        await window.page.locator("form.card .field-error").waitFor();
        await clean(`the form with ${text}`);
    }

    // And if the server let in everything: an answer that the test made.
    const all = corpus.map((text, i) => ({ ...items[0], name: `${text} ${i}`, url: text, state: "retrying", last_error: text }));
    await window.page.route("**/v1/admin/webhooks", (route) => route.fulfill({ json: { items: all } }));
    await eventually(() => window.page.locator("li.card h3").allTextContents(), all.map((hook) => hook.name));
    assert.deepEqual(await window.page.locator("li.card .address").allTextContents(), corpus);
    assert.deepEqual(await window.page.locator("li.card .hint code").allTextContents(), corpus);
    await clean("made up");
    const card = window.page.locator("li.card").nth(2);
    await card.getByRole("button", { name: "Change" }).click();
    await eventually(() => window.page.locator("form.card h3").textContent().then((text) => text.includes(corpus[2])), true);
    assert.equal(await window.page.inputValue("#hook-url"), corpus[2]);
    await clean("editing");
    await card.getByRole("button", { name: "Remove" }).click();
    await window.page.locator("dialog", { hasText: corpus[2] }).waitFor();
    await clean("the question");
});

test("the same typed in by hand, and in what only this browser keeps", async () => {
    const [user] = users(1);
    const window = await fresh();
    await window.page.addInitScript(watch);
    await window.page.goto(`${server.origin}/#/post/<img src=x onerror=pwned()>?filter=<script>pwned()</script>`);
    await window.page.fill("#token", corpus[0]);
    await window.page.getByRole("button", { name: "Sign in" }).click();
    await window.page.waitForSelector("[role=alert]");
    await window.signIn(user);
    for (const hash of ["#/<script>pwned()</script>", "#/__proto__", "#/constructor", "#/post/javascript:pwned()", "#dev=<svg onload=pwned()>&user=<b>"]) {
        await window.go(hash);
        await window.page.locator("main h1, main .failed, main.sign-in").first().waitFor();
        assert.deepEqual(await window.page.evaluate(strangers), [], hash);
    }
    await window.go("#/write");
    await window.page.fill("#write-title", corpus[1]);
    await window.page.fill("#write-body", `${corpus[0]} [img]${pictures[0]}[/img]`);
    await window.page.getByRole("button", { name: "Publish" }).click();
    await eventually(() => window.page.locator("article h1").textContent(), corpus[1]);
    await window.go("#/profile");
    await window.page.fill("#profile-name", corpus[2]);
    await window.page.fill("#profile-avatar", pictures[0]);
    await window.page.getByRole("button", { name: "Save" }).click();
    await window.page.locator(".toast").first().waitFor();
    assert.deepEqual(await window.page.evaluate(strangers), []);
    assert.deepEqual(await window.page.evaluate(() => window.caught), []);
});

test("the watch notices what it watches for", async () => {
    const window = await fresh();
    await window.page.addInitScript(watch);
    await window.page.goto(server.origin);
    await window.page.waitForSelector("#token");
    await window.page.evaluate((texts) => {
        for (const text of texts) document.body.insertAdjacentHTML("beforeend", text);
        const script = document.createElement("script");
        script.textContent = "pwned()";
        document.body.append(script);
    }, corpus);
    const found = await window.page.evaluate(strangers);
    for (const why of ["element", "script", "meta", "injected", "handler", "link", "picture", "action"])
        assert.ok(found.some((one) => one.startsWith(`${why}:`)), `${why} is not noticed`);
    await eventually(() => window.page.evaluate(() => window.caught.some((one) => one.startsWith("script-src"))), true);
    await eventually(() => window.wrong.length > 0, true);
    assert.ok(await window.page.evaluate(() => !window.caught.includes("a script ran")), "the policy stops it, too");
    window.wrong.length = 0;
});
