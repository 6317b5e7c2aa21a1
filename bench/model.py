#!/usr/bin/env python3
"""How many machines a community takes, out of what was measured: docs/SCALING.md.

    bench/model.py [--points FILE] [--write]

Every cost is a median of docs/bench/cluster.json, so a new measurement moves the model. What is assumed, and cannot be measured on one
machine, is in Machine and in COMMUNITIES. With --write the tables of docs/SCALING.md are made anew.
"""
import argparse
import json
import math
import sys
from dataclasses import dataclass, field
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from suite import markers  # noqa: E402
from suite.record import Record  # noqa: E402

ROOT = Path(__file__).resolve().parents[1]
POINTS = ROOT / "docs/bench/cluster.json"
PARTS = ("tidings", "mysql", "redis")
OPERATIONS = ("badge", "first", "older", "unread", "counters", "following", "mark", "like", "follow", "publish")
TELL_EVENTS = ("like", "follow", "publish")  # those that take a position, one database's one after the other
# Of src/engine/cluster: how often news is looked for, servers a database, bytes of an author's row in memory.
NEWS_EVERY_MS, SERVERS_MAX, CURRENT_BYTES = 25, 16, 48
NEWS_BYTES = 200  # of an event on its way
MAP_POSTS = 64  # of an author in a read map
NEWEST = 10  # posts of an author that are kept in memory with it; a badge needs none
DAY_S = 86400


@dataclass
class Community:
    """What a day of it is like. Operations are those of a user who is active that day."""
    users: int
    active: float = 0.3
    followed: int = 200
    peak: float = 3.0  # the busiest minute against the mean
    years: float = 2.0  # of posts, reads and reactions that are kept
    biggest: int = 0  # followers of the biggest author
    online: float = 0.1  # of the active ones, with a stream
    others: float = 0.2  # of the pairs in a server's memory, those whose author no other pair there has
    daily: dict = field(default_factory=lambda: {
        "badge": 40, "first": 10, "older": 5, "unread": 3, "counters": 5, "following": 2, "mark": 20, "like": 5, "follow": 0.5,
        "publish": 0.3})

    def rate(self, operation):
        """A second, at the peak."""
        return self.users * self.active * self.daily[operation] * self.peak / DAY_S

    def rates(self):
        return {operation: self.rate(operation) for operation in OPERATIONS}


@dataclass
class Machine:
    """A core is one of the machine that was measured."""
    server_cores: int = 16
    server_gb: float = 48.0  # of 64
    database_cores: int = 32
    database_tb: float = 4.0
    busy: float = 0.5  # of its cores, at the peak: the other half is for a region that fails, and for p99


COMMUNITIES = {
    "100 thousand": Community(100_000, followed=100, biggest=50_000),
    "10 million": Community(10_000_000, followed=150, biggest=3_000_000),
    "a billion": Community(1_000_000_000, followed=200, biggest=100_000_000),
}


class Costs:
    """The points of a measurement."""

    def __init__(self, path=POINTS):
        self.record = Record()
        self.record.keep(path, [])
        self.about = json.loads(path.read_text()).get("about")

    def point(self, measurement, case, who, metric):
        value = self.record.median(measurement, case, who, metric)
        if value is None:
            raise SystemExit(f"model: {measurement}, {case}, {who}: no {metric} was measured")
        return value

    def us(self, operation, part, servers=1):
        return self.point("cost", operation, who(servers), f"{part}_us")

    def idle(self, metric):
        """What a server takes that is asked for nothing, a second."""
        return self.point("idle", "a server", "tidings", metric)

    def news_us(self):
        """The database's, for a look at the news."""
        return self.idle("mysql_us") / (1000 / NEWS_EVERY_MS)

    def fill_us(self, part):
        """For a badge of a user of whom nothing is in memory."""
        return self.point("start", "first badges", "tidings", f"{part}_us")

    def fan_us(self):
        """What a follower more adds to a fan-out, in time."""
        fans = sorted(int(case) for case in self.record.cases("publish", "seeds"))
        return self.point("publish", fans[-1], "seeds", "ms") * 1000 / fans[-1]

    def pair_bytes(self):
        return self.point("memory", "a pair", "tidings", "bytes")

    def post_bytes(self):
        return self.point("memory", "a post", "tidings", "bytes")


def who(servers):
    return "1 server" if servers == 1 else f"{servers} servers"


# ---- What is said of a point that was measured, too: tests/bench/test_model.py ------------------


def mix_us(costs, weights, part):
    """CPU of a request of a mix, from that of its operations one by one."""
    total = sum(weights.values())
    return sum(weight * costs.us(operation, part) for operation, weight in weights.items()) / total


def mix_at_us(costs, weights, part, rate, servers):
    """The same at a rate, with what so many servers take anyway."""
    return mix_us(costs, weights, part) + servers * costs.idle(f"{part}_us") / rate


def line_through(points):
    """(intercept, slope) through the first and the last of them."""
    (x, y), (x2, y2) = points[0], points[-1]
    slope = (y2 - y) / (x2 - x)
    return y - slope * x, slope


def seen_ms(answer_ms):
    """Until another server's badge has a post, by median: the answer, and half of the time between two looks at the news."""
    return answer_ms + NEWS_EVERY_MS / 2


# ---- A community ----------------------------------------------------------------------------------


class Plan:
    def __init__(self, costs, community, machine):
        self.costs, self.community, self.machine = costs, community, machine
        self.rates = community.rates()
        self.cores = {part: sum(rate * costs.us(operation, part) for operation, rate in self.rates.items()) / 1e6
                      for part in PARTS}

    @property
    def requests(self):
        return sum(self.rates.values())

    def server_needs(self):
        """Servers that each of their limits wants."""
        pairs = self.pairs() * self.pair_gb()
        return {"CPU of the servers": self.cores["tidings"] / (self.machine.server_cores * self.machine.busy),
                "memory of the servers": pairs / self.machine.server_gb}

    def servers(self):
        return max(2, math.ceil(max(self.server_needs().values())))

    def pairs(self):
        """Of users who are active in the busiest hour."""
        c = self.community
        return c.users * c.active * c.peak / 24 * c.followed

    def pair_gb(self):
        """With the author's row and newest posts, which others' pairs share."""
        return (self.costs.pair_bytes() + self.community.others * (CURRENT_BYTES + NEWEST * self.costs.post_bytes())) / 1e9

    def changes(self):
        return sum(self.rates[operation] for operation in TELL_EVENTS)

    def database_bytes(self):
        """Rows of users, pairs, and of what is read and posted in the years that are kept."""
        c, active_days = self.community, self.community.active * 365 * self.community.years

        def size(of):
            return self.costs.point("space", of, "mysql", "bytes")

        maps = math.ceil(active_days * c.daily["publish"] / MAP_POSTS)  # of a pair
        return c.users * (size("a user") + c.followed * (size("a follow") + maps * size("a read map")) +
                          active_days * (c.daily["publish"] * size("a post") + c.daily["mark"] * size("a mark") +
                                         c.daily["like"] * size("a like")))

    def database_needs(self):
        """Parts of a split that each of its limits wants; the highest decides."""
        m = self.machine
        ordered = self.costs.point("library", "likes", "library", "per_second")
        return {"CPU of the database": self.cores["mysql"] / (m.database_cores * m.busy),
                "changes in one order": self.changes() / (ordered * m.busy),
                "bytes on its disk": self.database_bytes() / (m.database_tb * 1e12),
                "servers of a database": max(self.server_needs().values()) / SERVERS_MAX}

    def databases(self):
        return max(1, math.ceil(max(self.database_needs().values())))

    def first_full(self):
        return max(self.database_needs().items(), key=lambda need: need[1])[0]

    def memory(self):
        """GB of a server."""
        return self.pairs() / self.servers() * self.pair_gb()

    def heads_gb(self):
        """Of all posts that are kept, for a server that would have all heads."""
        c = self.community
        return c.users * c.active * c.daily["publish"] * 365 * c.years * self.costs.post_bytes() / 1e9

    def redis(self):
        c = self.community
        users = c.users * c.active * c.peak / 24 / 60 * 5  # a version stands for a minute behind its last use; five to be safe
        return {"nodes": max(3, math.ceil(self.cores["redis"] / self.machine.busy)),
                "GB": users * self.costs.point("space", "a user", "redis", "bytes") / 1e9}

    def partitions(self):
        """Of Kafka, if a consumer of others' takes 5,000 events a second; the relay itself needs one a database."""
        return max(self.databases(), math.ceil(self.changes() / 5000))

    def news(self):
        """Looks at the news a second at one database, and cores of it: if each server asks each database, and if its own alone."""
        s, d = self.servers(), self.databases()
        a_look = self.costs.news_us() / 1e6
        looks = {"all ask all": s * 1000 / NEWS_EVERY_MS, "its own alone": s / d * 1000 / NEWS_EVERY_MS}
        return {how: (n, n * a_look) for how, n in looks.items()}

    def news_mb(self):
        """MB a second that each server hears if all posts of all authors are told to all servers."""
        return self.rates["publish"] * NEWS_BYTES / 1e6

    def fan_out_s(self):
        return self.community.biggest * self.costs.fan_us() / 1e6


def largest_unsplit(costs, machine, community):
    """Users whom one database carries, everything else being as in the community; and what is full then."""
    needs = Plan(costs, community, machine).database_needs()
    first = max(needs, key=needs.get)
    return community.users / needs[first], first


# ---- Tables ---------------------------------------------------------------------------------------


def number(value):
    """Two digits are all that a model is good for."""
    if value >= 10:
        return f"{round(value, 1 - math.floor(math.log10(value))):,.0f}"
    return f"{value:.2g}" if value >= 0.01 or not value else "below 0.01"


def plans(costs, machine):
    return {name: Plan(costs, community, machine) for name, community in COMMUNITIES.items()}


def machines_table(costs, machine):
    rows = {
        "requests a second, peak": lambda p: number(p.requests),
        "of these changes that tell others": lambda p: number(p.changes()),
        "posts a second": lambda p: number(p.rates["publish"]),
        "cores: servers": lambda p: number(p.cores["tidings"]),
        "cores: database": lambda p: number(p.cores["mysql"]),
        "cores: Redis": lambda p: number(p.cores["redis"]),
        f"servers of {machine.server_cores} cores": lambda p: number(p.servers()),
        f"databases of {machine.database_cores} cores": lambda p: number(p.databases()),
        "what decides how many servers": lambda p: max(p.server_needs(), key=p.server_needs().get),
        "and how many databases": lambda p: p.first_full(),
        "memory of a server, GB": lambda p: number(p.memory()),
        "all heads of all posts, GB": lambda p: number(p.heads_gb()),
        "rows in MySQL, TB": lambda p: number(p.database_bytes() / 1e12),
        "Redis masters, and GB in all": lambda p: f"{number(p.redis()['nodes'])}, {number(p.redis()['GB'])}",
        "slots of a master": lambda p: number(16384 / p.redis()["nodes"]),
        "Kafka partitions": lambda p: number(p.partitions()),
        "looks at the news a second at a database, all ask all": lambda p: number(p.news()["all ask all"][0]),
        "cores of it": lambda p: number(p.news()["all ask all"][1]),
        "the same, a server asks its own": lambda p: number(p.news()["its own alone"][0]),
        "MB a second of news to each server": lambda p: number(p.news_mb()),
        "biggest author's post by fan-out, minutes": lambda p: number(p.fan_out_s() / 60),
    }
    made = plans(costs, machine)
    return markers.table(["", *made], [[name, *(cell(plan) for plan in made.values())] for name, cell in rows.items()])


def costs_table(costs):
    rows = [[operation, *(number(costs.us(operation, part)) for part in PARTS),
             *(number(costs.point("cost", operation, "1 server", metric)) for metric in ("statements", "commits", "redis_commands"))]
            for operation in OPERATIONS]
    rows.append(["a server that is asked for nothing, a second", number(costs.idle("tidings_us")), number(costs.idle("mysql_us")),
                 number(costs.idle("redis_us")), number(costs.idle("statements")), number(costs.idle("commits")),
                 number(costs.idle("redis_commands"))])
    return markers.table(["", "server, µs of CPU", "MySQL", "Redis", "statements", "commits", "Redis commands"], rows)


def unsplit_table(costs, machine):
    rows = []
    for name, community in COMMUNITIES.items():
        users, first = largest_unsplit(costs, machine, community)
        rows.append([f"as that of {name}", number(users), first])
    return markers.table(["habits", "users", "full first"], rows)


def points_text(costs):
    """Of what measurement the tables are."""
    loads = [part[name] for part in costs.record.parts.values() for name in ("load_before", "load_after") if name in part]
    quick = " **A quick run: for the form alone.**" if costs.about["sizes"]["quick"] else ""
    return (f"Points of {costs.about['date']}, {costs.about['machine']}, load average {min(loads):.1f} to {max(loads):.1f}.{quick}")


def tables(costs, machine):
    return {"points": points_text(costs), "costs": costs_table(costs), "machines": machines_table(costs, machine), "unsplit": unsplit_table(costs, machine)}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--points", type=Path, default=POINTS)
    parser.add_argument("--write", action="store_true", help="into docs/SCALING.md")
    arguments = parser.parse_args()
    made = tables(Costs(arguments.points), Machine())
    if arguments.write:
        markers.write(ROOT / "docs/SCALING.md", made)
    else:
        print("\n\n".join(made.values()))


if __name__ == "__main__":
    main()
