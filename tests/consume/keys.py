"""The Redis that tests/support/with-redis has started, as others read it; and what its keys are to be, as the API answers."""
import os
import random
import re
import socket
import struct

from support.server import wait_until

NODES = os.environ.get("TIDINGS_TEST_REDIS", "none:0").split(",")
NAMES = ("ucnt:", "uf:flws:", "uf:fans:", "like_story_user_set_", "story_user_like_set_", "count_story_",
         "like_comment_user_set_", "comment_user_like_set_", "count_comment_")
OURS = re.compile("(" + "|".join(NAMES) + r")(\d+)$")
COUNTS = ("following", "followers", "posts", "liked_posts", "faved_posts", "likes_received", "favs_received")
NEWEST = 1000
SETTINGS = {"redis": ",".join(NODES), "follow_burst": 1_000_000, "react_burst": 1_000_000, "comment_burst": 1_000_000}


# ---- Redis -----------------------------------------------------------------------------------------------------------


class Gone(Exception):
    """The node does not answer."""


class Node:
    """One connection to one node."""

    def __init__(self, place):
        self.place = place
        host, port = place.rsplit(":", 1)
        try:
            self.socket = socket.create_connection((host, int(port)), timeout=5)
        except OSError as error:
            raise Gone(place) from error
        self.file = self.socket.makefile("rb")

    def close(self):
        self.file.close()
        self.socket.close()

    def answer(self):
        line = self.file.readline()
        if not line:
            raise Gone(self.place)
        kind, rest = line[:1], line[1:-2]
        if kind == b"+":
            return rest.decode()
        if kind == b":":
            return int(rest)
        if kind == b"-":
            return RuntimeError(rest.decode())
        if kind == b"$":
            return None if rest == b"-1" else self.file.read(int(rest) + 2)[:-2]
        assert kind == b"*", line
        return None if rest == b"-1" else [self.answer() for _ in range(int(rest))]

    def send(self, *commands):
        out = b""
        for words in commands:
            out += b"*%d\r\n" % len(words)
            for word in words:
                word = word if isinstance(word, bytes) else str(word).encode()
                out += b"$%d\r\n%s\r\n" % (len(word), word)
        try:
            self.socket.sendall(out)
            return [self.answer() for _ in commands]
        except OSError as error:
            raise Gone(self.place) from error

    def ask(self, *words):
        answer, = self.send(words)
        if isinstance(answer, RuntimeError):
            raise answer
        return answer


def masters():
    """Connections to those that are masters now."""
    found = []
    for place in NODES:
        try:
            node = Node(place)
            if node.ask("ROLE")[0] == b"master":
                found.append(node)
            else:
                node.close()
        except (Gone, RuntimeError):
            continue
    return found


def on_masters(*words):
    """What each answers."""
    nodes = masters()
    answers = [node.send(words)[0] for node in nodes]
    for node in nodes:
        node.close()
    return answers


def one(*words):
    """Of a key, by whoever has it."""
    for answer in on_masters(*words):
        if not isinstance(answer, RuntimeError):
            return answer
        assert str(answer).startswith(("MOVED", "CLUSTERDOWN")), answer
    raise Gone("all")


def control(*words):
    """Does to a node what tests/support/with-redis can."""
    with socket.socket(socket.AF_UNIX) as client, client.makefile("rw") as lines:
        client.connect(os.environ["TIDINGS_TEST_REDIS_CONTROL"])
        lines.write(" ".join(map(str, words)) + "\n")
        lines.flush()
        assert lines.readline() == "ok\n"


def flush():
    on_masters("FLUSHALL")


def value_of(node, name):
    kind = node.ask("TYPE", name)
    if kind == "string":
        value = node.ask("GET", name)
        return struct.unpack(">7I", value[:28]) if name.startswith("ucnt:") else int(value)
    pairs = node.ask("ZRANGE", name, 0, -1, "WITHSCORES")
    return {int(member): int(float(score)) for member, score in zip(pairs[::2], pairs[1::2])}


def all_keys():
    """Name and value of all that others read."""
    found = {}
    for node in masters():
        cursor = b"0"
        while True:
            cursor, names = node.ask("SCAN", cursor, "COUNT", 1000)
            for name in sorted({name.decode() for name in names}):
                if OURS.match(name):
                    found[name] = value_of(node, name)
            if cursor == b"0":
                break
        node.close()
    return found


# ---- What they are to be ---------------------------------------------------------------------------------------------


class Expected:
    """By the API of one server. Keys of what is deleted, and of users with nothing, may be missing."""

    def __init__(self, server, people, posts, comments):
        self.server, self.keys = server, {}
        self.reader = server.service(acting_for=1)
        for person in people:
            self.add_user(person)
        for post in posts:
            self.add_target("story", f"/posts/{post}", post)
        for comment in comments:
            self.add_target("comment", f"/comments/{comment}", comment)

    def put(self, name, value):
        if value:
            self.keys[name] = value

    def add_user(self, user):
        counts = self.reader.get("/relation/counter", user_id=user)
        self.keys[f"ucnt:{user}"] = tuple(counts[name] for name in COUNTS)
        for path, start in (("following", "uf:flws:"), ("followers", "uf:fans:")):
            rows = self.reader.rows(f"/relation/{path}", 100, user_id=user)
            self.put(f"{start}{user}", {row["user_id"]: row["since"] for row in rows[:NEWEST]})
        own = self.server.service(acting_for=user)
        for target, start in (("post", "story_user_like_set_"), ("comment", "comment_user_like_set_")):
            rows = own.rows("/me/likes", 100, target=target)
            self.put(f"{start}{user}", {row["id"]: row["at"] for row in rows})
        own.close()
        self.server.actors.remove(own)

    def add_target(self, kind, path, number):
        answer = self.reader.send("GET", f"/v1{path}/likes")
        if answer.status in (404, 410):
            return
        rows = self.reader.rows(f"{path}/likes", 100)
        self.put(f"like_{kind}_user_set_{number}", {row["user_id"]: row["at"] for row in rows})
        self.put(f"count_{kind}_{number}", len(rows))


def compare(server, world):
    """Every key against the API, both ways; how many there are."""
    expected = Expected(server, world.people, world.posts, world.comments).keys
    found = all_keys()
    wrong = {name: (found.get(name), expected.get(name)) for name in {*found, *expected} if found.get(name) != expected.get(name)}
    wrong = {name: pair for name, pair in wrong.items() if not world.may_be(name, *pair)}
    assert not wrong, dict(list(wrong.items())[:5])
    return len(found)


# ---- What happens ----------------------------------------------------------------------------------------------------


class World:
    """People who follow and like each other at random, on any of some servers."""

    def __init__(self, seed, n_people=12):
        self.random = random.Random(seed)
        self.people = [1_000_000 * (seed + 1) + i for i in range(n_people)]
        self.posts, self.comments, self.gone = [], {}, set()

    def may_be(self, name, found, expected):
        """Users whom nothing has happened to have no counts; who likes comments of a deleted post stays as it was."""
        kind, number = OURS.match(name).groups()
        if kind == "ucnt:" and found is None:
            return not any(expected)
        return kind.endswith(("comment_user_set_", "count_comment_")) and self.comments.get(int(number)) in self.gone

    def step(self, server):
        rng = self.random
        who, whom = rng.sample(self.people, 2)
        actor = server.service(acting_for=who)
        try:
            self.act(rng.randrange(100), actor, who, whom)
        finally:
            actor.close()
            server.actors.remove(actor)

    def act(self, what, actor, who, whom):
        rng = self.random
        if what < 20:
            actor.follow(whom)
        elif what < 30:
            actor.unfollow(whom)
        elif what < 40 or not self.posts:
            self.posts.append(actor.publish(kind=rng.choice(("note", "story")))["id"])
        elif what < 70:
            path = f"/posts/{rng.choice(self.posts)}/{rng.choice(('like', 'like', 'favourite'))}"
            actor.send(rng.choice(("PUT", "PUT", "DELETE")), "/v1" + path)
        elif what < 80:
            post = rng.choice(self.posts)
            parent = rng.choice([None, *(c for c, of in self.comments.items() if of == post)])
            answer = actor.send("POST", f"/v1/posts/{post}/comments", {"body": "so", **({"parent_id": parent} if parent else {})})
            if answer.status == 201:
                self.comments[answer.json["id"]] = post
        elif what < 96 and self.comments:
            actor.send(rng.choice(("PUT", "PUT", "DELETE")), f"/v1/comments/{rng.choice([*self.comments])}/like")
        elif what < 98 and self.comments:
            actor.server.admin().send("DELETE", f"/v1/comments/{rng.choice([*self.comments])}")
        elif len(self.posts) > 8:
            post = rng.choice(self.posts)
            if actor.server.admin().send("DELETE", f"/v1/posts/{post}").status == 204:
                self.gone.add(post)

    def go_on(self, server, n):
        for _ in range(n):
            self.step(server)


# ---- The consumer ----------------------------------------------------------------------------------------------------


def row_of(server):
    admin = server.admin()
    try:
        rows = admin.get("/admin/status")["consumers"]
    finally:
        admin.close()
        server.actors.remove(admin)
    return next((row for row in rows if row["name"] == "redis"), None)


def newest_event(server):
    after, admin = row_of(server)["position"], server.admin()
    try:
        while page := admin.get("/events", limit=100, after=after)["items"]:
            after = page[-1]["event_id"]
    finally:
        admin.close()
        server.actors.remove(admin)
    return after


def settle(server, patience=60):
    """All is told, and all is made."""
    wait_until(lambda: row_of(server), "the row is there", patience)
    newest = newest_event(server)

    def settled():
        row = row_of(server)
        return row["position"] >= newest and not row["rebuilding"] and not row["trouble"]

    wait_until(settled, "all keys are there", patience)
