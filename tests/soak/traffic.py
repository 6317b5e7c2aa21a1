"""What a small community does all day. Everybody takes back what they have done, sooner or later, and with the same posts, so
that what lives stays as much as it is. Posts, scenes and comments are kept for ever, and likes of them, too: of new ones there are
few, and nobody likes these."""
import os
import random
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "http"))

from support.connection import Connection  # noqa: E402
from support.tokens import token  # noqa: E402

AUTHORS, READERS = 12, 60
POSTS, SCENES = 20, 5  # of each author, to begin with
DECADE_S = 10 * 365 * 86400  # the clock of the server runs ahead of ours
FIRST_AUTHOR, FIRST_READER, SERVICE = 100, 1000, 1


class World:
    """What is there to be read."""

    def __init__(self):
        self.posts, self.stories, self.scenes = [], [], []
        self.answers = self.kept = 0


class Person(Connection):
    def __init__(self, world, secret, user, role=None, seed=1):
        super().__init__()
        self.world, self.user = world, user
        self.rng = random.Random(f"{seed} {user}")
        self.bearer = token(secret, user, role, ttl=DECADE_S)
        self.requests = 0
        self.comments = []

    async def ask(self, method, path, body=None, fine=(200,)):
        """The answer; its status must be one of those."""
        self.requests += 1
        key = f"{self.user}-{self.requests}" if method == "POST" else None
        status, answer = await self.send(method, path, body, self.bearer, key)
        assert status in fine, f"{method} {path}: {status} {answer}"
        self.world.answers += 1
        return answer

    # ---- Writing ----

    async def publish(self):
        made = await self.ask("POST", "/v1/posts", {"kind": "note", "title": f"Post {self.requests}",
                                                    "body": "a few words " * 20}, (201,))
        self.world.posts.append(made["id"])
        self.world.kept += 1

    async def begin_story(self):
        made = await self.ask("POST", "/v1/posts", {"kind": "story", "title": f"Story of {self.user}", "body": "Once"}, (201,))
        self.world.stories.append(made["id"])
        self.story = made["id"]

    async def publish_scene(self):
        made = await self.ask("POST", f"/v1/stories/{self.story}/scenes", {
            "title": f"Scene {self.requests}", "messages": ["and then " * 5]}, (201,))
        self.world.scenes.append((self.story, made["id"]))
        self.world.kept += 1

    async def comment(self):
        made = await self.ask("POST", f"/v1/posts/{self.post()}/comments", {"body": "Well said."}, (201,))
        self.comments.append(made["id"])
        self.world.kept += 1

    async def uncomment(self):
        if self.comments:
            await self.ask("DELETE", f"/v1/comments/{self.comments.pop(0)}", fine=(204,))

    # ---- Reading ----

    def post(self):
        return self.rng.choice(self.world.posts[:AUTHORS * POSTS])

    async def turn(self, path):
        """Sets or removes what is there or not."""
        await self.ask(self.rng.choice(("PUT", "DELETE")), path)

    async def react(self):
        await self.turn(f"/v1/posts/{self.post()}/{self.rng.choice(('like', 'fav'))}")

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
        if self.world.scenes:
            story, scene = self.rng.choice(self.world.scenes)
            await self.ask("PUT", f"/v1/reading/{story}", {"scene_id": scene})

    async def look(self):
        await self.ask("GET", self.rng.choice((
            "/v1/inbox", "/v1/inbox/badge", "/v1/inbox/unread", "/v1/hot", "/v1/history", "/v1/me/likes", "/v1/reading")))


# How often each, for a reader.
READING = [(Person.look, 30), (Person.react, 30), (Person.open_post, 12), (Person.follow, 10), (Person.mark, 6), (Person.unmark, 4),
           (Person.subscribe, 4), (Person.read_on, 4), (Person.mark_notifications, 3), (Person.set_updates, 2), (Person.clear_history, 1),
           (Person.uncomment, 0.05), (Person.comment, 0.05)]
