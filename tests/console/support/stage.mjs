// A server and a browser: for all tests of a file, each of which takes users of its own, or for one test alone. On the engine
// `replica` there may be several: every call goes to any of them at random, and `open` takes one after the other.
import { after, afterEach, before } from "node:test";
import { Browser } from "./browser.mjs";
import { Server, servers } from "./server.mjs";

/** `prepare` fills the server before the first test. */
export function stage({ prepare, ...options } = {}) {
    const made = { server: new Server(options), browser: null };
    // What `serve --dev` signs in with is one server's own.
    const others = options.dev ? [] : Array.from({ length: servers - 1 }, () => new Server({ ...options, beside: made.server }));
    let turn = 0;
    const nextServer = () => {
        const running = made.server.running;
        return running[turn++ % running.length] ?? made.server;
    };
    before(async () => {
        await made.server.start();
        for (const one of others) await one.start();
        made.server.joinedBy(others);
        await prepare?.(made.server);
        made.browser = await Browser.launch();
    });
    afterEach(() => made.browser?.finish());
    after(async () => {
        await made.browser?.close();
        for (const one of [...others, made.server]) await one.close();
    });
    let next = 100;
    return {
        server: made.server,
        /** Ids that no other test of the file has. */
        users: (n) => Array.from({ length: n }, () => next++),
        async open(user, { role, at, ...how } = {}) {
            return (await made.browser.window(at ?? nextServer(), how)).signIn(user, role);
        },
        window: (how) => made.browser.window(made.server, how),
        others,
    };
}

/**
 * For one test: a fresh server with the demo community, `args` among its flags. `open` is a page at a place of the
 * console, signed in by the server's link. Everything is gone afterwards, and nothing went wrong in any window.
 */
export async function withDemo(args, run) {
    const server = new Server({ dev: true, args });
    let browser = null;
    try {
        await server.start();
        browser = await Browser.launch();
        const open = async (place, how = {}) => {
            const window = await (await browser.window(server, how)).enter();
            await window.go(`#/${place}`);
            return window.page;
        };
        await run({ server, open });
        await browser.finish();
    } finally {
        await browser?.close();
        await server.close();
    }
}
