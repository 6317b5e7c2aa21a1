// What an integrator does first, with the client generated for TypeScript. The four programs here print the same.
import { randomUUID } from "node:crypto";
import * as t from "./tidings/index.js";

function setting(name: string): string {
    const value = process.env[name];
    if (value === undefined) throw new Error(`${name} is not set`);
    return value;
}

function connect(token: string): t.Configuration {
    return new t.Configuration({ basePath: setting("API"), accessToken: token });
}

async function problemOf(call: Promise<unknown>): Promise<t.Problem> {
    try {
        await call;
    } catch (error) {
        if (error instanceof t.ResponseError) return t.ProblemFromJSON(await error.response.json());
        throw error;
    }
    throw new Error("it worked");
}

const author = connect(setting("AUTHOR"));
const fan = connect(setting("FAN"));
const posts = new t.PostsApi(fan);
const writing = new t.PostsApi(author);
const inbox = new t.InboxApi(fan);

const follow = await new t.RelationsApi(fan).follow({ followRequest: { userId: Number(setting("AUTHOR_ID")) } });
console.log(`follow: ${follow.changed} ${follow.following}`);
const profile = await new t.UsersApi(author).setProfile({ profileRequest: { name: "Ann" } });
console.log(`profile: ${profile.name}`);

const published: t.Post[] = [];
for (let i = 1; i <= 5; i++)
    published.push(await writing.publish({
        publishRequest: { kind: t.Kind.Note, title: `Post ${i}`, body: `${i} [img]https://example.org/${i}.png[/img]` },
        idempotencyKey: randomUUID(),
    }));
const [first, second, third, , last] = published as [t.Post, t.Post, t.Post, t.Post, t.Post];
console.log(`published: ${published.length}, the last with ${last.parts[0]?.text}and ${last.parts[1]?.img}`);
console.log(`badge: ${(await inbox.getBadge()).total}`);

const opened = await posts.openPost({ postId: first.id });
console.log(`open: ${opened.post.title}, ${opened.unread.total} left`);
let marked = await inbox.markRead({ markReadRequest: { postIds: [second.id] } });
console.log(`mark: ${marked.marked}, ${marked.total} left`);

let page = await inbox.listInbox({ limit: 2 });
const seen = [...page.items];
let pages = 1;
while (page.nextCursor !== null) {
    page = await inbox.listInbox({ limit: 2, cursor: page.nextCursor });
    seen.push(...page.items);
    pages++;
}
console.log(`pages: ${pages} with ${seen.length} items, ${seen.filter((item) => !item.isRead).length} unread`);
marked = await inbox.markRead({ markReadRequest: { upTo: page.asOf } });
console.log(`mark all: ${marked.marked}, ${marked.total} left`);

const edited = await writing.editPost({ postId: first.id, editRequest: { title: "Edited" } });
console.log(`edit: ${edited.title}`);
const stories = new t.StoriesApi(author);
const story = await writing.publish({ publishRequest: { kind: t.Kind.Story, title: "A story" } });
const scene = await stories.publishScene({ storyId: story.id, sceneRequest: { title: "One", messages: ["old", "gone"] } });
const kept: t.KeptMessage = { id: scene.messages[0]!.id, text: "kept" };
const after = await stories.editScene({ sceneId: scene.id, sceneEditRequest: { messages: [kept, "new"] } });
console.log(`scene: ${after.messages.map((message) => message.text).join(", ")}`);

await new t.ReadingApi(fan).setReading({ storyId: story.id, readingRequest: { sceneId: scene.id } });
const reading = await new t.ReadingApi(fan).listReading({ since: 0 });
console.log(`reading: ${reading.items.length}, more ${reading.more}`);
await new t.ReactionsApi(fan).likePost({ postId: third.id });
const liked = (await new t.ReactionsApi(fan).listMyLikes()).items[0];
if (liked && t.instanceOfLikedPost(liked)) console.log(`liked: ${liked.title}`);

const unknown = await problemOf(posts.getPost({ postId: 1 }));
console.log(`get: ${unknown.status} ${unknown.code}`);
await writing.deletePost({ postId: last.id });
const gone = await problemOf(posts.getPost({ postId: last.id, acceptLanguage: "en" }));
console.log(`get: ${gone.status} ${gone.code}`);
console.log(`notice: ${gone.notice}`);
