"""Communities at random, with mistakes at random: the import and its report against a naive reading of the same tables and keys."""
import json
import os
import random
from collections import Counter

import pytest
from facts import verified
from hmdp import Hmdp
from support.server import Server

USERS = range(1, 9)


def live(old, rng, steps):
    """What people and failures do; each step is a user's, and may stop anywhere."""
    for _ in range(steps):
        user, author = rng.sample(USERS, 2)
        blog = rng.choice(list(old.blogs) or [0])
        step = rng.randrange(10)
        if step < 2:
            old.follow(user, author, until=rng.choice(["set", "set", "row"]))
        elif step < 3 and user in old.fans.get(author, ()):
            old.unfollow(user, author, until=rng.choice(["set", "set", "row"]))
        elif step < 6:
            old.publish(author, missed=rng.sample(USERS, 1), half=rng.sample(USERS, 1))
        elif step < 8 and blog:
            old.read(user, blog, until=rng.choice(["all", "all", "read", "total", "second"]))
        elif step < 9 and blog:
            old.like(user, blog, until=rng.choice(["zset", "row"]))
        elif blog and rng.random() < 0.3:
            old.delete(blog, row=rng.random() < 0.6, hint=rng.random() < 0.6)
            if rng.random() < 0.2:
                old.redis("DEL", f"blog_author:{blog}")


def numbers(answer):
    return [int(value) for value in answer or []]


class Naive:
    """Everything in memory, question by question."""

    def __init__(self, old):
        rows = [line.split("\t") for line in old.db.run(
            "SELECT id, user_id, UNIX_TIMESTAMP(create_time), liked FROM tb_blog")]
        self.author = {int(blog): int(author) for blog, author, _, _ in rows}
        self.at = {int(blog): int(at) for blog, _, at, _ in rows}
        self.rows = set(self.author)
        deleted = set(numbers(old.redis("SMEMBERS", "deleted_blogs")))
        feeds = {user: numbers(old.redis("ZRANGE", f"feed:{user}", 0, -1)) for user in USERS}
        pushed = {int(blog): float(score) / 1000 for user in USERS
                  for blog, score in zip(*[iter(old.redis("ZRANGE", f"feed:{user}", 0, -1, "WITHSCORES"))] * 2)}
        self.lost = set(old.blogs) - self.rows
        for blog in self.lost:
            author = old.redis("GET", f"blog_author:{blog}")
            if author:
                self.author[blog] = int(author)
                self.at[blog] = pushed.get(blog, float("inf"))
        self.deleted = deleted | self.lost
        self.read = {user: set(numbers(old.redis("ZRANGE", f"blog:read:{user}", 0, -1))) |
                     set(numbers(old.redis("SMEMBERS", f"user:read:{user}"))) for user in USERS}
        self.follows = {}
        self.repeated = 0
        for line in old.db.run("SELECT user_id, follow_user_id, UNIX_TIMESTAMP(create_time) FROM tb_follow ORDER BY create_time"):
            fan, author, at = map(int, line.split("\t"))
            self.repeated += (fan, author) in self.follows
            self.follows.setdefault((fan, author), at)
        self.feeds = {user: {blog for blog in feed if blog in self.author} for user, feed in feeds.items()}
        self.drift = self.contradictions(old, feeds, deleted, rows)

    def followed(self, user, blog):
        return self.at[blog] > self.follows.get((user, self.author[blog]), float("inf"))

    def delivered(self, user):
        return {blog for blog in self.author if self.followed(user, blog) or blog in self.feeds[user]}

    def unread(self, user):
        return self.delivered(user) - self.read[user] - self.deleted

    def contradictions(self, old, feeds, deleted, rows):
        found = Counter(follow_repeated=self.repeated)
        second = old.second
        for user in USERS:
            by_lists = self.feeds[user] - self.read[user] - self.deleted
            found["total_unread"] += int(old.redis("GET", f"total_unread:{user}") or 0) != len(by_lists)
            cached = set(numbers(old.redis("SMEMBERS", f"follows:{user}")))
            mine = {author for fan, author in self.follows if fan == user}
            found["follows_missing"] += len(mine - cached)
            found["follows_stale"] += len(cached - mine)
            for author in USERS:
                of_author = [blog for blog in by_lists if self.author[blog] == author]
                found["author_unread"] += int(old.redis("GET", f"author_unread:{user}:{author}") or 0) != len(of_author)
                members = set(numbers(old.redis("SMEMBERS", f"user:unread:{user}:{author}")))
                found["unread_count"] += second and int(old.redis("HGET", f"user:unread:count:{user}", author) or 0) != len(members)
                for blog in (blog for blog in self.author if self.author[blog] == author):
                    listed, read = blog in members, blog in self.read[user]
                    got = blog in self.delivered(user)
                    found["unread_read"] += listed and read
                    found["unread_undelivered"] += listed and not read and not got
                    found["unread_missing"] += second and got and not read and not listed and blog not in self.deleted
            for blog in self.author:
                here = blog in self.feeds[user]
                found["inbox_missing"] += self.followed(user, blog) and not here and blog not in self.read[user] | self.deleted
                since = self.follows.get((user, self.author[blog]))
                found["inbox_before_follow"] += here and since is not None and self.at[blog] < since
        found["liked"] = sum(int(liked) != old.redis("ZCARD", f"blog:liked:{blog}") for blog, _, _, liked in rows)
        found["row_missing"] = sum(blog in self.author and blog not in deleted for blog in self.lost)
        return {kind: n for kind, n in found.items() if n}


@pytest.mark.parametrize("seed", range(4))
def test_a_community_with_mistakes(tmp_path, seed):
    rng = random.Random(seed)
    old = Hmdp(second_scheme=seed % 2 == 1)
    live(old, rng, 150)
    drift, data = tmp_path / "drift.json", tmp_path / "data"
    done = old.command("--data", os.fspath(data), "--drift", os.fspath(drift))
    assert done.returncode == 0, done.stdout + done.stderr
    verified(data)
    naive = Naive(old)
    assert {row["kind"]: row["found"] for row in json.loads(drift.read_text())["contradictions"]} == naive.drift
    with_server = Server(data=os.fspath(data)).start()
    try:
        for user in USERS:
            viewer = with_server.user(user)
            items, cursor = [], None
            while cursor or not items:
                page = viewer.get("/inbox", limit=100, **({"cursor": cursor} if cursor else {}))
                items += page["items"]
                cursor = page["next_cursor"]
                if not cursor:
                    break
            alive = sorted(item["title"] for item in items if not item["is_deleted"])
            assert alive == sorted(f"Title {blog}" for blog in naive.delivered(user) - naive.deleted)
            assert len(items) == len(naive.delivered(user))
            assert viewer.get("/inbox/badge")["total"] == len(naive.unread(user))
            following = viewer.get("/relation/following", user_id=user, limit=100)["items"]
            assert {row["user_id"]: row["since"] for row in following} == {
                author: at * 1000 for (fan, author), at in naive.follows.items() if fan == user}
    finally:
        with_server.close()
