"""A community's traffic at fixed rates, each request's time counted from when it was due; and the highest rate with p99 below 10 ms."""
from ..mixed import MIX, highest, holds
from .community import add
from .reads import in_turns


def at_rate(community, who, sizes, rate):
    items = int(rate * (sizes.seconds + 1) * 0.12) + 2000
    return community.load(who, MIX, sizes.seconds, sizes.mix_connections, rate=int(rate), items=items)


def run(community, record, sizes):
    contestants = [community.replicas.writer(), community.replicas.all(), community.replicas.all_bounded(), community.seeds]
    community.seeds.sync("no")
    for number in range(sizes.rounds):
        for rate in sizes.rates:
            for who in in_turns(contestants, number):
                add(record, "mixed", f"{rate:,}/s", who.name, at_rate(community, who, sizes, rate), True)
    for _ in range(1 if sizes.quick else 2):
        for who in contestants:
            found = highest(lambda rate, who=who: holds(at_rate(community, who, sizes, rate)), sizes.rates[-1], sizes.quick)
            record.add("mixed", "highest", who.name, "per_second", found)
