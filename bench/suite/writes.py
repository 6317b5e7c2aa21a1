"""4, 5 and 6: marking, following, liking, each acknowledged when it is durable (or once a second)."""
from .growth import WALL
from .services import BUILD, floors, load, remove, run as run_program

BATCH_FIELDS = ("tidings_batch_size_sum", "tidings_batch_size_count", "tidings_commit_seconds_sum")


def batches(before, after):
    """Changes a batch, and seconds a batch takes to become durable."""
    changes, count, seconds = (after[name] - before[name] for name in BATCH_FIELDS)
    return (changes / count, seconds / count) if count else (0, 0)


def measure(world, record, sizes, name, mix, durable, connections, with_mariadb=False):
    case = "durable" if durable else "every second"
    tidings = world.tidings.ensure("commit" if durable else "second")
    options = {"mark=1": {"items": int(sizes.seconds * 60000 + 20000)}, "like=1": {"items": 20000}}.get(mix, {})
    before = tidings.metrics()
    record.add_load(name, case, "tidings", load(tidings, mix, sizes.users, sizes.seconds, connections, **options))
    size, seconds = batches(before, tidings.metrics())
    record.add(name, case, "tidings", "batch", size)
    record.add(name, case, "tidings", "batch_ms", seconds * 1000)
    world.redis.sync("always" if durable else "everysec")
    record.add_load(name, case, "redis", load(world.redis, mix, sizes.users, sizes.seconds, connections, **options))
    if with_mariadb:
        record.add_load(name, case, "mariadb", load(world.mariadb, mix, sizes.users, sizes.seconds, connections))
    return max(int(size), 1)


def floor(world, record, sizes, batch):
    """The same rows in batches of the same size, with LMDB's own sync; and the bare disk."""
    directory = world.directory / "floors"
    directory.mkdir()
    record.add("marks", "durable", "lmdb sync",
               "per_second", floors("lmdb", directory, sizes.users, sizes.followed, batch, sizes.seconds))
    bytes_a_batch = max(512, batch * 180)
    appends = floors("append", directory, bytes_a_batch, sizes.seconds)
    record.add("marks", "durable", "append + fdatasync", "per_second", appends * batch)
    record.add("floors", "append + fdatasync", "disk", "ms", 1000 / appends)
    remove(directory)


def library(world, record, sizes):
    """The same marks through the library, as many in flight as there are connections: what HTTP takes is the difference."""
    text = run_program(BUILD / "tidings", "bench-engine", "--data", world.directory / "library", "--users", sizes.users,
                       "--authors", sizes.users, "--followed", sizes.followed, "--posts", sizes.posts, "--fans", 1,
                       "--comments", 1, "--samples", int(sizes.seconds * 30000), "--in-flight", sizes.mark_connections,
                       "--only", "mark-read")
    us = {name: float(wall) for name, wall, _, _ in WALL.findall(text)}["mark-read, in large batches"]
    record.add("marks", "durable", "library", "per_second", 1e6 / us)


def run(world, record, sizes):
    for _ in range(sizes.rounds):
        library(world, record, sizes)
        batch = measure(world, record, sizes, "marks", "mark=1", True, sizes.mark_connections)
        floor(world, record, sizes, batch)
        measure(world, record, sizes, "follows", "follow=1", True, sizes.connections, with_mariadb=True)
        measure(world, record, sizes, "likes", "like=1", True, sizes.connections)
    for _ in range(sizes.rounds):
        measure(world, record, sizes, "marks", "mark=1", False, sizes.mark_connections)
        measure(world, record, sizes, "likes", "like=1", False, sizes.connections)
    record.add("floors", "random read, 1 GiB", "memory", "ns", floors("memory", 1024, 1))
