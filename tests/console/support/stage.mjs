// A server and a browser for the tests of a file; each test takes users of its own.
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
