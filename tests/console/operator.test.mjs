/** The operator's page against a server that is really at work. */
import assert from "node:assert/strict";
import { readdirSync } from "node:fs";
import { createServer } from "node:http";
import { test } from "node:test";
import { until } from "./support/browser.mjs";
import { Server } from "./support/server.mjs";
import { withDemo } from "./support/stage.mjs";

/** What a data directory has, and a database does not. */

const legend = (page, chart, i = 0) =>
    page.locator(".chart", { has: page.getByText(chart, { exact: true }) }).locator(".legend strong").nth(i).textContent();

test("charts show what happens, and stay as wide as their place", () =>
    withDemo([], async ({ server, open }) => {
        const page = await open("operator");
        await page.waitForSelector(".chart canvas");
        assert.equal(await page.locator(".chart canvas").count(), 8);
        let stop = false;
        const load = (async () => {
            while (!stop) await server.call(1, "POST", "/v1/posts", { kind: "note", title: "t" });
        })();
        await until(async () => parseFloat(await legend(page, "Requests")) > 5, "requests");
        await until(async () => parseFloat(await legend(page, "Writes to disk")) > 5, "batches");
        await until(async () => /(µs|ms)$/.test(await legend(page, "Time to answer", 1)), "latency");
        await until(async () => /(µs|ms)$/.test(await legend(page, "Time of a write to disk")), "time to sync");
        assert.match(await legend(page, "Room on the disk"), /KiB|MiB/);
        stop = true;
        await load;
        await page.setViewportSize({ width: 390, height: 844 });
        await until(() => page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), "it fits a phone");
        const [box, canvas] = await page.locator(".chart").first().evaluate((figure) =>
            [".chart-box", "canvas"].map((name) => figure.querySelector(name).getBoundingClientRect().width));
        assert.ok(Math.abs(box - canvas) < 2, "resized with its box");
    }));

test("charts begin with what the server remembers", () =>
    withDemo([], async ({ server, open }) => {
        const samples = () => server.call(1, "GET", "/v1/admin/samples", undefined, "admin");
        await until(async () => (await samples()).items.length > 2, "the server has taken samples");
        const { items } = await samples();
        const page = await open("stories");
        await page.route("**/v1/admin/metrics", () => undefined); // never answered: nothing but the past
        await page.goto(`${server.origin}/#/operator`);
        await until(async () => parseFloat(await legend(page, "Requests")) > 0, "the past is there");
        assert.match(await legend(page, "Room on the disk"), /KiB|MiB/);
        const [first, last] = [items[0].at, items.at(-1).at];
        assert.ok(last - first >= 9000, "and is not of this moment");
    }));

test("at 1280 × 860 the table of events fits, tiles stand in equal rows, and the column at the side does not scroll", () =>
    withDemo([], async ({ server, open }) => {
        const story = await server.demoStory("The lighthouse");
        await server.scene(5, story, "A scene", ["one"]);
        const page = await open("operator/events", { viewport: { width: 1280, height: 860 } });
        await page.waitForSelector("td:has-text('ScenePublished')");
        const beyond = (selector, side) =>
            page.locator(selector).evaluate((box, of) => box[`scroll${of}`] - box[`client${of}`], side);
        assert.ok((await beyond(".table", "Width")) <= 0, "the table");
        assert.ok((await beyond(".side", "Height")) <= 0, "the column");
        await page.goto(`${server.origin}/#/operator`);
        await page.waitForSelector(".fact");
        const perRow = async () => {
            const facts = page.locator(".facts").first().locator(".fact");
            const tops = await facts.evaluateAll((all) => all.map((one) => one.getBoundingClientRect().top));
            return [...new Set(tops)].map((top) => tops.filter((other) => other === top).length);
        };
        assert.deepEqual(await perRow(), [4, 4]);
        await page.setViewportSize({ width: 390, height: 844 });
        assert.deepEqual(await perRow(), [2, 2, 2, 2]);
    }));

test("a server alone shows targets when it has some, with their dead letters", () =>
    withDemo(["--webhook-allow", "127.0.0.1", "--webhook-give-up-hours", "0"], async ({ server, open }) => {
        const receiver = createServer((_, answer) => answer.writeHead(500).end());
        await new Promise((done) => receiver.listen(0, "127.0.0.1", done));
        try {
            const page = await open("operator");
            await page.waitForSelector(".fact");
            await page.waitForTimeout(2500);
            assert.equal(await page.locator(".shared").count(), 0, "nothing to show");
            const hook = { url: `http://127.0.0.1:${receiver.address().port}/`, secret: "sixteen letters at least" };
            await server.call(1, "PUT", "/v1/admin/webhooks/gateway", hook, "admin");
            const row = page.locator("tr[data-target='webhook:gateway']");
            await row.locator(".state-ok").waitFor();
            assert.match(await row.textContent(), /no0$/);
            await server.scene(5, await server.demoStory("The lighthouse"), "x", ["y"]);
            await until(async () => /500/.test(await row.textContent()), "its trouble");
            await until(async () => (await row.locator("td.bad").count()) && (await row.locator("td.bad").textContent()) === "1",
                "its dead letter");
            assert.equal(await page.locator("[data-replica]").count(), 0, "it is alone");
        } finally {
            receiver.close();
        }
    }));

/** A port that is free now. */
const PEER = await new Promise((done) => {
    const server = createServer().listen(0, "127.0.0.1", () => {
        const { port } = server.address();
        server.close(() => done(port));
    });
});

test("a server and its standby show what they are, and how far", () =>
    withDemo(["--peer-listen", `127.0.0.1:${PEER}`], async ({ server, open }) => {
        const key = `${server.data}/peer.key`;
        const standby = new Server({ args: ["--follow", `tidings://127.0.0.1:${PEER}`, "--peer-key-file", key] });
        try {
            await standby.start();
            const page = await open("operator");
            const card = page.locator("[data-replica=writer]");
            await until(async () => /behind by 0 writes/.test(await card.textContent()), "its follower");
            const status = await standby.call(1, "GET", "/v1/admin/status", undefined, "admin");
            await page.route("**/v1/admin/status", (route) => route.fulfill({ json: status }));
            const other = page.locator("[data-replica=follower]");
            await other.waitFor();
            assert.match(await other.textContent(), new RegExp(`a follower.*127\\.0\\.0\\.1:${PEER}`));
            const broken = { ...status.replica.following, connected: false, broken: true, trouble: "the histories differ" };
            await page.unroute("**/v1/admin/status");
            await page.route("**/v1/admin/status", (route) =>
                route.fulfill({ json: { ...status, replica: { ...status.replica, following: broken } } }));
            await other.locator("[role=alert]", { hasText: "the histories differ" }).waitFor();
        } finally {
            await standby.close();
        }
    }));

test("the tail follows events, and filters choose among them", () =>
    withDemo([], async ({ server, open }) => {
        const page = await open("operator/events");
        await server.call(77, "POST", "/v1/relation/follow", { user_id: 2 });
        await page.waitForSelector("td:has-text('FollowCreated')");
        await server.call(78, "POST", "/v1/posts", { kind: "note", title: "t" });
        await page.waitForSelector("tr:has-text('PostPublished') >> text=78");
        await page.getByLabel("Type").selectOption("FollowCreated");
        await page.getByLabel("Who").fill("77");
        await until(async () => (await page.locator("tbody tr").count()) === 1, "only the one");
        assert.match(await page.locator("tbody tr").textContent(), /FollowCreated77user 2\+1/);
        await page.getByRole("button", { name: "Pause" }).click();
        await server.call(77, "POST", "/v1/relation/unfollow", { user_id: 2 });
        await server.call(77, "POST", "/v1/relation/follow", { user_id: 2 });
        await page.waitForTimeout(1500);
        assert.equal(await page.locator("tbody tr").count(), 1);
        await page.getByRole("button", { name: "Go on" }).click();
        await until(async () => (await page.locator("tbody tr").count()) === 2, "it goes on");
    }));

test("a webhook is added, seen failing, tried again, and removed", () =>
    withDemo(["--webhook-allow", "127.0.0.1"], async ({ server, open }) => {
        let status = 500;
        const receiver = createServer((_, answer) => answer.writeHead(status).end());
        await new Promise((done) => receiver.listen(0, "127.0.0.1", done));
        try {
            const page = await open("operator/webhooks");
            await page.fill("#hook-name", "gateway");
            await page.fill("#hook-url", "http://10.1.2.3/");
            await page.fill("#hook-secret", "sixteen letters at least");
            await page.click("form.card button[type=submit]");
            await page.waitForSelector(".field-error");
            await page.fill("#hook-url", `http://127.0.0.1:${receiver.address().port}/`);
            await page.click("form.card button[type=submit]");
            const card = page.locator("li.card", { hasText: "gateway" });
            await card.locator(".state-ok").waitFor();
            const story = await server.demoStory("The lighthouse");
            await server.scene(5, story, "x", ["y"]);
            await card.locator(".state-retrying").waitFor();
            assert.match(await card.textContent(), /500/);
            status = 204;
            await card.getByRole("button", { name: "Try now" }).click();
            await until(async () => /Delivered1/.test(await card.textContent()), "it is delivered");
            await card.locator(".state-ok").waitFor();
            await card.getByRole("button", { name: "Remove" }).click();
            await page.locator("dialog").getByRole("button", { name: "Remove" }).click();
            await page.waitForSelector("text=There are no webhooks.");
        } finally {
            receiver.close();
        }
    }));

test("a webhook is told of the events that are ticked, and a change shows and keeps them", () =>
    withDemo(["--webhook-allow", "127.0.0.1"], async ({ server, open }) => {
        const told = [];
        const receiver = createServer((request, answer) => {
            let body = "";
            request.on("data", (data) => (body += data));
            request.on("end", () => (told.push(JSON.parse(body).type), answer.writeHead(204).end()));
        });
        await new Promise((done) => receiver.listen(0, "127.0.0.1", done));
        try {
            const page = await open("operator/webhooks");
            await page.fill("#hook-name", "search");
            await page.fill("#hook-url", `http://127.0.0.1:${receiver.address().port}/`);
            await page.fill("#hook-secret", "sixteen letters at least");
            await page.getByText("chosen events", { exact: true }).click();
            const submit = page.locator("form.card button[type=submit]");
            assert.equal(await submit.isDisabled(), true, "at least one");
            for (const type of ["PostEdited", "PostPublished"]) await page.locator(`.event-types input[value=${type}]`).check();
            await submit.click();
            const card = page.locator("li.card", { hasText: "search" });
            await until(async () => /: PostPublished, PostEdited$/.test(await card.locator("[data-told]").innerText()), "it says which");
            await server.publish(2, "For the index");
            await until(() => told.length, "it is told");
            assert.match(told[0], /PostPublished/);

            await card.getByRole("button", { name: "Change" }).click();
            const ticked = () => page.locator(".event-types input:checked").evaluateAll((all) => all.map((one) => one.value));
            assert.deepEqual(await ticked(), ["PostPublished", "PostEdited"]);
            await page.locator(".event-types input[value=PostEdited]").uncheck();
            await submit.click();
            await until(async () => /: PostPublished$/.test(await card.locator("[data-told]").innerText()), "changed");
            await card.getByRole("button", { name: "Change" }).click();
            await page.getByText("new scenes", { exact: true }).click();
            await submit.click();
            await until(async () => /: new scenes$/.test(await card.locator("[data-told]").innerText()), "and back");
        } finally {
            receiver.close();
        }
    }));

test("verify and backup are run, and a job of somebody else is seen at work", () =>
    withDemo([], async ({ server, open }) => {
        const page = await open("operator/care");
        await page.getByRole("button", { name: "Verify now" }).click();
        await page.waitForSelector("text=All is well");
        await page.fill("#backup-name", "mine");
        await page.getByRole("button", { name: "Back up now" }).click();
        await page.waitForSelector("text=“mine” is complete");
        assert.deepEqual(readdirSync(server.backups), ["mine"]);
        await page.fill("#backup-name", "mine");
        await page.getByRole("button", { name: "Back up now" }).click();
        await page.waitForSelector("text=There is a backup of that name already.");

        // How far it is: the server's answer, since here a job takes but a moment.
        const status = await server.call(1, "GET", "/v1/admin/status", undefined, "admin");
        assert.equal(status.job, null);
        const job = { kind: "verify", part: "users", done: 30, total: 120, started_at: Date.now() };
        await page.route("**/v1/admin/status", (route) => route.fulfill({ json: { ...status, job } }));
        await page.waitForSelector("text=30 of about 120 rows");
        assert.equal(await page.locator("progress").evaluate((bar) => bar.position), 0.25);
        assert.ok(await page.getByRole("button", { name: "Verify now" }).isDisabled());
        await page.unroute("**/v1/admin/status");
        await until(async () => (await page.locator("progress").count()) === 0, "it is over");
    }));

test("without an administrator's token there is nothing to see", () =>
    withDemo([], async ({ server, open }) => {
        const page = await open("stories");
        await page.evaluate(() => {
            const session = JSON.parse(localStorage.getItem("tidings.session"));
            localStorage.setItem("tidings.session", JSON.stringify({ ...session, hasAdmin: false }));
        });
        await page.goto(`${server.origin}/#/operator`);
        await page.reload();
        await page.waitForSelector("text=This needs a token with the role admin.");
        assert.equal(await page.locator("[data-nav=operator]").count(), 0);
    }));
