"""Badge, pages, counters and lists: how many a second, and what each takes of whom. Exact, and bounded on all three servers."""
from .community import add

CASES = ["badge", "first", "older", "unread", "counters", "following"]
PLAIN = {"badge": "badge", "first": "page", "counters": "counters", "following": "following"}  # what bench/database has of them


def in_turns(contestants, number):
    """Who is first in one round is last in the next."""
    return contestants if number % 2 else contestants[::-1]


def plain(community, record, case, work, sizes):
    result = community.plain.run(work, sizes.connections, sizes.seconds)
    record.add("cost", case, "plain SQL", "per_second", result["per_second"])
    record.add("cost", case, "plain SQL", "mysql_us", result["cpu_us"])


def run(community, record, sizes):
    replicas = community.replicas
    contestants = [replicas.writer(), replicas.follower(), replicas.all(), replicas.all_bounded(), community.seeds]
    community.warm(replicas.servers, sizes.users)
    for number in range(sizes.rounds):
        for case in CASES:
            for who in in_turns(contestants, number):
                result = community.load(who, f"{case}=1", sizes.seconds, sizes.connections)
                add(record, "cost", case, who.name, result, True, who is not community.seeds)
            if case in PLAIN:
                plain(community, record, case, PLAIN[case], sizes)
