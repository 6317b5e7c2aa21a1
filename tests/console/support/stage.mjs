// A server and a browser: for all tests of a file, each of which takes users of its own, or for one test alone.
import { after, afterEach, before } from "node:test";
import { Browser } from "./browser.mjs";
import { Server } from "./server.mjs";

/** `prepare` fills the server before the first test. */
export function stage({ prepare, ...options } = {}) {
    const made = { server: new Server(options), browser: null };
    before(async () => {
        await made.server.start();
        await prepare?.(made.server);
        made.browser = await Browser.launch();
    });
    afterEach(() => made.browser?.finish());
    after(async () => {
        await made.browser?.close();
        await made.server.close();
    });
    let next = 100;
    return {
        server: made.server,
        /** Ids that no other test of the file has. */
        users: (n) => Array.from({ length: n }, () => next++),
        async open(user, { role, ...how } = {}) {
            return (await made.browser.window(made.server, how)).signIn(user, role);
        },
        window: (how) => made.browser.window(made.server, how),
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
