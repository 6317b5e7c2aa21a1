"""A running bridge, and what the keys must be: a recount from the API."""
import re
import signal
import subprocess
import time

from support.server import BIN, clean_environment, wait_until, where

import database
from old_redis import Redis

MASK = 2**64 - 1


def in_share(user, percent):
    """As docs/MIGRATING.md says it."""
    x = (user + 0x9E3779B97F4A7C15) & MASK
    x = ((x ^ x >> 30) * 0xBF58476D1CE4E5B9) & MASK
    x = ((x ^ x >> 27) * 0x94D049BB133111EB) & MASK
    return (x ^ x >> 31) % 1_000_000 < percent * 10_000


class Bridge:
    def __init__(self, server, share, more, directory, **environment):
        directory.mkdir()
        self.environment = environment
        self.metrics_file = directory / "bridge.prom"
        self.log_file = directory / "log"
        self.words = ["bridge", *where(server.data), "--old-redis", ",".join(":".join(node) for node in Redis().nodes), "--share", share,
                      "--metrics", self.metrics_file, *more]
        self.process = None

    def start(self):
        with self.log_file.open("ab") as log:
            self.process = subprocess.Popen([BIN, *self.words], env=clean_environment(**self.environment), stdin=subprocess.DEVNULL,
                                            stderr=log)
        return self

    def log(self):
        return self.log_file.read_text()

    def kill(self):
        self.process.kill()
        self.process.wait(60)

    def stop(self):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        code = self.process.wait(60)
        assert code in (0, -signal.SIGKILL), self.log()

    def metrics(self):
        """Empty before the first are written."""
        text = self.metrics_file.read_text() if self.metrics_file.exists() else ""
        return {name: float(value) for name, value in re.findall(r"^tidings_bridge_(\w+) (\S+)$", text, re.MULTILINE)}

    def settle(self, server):
        """Until all that has happened is in the keys, and everybody's are filled."""
        newest, begun = newest_event(server), time.time()

        def is_settled():
            assert self.process.poll() is None, self.log()
            seen = self.metrics()
            return seen.get("written_seconds", 0) > begun + 1 and seen["up"] == 1 and seen["filling"] == 0 and seen["position"] >= newest

        try:
            wait_until(is_settled, "the bridge has come so far")
        except AssertionError as error:
            raise AssertionError(f"{error}: {self.metrics()} {self.log()}") from None


def newest_event(server):
    return int(database.run("SELECT COALESCE(MAX(position), 0) FROM outbox_event", database.name_of(server))[0])


class Keys:
    """The first scheme, as the old application reads it."""

    def __init__(self, redis, **prefixes):
        self.redis = redis
        self.prefixes = {"FEED": "feed:", "READ": "blog:read:", "TOTAL_UNREAD": "total_unread:", "AUTHOR_UNREAD": "author_unread:", **prefixes}

    def name(self, kind, user, *more):
        user = f"{{{user}}}" if self.redis.is_cluster else user
        return ":".join([f"{self.prefixes[kind]}{user}", *map(str, more)])

    def scores(self, kind, user):
        found = self.redis.call("ZRANGE", self.name(kind, user), 0, -1, "WITHSCORES")
        return {int(member): int(score) for member, score in zip(found[::2], found[1::2])}

    def feed(self, user):
        return self.scores("FEED", user)

    def read(self, user):
        return self.scores("READ", user)

    def total(self, user):
        return int(self.redis.call("GET", self.name("TOTAL_UNREAD", user)) or 0)

    def author(self, user, author):
        return int(self.redis.call("GET", self.name("AUTHOR_UNREAD", user, author)) or 0)

    def deleted(self):
        return set(map(int, self.redis.call("SMEMBERS", "deleted_blogs")))

    def of(self, user):
        """All keys of a user that there are, the bridge's own too."""
        tagged = f"{{{user}}}" if self.redis.is_cluster else str(user)
        starts = [prefix + tagged for prefix in [*self.prefixes.values(), "user:read:", "user:unread:", "user:unread:count:"]]
        return {key for key in self.redis.keys() if any(key == start or key.startswith(start + ":") for start in starts)}


def check(keys, users):
    """Each key is what a recount from the API says."""
    for user in users:
        rows, said = user.inbox(limit=100), user.get("/inbox/unread")
        unread = {row["user_id"]: row["unread"] for row in said["authors"] if row["unread"]}
        feed, read = keys.feed(user.id), keys.read(user.id)
        assert feed == {row["post_id"]: row["created_at"] for row in rows}, user.id
        is_read = {row["post_id"] for row in rows if row["is_read"] or row["is_deleted"]}
        assert read.keys() & feed.keys() == is_read, user.id
        assert keys.total(user.id) == said["total"] == len(feed.keys() - read.keys()), user.id
        authors = {row["author_id"] for row in rows} | unread.keys()
        assert {author: n for author in authors if (n := keys.author(user.id, author))} == unread, user.id
        assert len([key for key in keys.of(user.id) if key.startswith("author_unread:")]) == len(unread), user.id
        assert {row["post_id"] for row in rows if row["is_deleted"]} <= keys.deleted()
        for row in rows:
            assert keys.redis.call("GET", f"blog_author:{named(keys, row['post_id'])}") == str(row["author_id"])


def named(keys, number):
    return f"{{{number}}}" if keys.redis.is_cluster else number


class SecondKeys:
    """The second scheme."""

    def __init__(self, redis):
        self.redis = redis

    def check(self, users):
        for user in users:
            of = named(self, user.id)
            rows, said = user.inbox(limit=100), user.get("/inbox/unread")
            counts = self.redis.call("HGETALL", f"user:unread:count:{of}")
            unread = {row["user_id"]: row["unread"] for row in said["authors"] if row["unread"]}
            assert dict(zip(map(int, counts[::2]), map(int, counts[1::2]))) == unread, user.id
            by_author = {}
            for row in rows:
                if not row["is_read"] and not row["is_deleted"]:
                    by_author.setdefault(row["author_id"], set()).add(row["post_id"])
            for author in {row["author_id"] for row in rows}:
                found = set(map(int, self.redis.call("SMEMBERS", f"user:unread:{of}:{author}")))
                assert found == by_author.get(author, set()), (user.id, author)
            read = set(map(int, self.redis.call("SMEMBERS", f"user:read:{of}")))
            assert {row["post_id"] for row in rows if row["is_read"]} <= read
            assert not read & {post for posts in by_author.values() for post in posts}
