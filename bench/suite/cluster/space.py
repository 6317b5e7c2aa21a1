"""Bytes: rows in MySQL, keys in Redis, memory of a server. First of all parts, before anything else is in memory."""
import time

from .database import sql

# What one of them is, in tables; the first has a row for each.
ROWS = {"a user": ["user", "user_counter"], "a follow": ["following", "follower"], "a post": ["post", "content_stats", "post_body"],
        "a mark": ["history"], "a read map": ["read_map"], "a like": ["reaction"]}


def in_mysql(record, database, names):
    for name in names:
        tables = ROWS[name]
        sql("".join(f"ANALYZE TABLE {table};" for table in tables), database)
        listed = ", ".join(f"'{table}'" for table in tables)
        size = int(sql("SELECT SUM(data_length + index_length) FROM information_schema.tables WHERE table_schema = "
                       f"'{database}' AND table_name IN ({listed})"))
        rows = int(sql(f"SELECT COUNT(*) FROM {tables[0]}", database))
        if rows:
            record.add("space", name, "mysql", "bytes", size / rows)


def run(community, record, sizes):
    server, everybody = community.servers[0], community.some(1)
    idle(community, record)
    in_mysql(record, community.world.database, ["a user", "a follow", "a post"])
    community.load(everybody, "badge=1", sizes.seconds, sizes.connections, users=10)  # connections and threads have their memory then
    before, redis = server.memory()[0], community.seeds.memory()
    for _ in range(2):  # a user's place in memory is made when somebody has asked
        community.load(everybody, "badge=1", 3 * sizes.seconds, sizes.connections)
    record.add("memory", "a pair", "tidings", "bytes", (server.memory()[0] - before) / sizes.users / sizes.followed)
    record.add("space", "a user", "redis", "bytes", max(0, community.seeds.memory() - redis) / sizes.users)
    redis = community.seeds.memory()
    community.seeds.fill(sizes.users, sizes.followed, sizes.posts)
    record.add("space", "a user", "seeds", "bytes", (community.seeds.memory() - redis) / sizes.users)


def after_writes(community, record, sizes):
    in_mysql(record, community.world.database, ["a mark", "a read map", "a like"])


def idle(community, record):
    """What servers take that are asked for nothing."""
    seconds = 2.0
    before = community.meter.read()
    time.sleep(seconds)
    each = community.meter.between(before, community.meter.read(), seconds * len(community.servers))
    for name, value in each.items():
        record.add("idle", "a server", "tidings", name, value)
