"""Marks, follows, likes of many posts and of one, and publishes: acknowledged when durable."""
from .community import add
from .reads import in_turns, plain

# Name, mix, how many items are gathered for a second.
CASES = [("mark", "mark=1", 40_000), ("follow", "follow=1", 0), ("like", "like=1", 0), ("like of one post", "like=1", -1),
         ("publish", "publish=1", 0)]
PLAIN = {"mark": "marks", "follow": "follows", "like": "likes", "like of one post": "one-post"}


def items(each, sizes):
    return 1 if each < 0 else int(each * (sizes.seconds + 0.5)) or 20_000


def measure(community, record, sizes, who, case, mix, each):
    if who is community.seeds:
        who.sync("always")
    connections = sizes.mark_connections if case == "mark" else sizes.connections
    result = community.load(who, mix, sizes.seconds, connections, items=items(each, sizes))
    if who is community.seeds:
        who.sync("no")
    add(record, "cost", case, who.name, result, True, who is not community.seeds)


def run(community, record, sizes):
    replicas = community.replicas
    for number in range(sizes.rounds):
        for case, mix, each in CASES:
            for who in in_turns([replicas.writer(), replicas.follower(), replicas.all(), community.seeds], number):
                measure(community, record, sizes, who, case, mix, each)
            if case in PLAIN:
                plain(community, record, case, PLAIN[case], sizes)
