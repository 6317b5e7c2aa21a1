"""1: from publishing until the last fan's badge has moved."""
from .services import ROOT, BUILD, Redis, Tidings, json, remove, run as run_program

USERS = 101


def publish(service, author, fans, times):
    out = run_program(BUILD / "bench/load/tidings-load", "--protocol", service.protocol, "--port", service.port, "--users",
                      USERS, "--publish-to", fans, "--author", author, "--last-fan", author - 1, "--times", times,
                      "--scripts", ROOT / "bench/redis")
    return [us / 1000 for us in json.loads(out)["us"]]


def run(world, record, sizes):
    for fans in sizes.fans:
        author = USERS + fans + 1
        tidings = Tidings(world.directory / f"publish-{fans}")
        redis = Redis(world.directory / f"publish-redis-{fans}").start()
        try:
            tidings.fill(USERS, 10, 1, fans=fans)
            tidings.start()
            sha = redis.script("fill_fans.lua")
            for first in range(USERS + 1, author, 10000):
                redis.ask("EVALSHA", sha, 0, author, first, min(first + 9999, author - 1))
            redis.sync("everysec")
            publish(tidings, author, fans, 2), publish(redis, author, fans, 1)
            times = max(1, min(5, 2_000_000 // fans))
            for _ in range(1 if sizes.quick else 3):
                for service in (tidings, redis):
                    for ms in publish(service, author, fans, times if service is redis else 5):
                        record.add("publish", fans, service.name, "ms", ms)
        finally:
            tidings.stop()
            redis.stop()
            remove(tidings.directory)
            remove(redis.directory)
