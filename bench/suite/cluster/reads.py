"""Badge, pages, counters and lists: how many a second, and what each takes of whom."""
import re

from .. import services
from .community import add

CASES = ["badge", "first", "older", "unread", "counters", "following"]
PLAIN = {"badge": "badge", "first": "page", "counters": "counters", "following": "following"}  # what bench/database has of them


def in_turns(contestants, number):
    """Who is first in one round is last in the next."""
    return contestants if number % 2 else contestants[::-1]


def plain(community, record, case, sizes):
    result = community.library.singly().run("singly", PLAIN[case], sizes.connections, sizes.seconds)
    record.add("cost", case, "plain SQL", "per_second", result["per_second"])
    record.add("cost", case, "plain SQL", "mysql_us", result["cpu_us"])


def bare_gets(record):
    """By the client library that Tidings has, sixteen at a time, one thread."""
    for at_a_time, rate in re.findall(r"(\d+) at a time: +(\d+) a second", services.run(services.BUILD / "tests/bench_redis_gets")):
        record.add("GETs", f"{at_a_time} at a time", "client library", "per_second", float(rate))


def run(community, record, sizes):
    community.warm(community.servers, sizes.users)
    for number in range(sizes.rounds):
        for case in CASES:
            for who in in_turns([*community.everybody(), community.seeds], number):
                add(record, "cost", case, who.name, community.load(who, f"{case}=1", sizes.seconds, sizes.connections), True)
            if case in PLAIN:
                plain(community, record, case, sizes)
        bare_gets(record)
