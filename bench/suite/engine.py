"""The engine alone with 20 million pairs; 10: its cold start, reads while nothing is in memory, and recovery."""
import time

from .growth import engine
from .services import Tidings, evict, load, remove

FOLLOWED, POSTS = 200, 10


def started(tidings):
    begun = time.monotonic()
    tidings.start("commit")
    return (time.monotonic() - begun) * 1000


def alone(world, record, sizes, directory):
    for _ in range(1 if sizes.quick else 3):
        found, text = engine(directory, sizes.big_users, sizes.big_users, FOLLOWED, POSTS, sizes.big_samples,
                             fans=sizes.big_fans, comments=1000 if sizes.quick else 100_000)
        for name, us in found.items():
            record.add("engine", name, "tidings", "us", us)
        record.say(text.splitlines()[-1])


def cold(record, sizes, directory):
    tidings = Tidings(directory)
    for state in ("cold", "warm"):
        for _ in range(sizes.rounds):
            if state == "cold":
                evict(directory)
            record.add("start", f"start, {state}", "tidings", "ms", started(tidings))
            result = load(tidings, "badge=1", sizes.big_users, sizes.seconds, 8, warm_up=0)
            record.add("start", f"badge, {state}", "tidings", "p50_us", result["latency_us"]["all"]["p50"])
            record.add("start", f"badge, {state}", "tidings", "p99_us", result["latency_us"]["all"]["p99"])
            tidings.stop()
    size = (directory / "data.mdb").stat().st_size
    record.add("start", "data file", "tidings", "mb", size / 1e6)


def recovery(world, record, sizes):
    """Marks and follows with no base image between, kill -9, the data file gone: all of it from the log."""
    tidings = Tidings(world.directory / "recovery")
    started(tidings)
    load(tidings, "follow=1,publish=1", 10007, sizes.recovery_seconds, 256)
    gigabytes = tidings.metrics()["tidings_log_bytes"] / 1e9
    tidings.stop(hard=True)
    for _ in range(3):
        (tidings.directory / "data.mdb").unlink()
        ms = started(tidings)
        record.add("start", "recovery from the log", "tidings", "ms", ms)
        record.add("start", "recovery, a GB of log", "tidings", "s_per_gb", ms / 1000 / gigabytes)
        tidings.stop(hard=True)
    record.note("start", f"Recovery replayed {gigabytes * 1000:.0f} MB of log into an empty image.")
    remove(tidings.directory)


def run(world, record, sizes):
    directory = world.directory / "big"
    alone(world, record, sizes, directory)
    cold(record, sizes, directory)
    remove(directory)
    recovery(world, record, sizes)
