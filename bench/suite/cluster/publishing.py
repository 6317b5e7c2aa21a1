"""From publishing on one server until the badge of the last follower has moved on another; by fan-out, until that follower's count has."""
import json

from .. import services


def publish(who, author, fans, last, times):
    out = services.run(services.BUILD / "bench/load/tidings-load", "--protocol", who.protocol, "--port", ",".join(map(str, who.ports)),
                       "--users", author, "--publish-to", fans, "--author", author, "--last-fan", last, "--times", times, "--scripts",
                       services.ROOT / "bench/redis")
    return json.loads(out)


def run(community, record, sizes):
    two, one = community.some(2), community.some(1)
    for number, fans in enumerate(sizes.fans):
        author, last = sizes.users + 50 + number, sizes.users + 1 + number  # nobody has asked for that one's badge: nothing is remembered
        community.world.add_fans(author, fans, last)
        community.seeds.add_fans(author, fans, last)
        publish(two, author, fans, last, 2)
        for _ in range(sizes.rounds):
            found = publish(two, author, fans, last, sizes.posts_seen // sizes.rounds or 1)
            for seen, answer in zip(found["us"], found["answer_us"]):
                record.add("publish", fans, "2 servers", "ms", seen / 1000)
                record.add("publish", fans, "2 servers", "answer_ms", answer / 1000)
            for us in publish(one, author, fans, last, 5)["us"]:
                record.add("publish", fans, "1 server", "ms", us / 1000)
            if fans < 1_000_000 or not record.values("publish", fans, "seeds", "ms"):
                for us in publish(community.seeds, author, fans, last, max(1, min(5, 20_000 // fans)))["us"]:
                    record.add("publish", fans, "seeds", "ms", us / 1000)
