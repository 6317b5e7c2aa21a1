// A first look at the API with nothing but Node (18 or later). Start `make run`, then in another terminal:
//
//     SERVICE=... node examples/tour.mjs        # the token that `make run` printed
import { randomUUID } from "node:crypto";

const API = process.env.API ?? "http://127.0.0.1:8080";
const [READER, AUTHOR] = [101, 102]; // any numbers will do: nobody has to sign up

/** A backend's call for one of its users. */
async function call(user, method, path, body) {
    const headers = { Authorization: `Bearer ${process.env.SERVICE}`, "X-User-Id": String(user) };
    if (method === "POST") headers["Idempotency-Key"] = randomUUID(); // the same key again, and nothing happens twice
    const response = await fetch(API + path, { method, headers, body: body && JSON.stringify(body) });
    const answer = await response.json();
    if (!response.ok) throw new Error(`${answer.status} ${answer.code}: ${answer.detail}`);
    return answer;
}

const follow = await call(READER, "POST", "/v1/relation/follow", { user_id: AUTHOR });
console.log(`following: ${follow.following}`);
for (let i = 1; i <= 3; i++)
    await call(AUTHOR, "POST", "/v1/posts", { kind: "note", title: `Note ${i}`, body: "From the tour." });
console.log(`unread: ${(await call(READER, "GET", "/v1/inbox/badge")).total}`);

const unread = [];
let page;
for (let cursor = ""; cursor !== null; cursor = page.next_cursor) { // two at a time, to the end
    page = await call(READER, "GET", `/v1/inbox?filter=unread&limit=2${cursor && `&cursor=${cursor}`}`);
    unread.push(...page.items);
}
console.log(`list: ${unread.map((item) => item.title).join(", ")}`);

const opened = await call(READER, "POST", `/v1/posts/${unread[0].post_id}/open`);
console.log(`opened ${opened.post.title}: ${opened.unread.total} left`);
const marked = await call(READER, "POST", "/v1/inbox/mark-read", { up_to: page.as_of }); // what came after it stays unread
console.log(`marked ${marked.marked}: ${marked.total} left`);

await call(READER, "GET", "/v1/posts/1").catch((problem) => console.log(problem.message));
