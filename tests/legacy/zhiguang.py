"""An application as the document about relations has it: a table of whom one follows, and from its events a second table, counts and
lists in Redis. Consumers may miss an event, each on its own: `missed` says which do."""
import struct
from datetime import datetime, timezone

from stores import REDIS, Database, Redis
from support.server import tidings

T0 = 1_700_000_000_000
LIST_MAX = 1000

TABLES = """
CREATE TABLE following (id BIGINT PRIMARY KEY, from_user_id BIGINT NOT NULL, to_user_id BIGINT NOT NULL,
  rel_status TINYINT NOT NULL DEFAULT 1, created_at DATETIME(3) NOT NULL, updated_at DATETIME(3) NOT NULL,
  UNIQUE KEY uk_from_to (from_user_id, to_user_id));
CREATE TABLE follower (id BIGINT PRIMARY KEY, to_user_id BIGINT NOT NULL, from_user_id BIGINT NOT NULL,
  rel_status TINYINT NOT NULL DEFAULT 1, created_at DATETIME(3) NOT NULL, updated_at DATETIME(3) NOT NULL,
  UNIQUE KEY uk_to_from (to_user_id, from_user_id))
"""


def when(at):
    return datetime.fromtimestamp(at / 1000, timezone.utc).strftime("'%Y-%m-%d %H:%M:%S.") + f"{at % 1000:03}'"


class Zhiguang:
    def __init__(self):
        self.db, self.redis = Database(), Redis()
        self.db.later(TABLES.strip())
        self.now = T0
        self.ids = 0

    def change(self, table, fan, author, stands):
        self.ids += 1
        self.db.later(f"INSERT INTO {table} (id, from_user_id, to_user_id, rel_status, created_at, updated_at) VALUES ({self.ids}, {fan}, "
                      f"{author}, {stands}, {when(self.now)}, {when(self.now)}) ON DUPLICATE KEY UPDATE rel_status = {stands}, "
                      f"updated_at = {when(self.now)}")

    def count(self, user, field, delta):
        counts = list(struct.unpack(">5I", self.redis("GET", f"ucnt:{user}") or bytes(20)))
        counts[field] += delta
        self.redis("SET", f"ucnt:{user}", struct.pack(">5I", *counts))

    def cache(self, key, member, stands):
        if stands:
            self.redis("ZADD", key, self.now, member)
            self.redis("ZREMRANGEBYRANK", key, 0, -LIST_MAX - 1)
        else:
            self.redis("ZREM", key, member)

    def follow(self, fan, author, stands=1, missed=()):
        self.now += 1001
        self.change("following", fan, author, stands)
        if "follower" not in missed:
            self.change("follower", fan, author, stands)
        for side, (user, other, key) in {"following": (fan, author, "uf:flws"), "followers": (author, fan, "uf:fans")}.items():
            if f"count {side}" not in missed:
                self.count(user, side == "followers", 1 if stands else -1)
            if key not in missed:
                self.cache(f"{key}:{user}", other, stands)

    def unfollow(self, fan, author, missed=()):
        self.follow(fan, author, stands=0, missed=missed)

    def command(self, *more):
        self.db.flush()
        return tidings("import", "--from", "zhiguang", "--source-mysql", self.db.url, "--source-redis", REDIS, "--max-load", "0", *more)
