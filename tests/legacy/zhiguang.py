"""An application as the document about relations has it: a table of whom one follows, in the same transaction an event in its outbox, and from
the events a second table, counts and lists in Redis. Consumers may miss an event, each on its own: `missed` says which do. An event that is not
told reaches none of them: `event` is its status."""
import json
import struct
from datetime import datetime, timezone

from stores import REDIS, Database, Redis
from support.server import tidings

T0 = 1_700_000_000_000
LIST_MAX = 1000
PENDING, PROCESSING, TOLD, DEAD = 1, 2, 3, 4
CONSUMERS = ("follower", "count following", "count followers", "uf:flws", "uf:fans")

TABLES = """
CREATE TABLE following (id BIGINT PRIMARY KEY, from_user_id BIGINT NOT NULL, to_user_id BIGINT NOT NULL,
  rel_status TINYINT NOT NULL DEFAULT 1, created_at DATETIME(3) NOT NULL, updated_at DATETIME(3) NOT NULL,
  UNIQUE KEY uk_from_to (from_user_id, to_user_id));
CREATE TABLE follower (id BIGINT PRIMARY KEY, to_user_id BIGINT NOT NULL, from_user_id BIGINT NOT NULL,
  rel_status TINYINT NOT NULL DEFAULT 1, created_at DATETIME(3) NOT NULL, updated_at DATETIME(3) NOT NULL,
  UNIQUE KEY uk_to_from (to_user_id, from_user_id))
"""
OUTBOX = """
CREATE TABLE {} (id BIGINT PRIMARY KEY, event_type VARCHAR(64) NOT NULL, payload LONGTEXT, status TINYINT NOT NULL DEFAULT 1,
  retry_count INT NOT NULL DEFAULT 0, created_at DATETIME(3) NOT NULL, updated_at DATETIME(3) NOT NULL)
"""


def when(at):
    return datetime.fromtimestamp(at / 1000, timezone.utc).strftime("'%Y-%m-%d %H:%M:%S.") + f"{at % 1000:03}'"


class Zhiguang:
    def __init__(self, outbox="outbox_event"):
        self.db, self.redis = Database(), Redis()
        self.db.later(TABLES.strip())
        self.outbox = outbox
        if outbox:
            self.db.later(OUTBOX.format(outbox).strip())
        self.now = T0
        self.ids = self.events = 0
        self.consumes = True

    def change(self, table, fan, author, stands):
        self.ids += 1
        self.db.later(f"INSERT INTO {table} (id, from_user_id, to_user_id, rel_status, created_at, updated_at) VALUES ({self.ids}, {fan}, "
                      f"{author}, {stands}, {when(self.now)}, {when(self.now)}) ON DUPLICATE KEY UPDATE rel_status = {stands}, "
                      f"updated_at = {when(self.now)}")

    def tell(self, payload, kind="FollowCreated", status=TOLD, number=None):
        """A row of the outbox, whatever it says."""
        self.events = number or self.events + 1
        text = payload if isinstance(payload, str) else json.dumps(payload)
        self.db.later(f"INSERT INTO {self.outbox} (id, event_type, payload, status, created_at, updated_at) VALUES ({self.events}, '{kind}', "
                      f"x'{text.encode().hex()}', {status}, {when(self.now)}, {when(self.now)})")
        return self.events

    def tell_follow(self, fan, author, stands=1, status=TOLD, number=None):
        return self.tell({"from_user_id": fan, "to_user_id": author}, "FollowCreated" if stands else "FollowCanceled", status, number)

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

    def follow(self, fan, author, stands=1, missed=(), event=None):
        self.now += 1001
        event = event or (TOLD if self.consumes else PENDING)
        self.db.later("START TRANSACTION")
        self.change("following", fan, author, stands)
        if self.outbox:
            self.tell_follow(fan, author, stands, event)
        self.db.later("COMMIT")
        missed = missed if event == TOLD else CONSUMERS
        if "follower" not in missed:
            self.change("follower", fan, author, stands)
        for side, (user, other, key) in {"following": (fan, author, "uf:flws"), "followers": (author, fan, "uf:fans")}.items():
            if f"count {side}" not in missed:
                self.count(user, side == "followers", 1 if stands else -1)
            if key not in missed:
                self.cache(f"{key}:{user}", other, stands)

    def unfollow(self, fan, author, missed=(), event=None):
        self.follow(fan, author, stands=0, missed=missed, event=event)

    def command(self, *more):
        self.db.flush()
        return tidings("import", "--from", "zhiguang", "--source-mysql", self.db.url, "--source-redis", REDIS, "--max-load", "0", *more)
