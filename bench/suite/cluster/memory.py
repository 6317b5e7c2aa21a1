"""The same server with a Redis and without one, in databases of their own, since the servers of a database either all have one or none does."""
from .community import Server, Some, add
from .database import World
from .reads import in_turns

CASES = [("badge", "badge=1", 0), ("mark", "mark=1", 256)]


def run(community, record, sizes):
    users = sizes.library[0]
    contestants, worlds = [], []
    for name in ("with Redis", "without Redis"):
        worlds.append(World("bench_" + name.split()[0], *sizes.library))
        server = community.server(name.replace(" ", "-"))
        contestants.append(Some(name, [server.start(worlds[-1].database, redis=name == "with Redis")]))
    for number in range(sizes.rounds):
        for case, mix, connections in CASES:
            for who in in_turns(contestants, number):
                result = community.load(who, mix, sizes.seconds, connections or sizes.connections, users=users,
                                        items=int(40_000 * (sizes.seconds + 0.5)))
                add(record, "memory of versions", case, who.name, result, True)
    for who, world in zip(contestants, worlds):
        who.servers[0].stop()
        community.meter.servers.remove(who.servers[0])
        world.drop()
