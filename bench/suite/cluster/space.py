"""Bytes: of a server's data file, of its memory, of the seeds' keys; and what servers take that are asked for nothing. First of all parts,
before anything else is in memory."""
import json
import time

from .. import services

AUTHORS, USERS = 1009, 2003
LIKES = 20_000
IDLE_BYTES, IDLE_TRIES = 20_000, 5  # a second; more is an image on its way
# What there is twice as much of: users, authors, followed, posts, before and after, and how many of them that makes.
SHAPES = {"a user": (("users", 2 * USERS), USERS), "a follow": (("followed", 41), 20 * USERS)}


def data_bytes(directory, imported=None):
    """Of a lone directory, and the memory of a server that has just opened it."""
    server = services.Tidings(directory)
    if imported is not None:
        path = directory.parent / "facts.ndjson"
        path.write_text("".join(json.dumps(fact) + "\n" for fact in imported))
        services.run(services.BUILD / "tidings", "import", path, "--data", directory)
    server.start()
    found = server.metrics()["tidings_data_bytes"], server.memory()[0]
    server.stop()
    return found


def world_bytes(directory, **changed):
    """A world of which one thing has another number."""
    services.Tidings.fill_with(directory, **{"users": USERS, "authors": AUTHORS, "followed": 21, "posts": 10, **changed})
    found = data_bytes(directory)
    services.remove(directory)
    return found


def on_disk(directory, record, sizes):
    """By differences of two worlds."""
    few, many = sizes.heads
    directory.mkdir()
    base = world_bytes(directory / "base", posts=few)[0]
    for case, ((name, value), n) in SHAPES.items():
        record.add("space", case, "tidings", "bytes", (world_bytes(directory / "more", posts=few, **{name: value})[0] - base) / n)
    posts = AUTHORS * (many - few)
    less, more = (world_bytes(directory / "more", posts=n) for n in (few, many))
    record.add("space", "a post", "tidings", "bytes", (more[0] - less[0]) / posts)
    record.add("memory", "a post", "tidings", "bytes", (more[1] - less[1]) / posts)
    likes = [{"type": "user", "user_id": user} for user in range(1, 1001)]
    posts = [{"type": "post", "at": 1700000000000 + n, "author_id": 2000 + n, "title": "A title", "key": f"p{n}"} for n in range(100)]
    reactions = [{"type": "reaction", "at": 1700000001000 + n, "user_id": 1 + n // 20, "post_key": f"p{n * 7 % 100}", "reaction": "like"}
                 for n in range(LIKES)]
    without = data_bytes(directory / "without", likes + posts)[0]
    record.add("space", "a like", "tidings", "bytes", (data_bytes(directory / "with", likes + posts + reactions)[0] - without) / LIKES)


def idle(community, record):
    """What servers take that are asked for nothing, once the first image of theirs is in MySQL."""
    seconds, each = 4.0, {}
    for _ in range(IDLE_TRIES):
        before = community.meter.read()
        time.sleep(seconds)
        each = community.meter.between(before, community.meter.read(), seconds * len(community.replicas.servers))
        if each["mysql_bytes"] < IDLE_BYTES:
            break
    for name, value in each.items():
        record.add("idle", "a server", "tidings", name, value)


def run(community, record, sizes):
    server, one = community.replicas.servers[0], community.replicas.writer()
    idle(community, record)
    community.load(one, "badge=1", sizes.seconds, sizes.connections, users=10)  # connections and threads have their memory then
    before = server.memory()[0]
    for _ in range(2):  # a user's place in memory is made when somebody has asked
        community.load(one, "badge=1", 3 * sizes.seconds, sizes.connections)
    record.add("memory", "a pair", "tidings", "bytes", (server.memory()[0] - before) / sizes.users / sizes.followed)
    redis = community.seeds.memory()
    community.seeds.fill(sizes.users, sizes.followed, sizes.posts)
    record.add("space", "a user", "seeds", "bytes", (community.seeds.memory() - redis) / sizes.users)
    on_disk(community.directory / "space", record, sizes)


def after_writes(community, record, sizes):
    """A mark: many of them, of users who have marked before."""
    replicas, n = community.replicas, int(20_000 * sizes.seconds)
    before = replicas.servers[0].metrics()["tidings_data_bytes"]
    result = community.load(replicas.all(), "mark=1", sizes.seconds, sizes.mark_connections, items=n)
    grown = replicas.servers[0].metrics()["tidings_data_bytes"] - before
    # The warm-up's are made, too, and are not in `done`.
    record.add("space", "a mark", "tidings", "bytes", grown / (result["done"] * (1 + min(0.5, sizes.seconds / 2) / sizes.seconds)))
