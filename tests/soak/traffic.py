"""What a small community does all day. It begins as it will go on: with half of the reactions set that can be set, two thirds of the
authors followed, half of the stories subscribed to. Everybody takes back what they do as often as they do it, and whoever publishes or
comments deletes the oldest of theirs: so there is always as much of everything."""
import asyncio
import os
import random
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "http"))

from support.connection import Connection  # noqa: E402
from support.tokens import token  # noqa: E402

AUTHORS, READERS = 12, 60
LISTENERS = 20  # readers with a stream
POSTS, SCENES = 30, 5  # of each author, which stay
FRESH = 5  # posts, scenes and comments of each, besides; one more, and the oldest goes
DECADE_S = 10 * 365 * 86400  # the clock of the server runs ahead of ours
FIRST_AUTHOR, FIRST_READER = 100, 1000
REACTIONS = ("like", "fav")


class World:
    """What is there to be read."""

    def __init__(self):
        self.posts, self.stories, self.scenes = [], [], []
        self.answers = self.made = self.told = 0


class Person(Connection):
    def __init__(self, world, secret, user, role=None, seed=1):
        super().__init__()
        self.world, self.user = world, user
        self.rng = random.Random(f"{seed} {user}")
        self.bearer = token(secret, user, role, ttl=DECADE_S)
        self.requests = 0
        self.fresh = {"posts": [], "scenes": [], "comments": []}

    async def ask(self, method, path, body=None, fine=(200,)):
        """The answer; its status must be one of those."""
        self.requests += 1
        key = f"{self.user}-{self.requests}" if method == "POST" else None
        status, answer = await self.send(method, path, body, self.bearer, key)
        assert status in fine, f"{method} {path}: {status} {answer}"
        self.world.answers += 1
        return answer

    # ---- Writing ----

    async def write_post(self):
        made = await self.ask("POST", "/v1/posts", {"kind": "note", "title": f"Post {self.requests}",
                                                    "body": "a few words " * 80}, (201,))
        return made["id"]

    async def write_scene(self):
        made = await self.ask("POST", f"/v1/stories/{self.story}/scenes", {
            "title": f"Scene {self.requests}", "messages": ["and then " * 5]}, (201,))
        return made["id"]

    async def begin(self):
        """What an author has that stays."""
        made = await self.ask("POST", "/v1/posts", {"kind": "story", "title": f"Story of {self.user}", "body": "Once"}, (201,))
        self.story = made["id"]
        self.world.stories.append(self.story)
        self.world.posts += [await self.write_post() for _ in range(POSTS)]
        self.world.scenes += [(self.story, await self.write_scene()) for _ in range(SCENES)]

    async def in_place_of_the_oldest(self, what, made):
        self.world.made += 1
        fresh = self.fresh[what]
        fresh.append(made)
        if len(fresh) > FRESH:
            await self.ask("DELETE", f"/v1/{what}/{fresh.pop(0)}", fine=(204,))

    async def publish(self):
        await self.in_place_of_the_oldest("posts", await self.write_post())

    async def publish_scene(self):
        await self.in_place_of_the_oldest("scenes", await self.write_scene())

    async def comment(self):
        made = await self.ask("POST", f"/v1/posts/{self.post()}/comments", {"body": "Well said."}, (201,))
        await self.in_place_of_the_oldest("comments", made["id"])

    # ---- Reading ----

    def post(self):
        return self.rng.choice(self.world.posts)

    async def settle(self):
        """As a reader is after a long time."""
        for author in range(FIRST_AUTHOR, FIRST_AUTHOR + AUTHORS):
            if self.rng.random() < 2 / 3:
                await self.ask("POST", "/v1/relation/follow", {"user_id": author})
        paths = [f"/v1/posts/{post}/{reaction}" for post in self.world.posts for reaction in REACTIONS]
        paths += [f"/v1/stories/{story}/subscription" for story in self.world.stories]
        for path in self.rng.sample(paths, len(paths) // 2):
            await self.ask("PUT", path)

    async def listen(self, port):
        """To a stream of one's own, until it is cancelled."""
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(f"GET /v1/stream HTTP/1.1\r\nHost: test\r\nAuthorization: Bearer {self.bearer}\r\n\r\n".encode())
        try:
            while line := await reader.readline():
                self.world.told += line.startswith(b"event: ")
        finally:
            writer.transport.abort()
        raise AssertionError("a stream has ended")

    async def turn(self, path):
        """Sets or removes what is there or not."""
        await self.ask(self.rng.choice(("PUT", "DELETE")), path)

    async def react(self):
        await self.turn(f"/v1/posts/{self.post()}/{self.rng.choice(REACTIONS)}")

    async def follow(self):
        verb = self.rng.choice(("follow", "follow", "unfollow"))
        body = {"user_id": FIRST_AUTHOR + self.rng.randrange(AUTHORS)}
        if verb == "unfollow":
            body["purge_inbox"] = self.rng.random() < 0.5
        await self.ask("POST", f"/v1/relation/{verb}", body)

    async def subscribe(self):
        await self.turn(f"/v1/stories/{self.rng.choice(self.world.stories)}/subscription")

    async def set_updates(self):
        await self.ask("PUT", "/v1/settings", {"story_updates": self.rng.random() < 0.7})

    async def open_post(self):
        await self.ask("POST", f"/v1/posts/{self.post()}/open")

    async def mark(self):
        page = await self.ask("GET", "/v1/inbox?filter=unread")
        await self.ask("POST", "/v1/inbox/mark-read", {"up_to": page["as_of"]})

    async def unmark(self):
        page = await self.ask("GET", "/v1/inbox?filter=read")
        ids = [item["post_id"] for item in page["items"]]
        if ids:
            await self.ask("POST", "/v1/inbox/mark-unread", {"post_ids": ids})

    async def mark_notifications(self):
        page = await self.ask("GET", "/v1/notifications")
        await self.ask("POST", "/v1/notifications/mark-read", {"up_to": page["as_of"]})

    async def clear_history(self):
        await self.ask("DELETE", "/v1/history", fine=(204,))

    async def read_on(self):
        story, scene = self.rng.choice(self.world.scenes)
        await self.ask("PUT", f"/v1/reading/{story}", {"scene_id": scene})

    async def look(self):
        await self.ask("GET", self.rng.choice((
            "/v1/inbox", "/v1/inbox/badge", "/v1/inbox/unread", "/v1/hot", "/v1/history", "/v1/me/likes", "/v1/reading")))


# How often each, for a reader.
READING = [(Person.look, 30), (Person.react, 30), (Person.open_post, 12), (Person.follow, 10), (Person.mark, 6), (Person.unmark, 4),
           (Person.subscribe, 4), (Person.read_on, 4), (Person.mark_notifications, 3), (Person.set_updates, 2), (Person.clear_history, 1),
           (Person.comment, 0.2)]
