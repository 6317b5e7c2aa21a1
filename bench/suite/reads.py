"""2 and 3: badge and pages; also lists and counters, where MariaDB takes part, and the floor of HTTP."""
from .services import load

CASES = ["badge", "first", "older", "unread", "following", "counters"]


def run(world, record, sizes):
    world.tidings.ensure("commit")
    everybody = [world.tidings, world.redis, world.mariadb]
    for _ in range(sizes.rounds):
        result = load(world.bare, "path=1", 1, sizes.seconds, sizes.connections)
        record.add_load("reads", "canned answer", "bare", result)
        record.add_load("reads", "canned answer", "tidings",
                        load(world.tidings, "path=1", 1, sizes.seconds, sizes.connections))
        for case in CASES:
            for service in everybody:
                if service is world.mariadb and case not in ("following", "counters"):
                    continue
                record.add_load("reads", case, service.name,
                                load(service, f"{case}=1", sizes.users, sizes.seconds, sizes.connections))
