"""A server that keeps an old application's keys, and what the keys must be: a recount from the API."""
import os
import signal
import threading
import time

from support.server import wait_until

from old_redis import Redis

MASK = 2**64 - 1
STATE = "tidings:{bridge}:state"
PHASE_DONE = 2

# Held by whoever restarts a server, and for each step of those who talk to it.
gate = threading.RLock()


def in_share(user, percent):
    """As docs/MIGRATING.md says it."""
    x = (user + 0x9E3779B97F4A7C15) & MASK
    x = ((x ^ x >> 30) * 0xBF58476D1CE4E5B9) & MASK
    x = ((x ^ x >> 27) * 0x94D049BB133111EB) & MASK
    return (x ^ x >> 31) % 1_000_000 < percent * 10_000


def nodes_of(redis):
    return ",".join(":".join(node) for node in redis.nodes)


def flags(redis, share, *more):
    return ["--old-redis", nodes_of(redis), "--old-share", share, *more]


class Bridge:
    """Of a lone server, which is restarted to begin with it, and to be without it again."""

    def __init__(self, server, share, more, redis=None, **environment):
        self.server, self.redis = server, redis or Redis()
        self.words = flags(self.redis, share, *more)
        self.environment = environment
        self.runs = False
        self.before = ""  # the log of processes that have ended

    def restart(self, how, arguments, environment):
        with gate:
            for name in self.environment:
                self.server.environment.pop(name, None)
            self.server.arguments, was = arguments, self.server.log_text
            self.server.environment.update(environment)
            self.server.restart(how, between=lambda: self.keep_log(was()))

    def keep_log(self, text):
        self.before += text

    def start(self, patience=60):
        """Until it has begun, or says why it cannot."""
        self.restart(signal.SIGTERM, self.words, self.environment)
        self.runs = True
        wait_until(lambda: any(word in self.server.log_text() for word in ("goes on behind", "filled anew", "the consumer fails")),
                   "the bridge begins", patience)
        return self

    def kill(self):
        """With the server, which goes on without a bridge."""
        self.restart(signal.SIGKILL, [], {})
        self.runs = False

    def stop(self):
        if self.runs and self.server.process and self.server.process.poll() is None:
            self.restart(signal.SIGTERM, [], {})
        self.runs = False

    def log(self):
        return self.before + (self.server.log_text() if self.runs else "")

    def settle(self, server=None):
        settle(server or self.server, self.redis, self.log)


def consumer_of(server):
    """As an operator sees it; None before anybody has made its row."""
    return next((row for row in server.admin().get("/admin/status")["consumers"] if row["name"] == "old_redis"), None)


def state_of(redis):
    """What the bridge keeps beside the keys; empty before it has begun."""
    text = redis.call("GET", STATE)
    words = [int(word) for word in text.split()[1:]] if text else []
    names = ("generation", "share", "schemes", "position", "fresh_at", "phase")
    return dict(zip(names, words))


def newest_event(server):
    admin, after = server.admin(), 0
    while True:
        page = admin.get("/events", after=after)["items"]
        if not page:
            return after
        after = page[-1]["event_id"]


def settle(server, redis, log=lambda: ""):
    """Until all that has happened is in the keys, and everybody's are filled. Twice: what was read and left no event is taken at the
    beginning of a step, and the end of the events is reached at its end."""
    newest = newest_event(server)
    for _ in range(2):
        begun = time.time() * 1000

        def is_settled(since=begun):
            seen = state_of(redis)
            return seen and seen["fresh_at"] > since and seen["phase"] == PHASE_DONE and seen["position"] >= newest

        try:
            wait_until(is_settled, "the bridge has come so far")
        except AssertionError as error:
            raise AssertionError(f"{error}: {state_of(redis)} {newest} {log()}") from None


def secret_of(server):
    return {"TIDINGS_JWT_SECRET": server.secret}


def compare_words(server, redis, share, *more):
    return ["compare", "--server", f"http://127.0.0.1:{server.port}", "--old-redis", nodes_of(redis), "--share", share, *more]


def pause(server):
    os.kill(server.process.pid, signal.SIGSTOP)


def resume(server):
    os.kill(server.process.pid, signal.SIGCONT)


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
