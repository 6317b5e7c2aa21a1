"""From publishing on one server until the badge of the last follower has moved on another; by fan-out, until that follower's count has."""
import json

from .. import services
from .community import Some

USERS = 101  # besides the followers


def publish(who, author, fans, last, times):
    freshness = ["--freshness", who.freshness] if who.protocol == "http" else []
    out = services.run(services.BUILD / "bench/load/tidings-load", "--protocol", who.protocol, "--port", ",".join(map(str, who.ports)),
                       "--users", USERS, "--publish-to", fans, "--author", author, "--last-fan", last, "--times", times, "--scripts",
                       services.ROOT / "bench/redis", *freshness)
    return json.loads(out)


def by_replicas(record, contestants, sizes, number, fans):
    author = USERS + fans + 1  # as bench-engine has it
    for who in contestants if number % 2 else contestants[::-1]:
        found = publish(who, author, fans, author - 1, max(1, sizes.posts_seen // sizes.rounds))
        for seen, answer in zip(found["us"], found["answer_us"]):
            record.add("publish", fans, who.name, "ms", seen / 1000)
            record.add("publish", fans, who.name, "answer_ms", answer / 1000)


def by_seeds(community, record, fans, author, last):
    if fans < 1_000_000 or not record.values("publish", fans, "seeds", "ms"):
        for us in publish(community.seeds, author, fans, last, max(1, min(5, 20_000 // fans)))["us"]:
            record.add("publish", fans, "seeds", "ms", us / 1000)


def measure(community, record, sizes, number, fans):
    replicas = community.make(f"publish_{fans}", users=USERS, followed=10, posts=1, fans=fans).start()
    a, b, c = replicas.servers
    contestants = [Some("writer to follower", [a, b], "bounded"), Some("follower to follower", [b, c], "bounded"),
                   Some("follower to follower, exact", [b, c])]
    author, last = sizes.users + 50 + number, sizes.users + 1 + number  # of the seeds; nobody has asked for that one's badge
    community.seeds.add_fans(author, fans, last)
    publish(contestants[0], USERS + fans + 1, fans, USERS + fans, 2)
    for turn in range(sizes.rounds):
        by_replicas(record, contestants, sizes, turn, fans)
        by_seeds(community, record, fans, author, last)
    replicas.remove()


def run(community, record, sizes):
    for number, fans in enumerate(sizes.fans):
        measure(community, record, sizes, number, fans)
