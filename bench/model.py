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
PARTS = ("tidings", "mysql")
SERVERS = 3  # that were measured
ALL = "3 servers"
READS = ("badge", "first", "older", "unread", "counters", "following")
CHANGES = ("mark", "like", "follow", "publish")
OPERATIONS = READS + CHANGES
# Threads of a server: those of the writer alone, and those of each follower for every change.
WRITER_THREADS, FOLLOWER_THREADS = ("writer", "appender", "peer"), ("pushed",)
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
    server_tb: float = 4.0
    database_cores: int = 16
    busy: float = 0.5  # of its cores, at the peak: the other half is for servers that are away, and for p99


COMMUNITIES = {
    "100 thousand": Community(100_000, followed=100, biggest=50_000),
    "a million": Community(1_000_000, followed=120, biggest=300_000),
    "10 million": Community(10_000_000, followed=150, biggest=3_000_000),
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

    def us(self, operation, part, who=ALL):
        return self.point("cost", operation, who, f"{part}_us")

    def threads_us(self, operation, names, who=ALL):
        """Of all servers together; a thread that has done nothing was not told."""
        return sum(self.record.median("cost", operation, who, f"thread {name}_us") or 0 for name in names)

    def writer_us(self, operation):
        """What a change takes of the server that executes it, whoever was asked."""
        return self.threads_us(operation, WRITER_THREADS) if operation in CHANGES else 0

    def thread_us(self, operation):
        """Of that, the thread that executes: there is one, for all changes."""
        return self.threads_us(operation, WRITER_THREADS[:1]) if operation in CHANGES else 0

    def follower_us(self, operation):
        """What a change takes of each follower."""
        return self.threads_us(operation, FOLLOWER_THREADS) / (SERVERS - 1) if operation in CHANGES else 0

    def asked_us(self, operation):
        """What an operation takes of the server that is asked."""
        others = self.writer_us(operation) + self.follower_us(operation) * (SERVERS - 1)
        return max(0, self.us(operation, "tidings") - others)

    def idle(self, metric):
        """What a server takes that is asked for nothing, a second."""
        return self.point("idle", "a server", "tidings", metric)

    def fan_us(self):
        """What a follower more adds to a fan-out, in time."""
        fans = sorted(int(case) for case in self.record.cases("publish", "seeds"))
        return self.point("publish", fans[-1], "seeds", "ms") * 1000 / fans[-1]

    def commit_ms(self):
        """Until the writer answers one change with nothing else to do: mostly the commit in MySQL."""
        fans = min(self.record.cases("publish", "writer to follower"), key=int)
        return self.point("publish", fans, "writer to follower", "answer_ms")

    def bytes_of(self, what):
        return self.point("space", what, "tidings", "bytes")

    def post_bytes(self):
        return self.point("memory", "a post", "tidings", "bytes")


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


# ---- A community ----------------------------------------------------------------------------------


class Plan:
    def __init__(self, costs, community, machine):
        self.costs, self.community, self.machine = costs, community, machine
        self.rates = community.rates()

    def cores(self, us):
        return sum(rate * us(operation) for operation, rate in self.rates.items()) / 1e6

    @property
    def requests(self):
        return sum(self.rates.values())

    def changes(self):
        return sum(self.rates[operation] for operation in CHANGES)

    def asked_cores(self):
        return self.cores(self.costs.asked_us)

    def writer_cores(self):
        return self.cores(self.costs.writer_us)

    def follower_cores(self):
        """Of each."""
        return self.cores(self.costs.follower_us)

    def database_cores(self):
        return self.cores(lambda operation: self.costs.us(operation, "mysql"))

    def servers(self):
        """Each has its share of what is asked, and every change besides; one more takes their work when one is away. None: no number of
        them is enough."""
        room = self.machine.server_cores * self.machine.busy - max(self.follower_cores(), self.writer_cores())
        return max(2, math.ceil(self.asked_cores() / room)) + 1 if room > 0 else None

    def disk_bytes(self):
        """Of each server."""
        c, active_days = self.community, self.community.active * 365 * self.community.years
        size = self.costs.bytes_of
        return c.users * (size("a user") + c.followed * size("a follow") + active_days * (
            c.daily["publish"] * size("a post") + c.daily["mark"] * size("a mark") + c.daily["like"] * size("a like")))

    def heads_gb(self):
        """Of all posts that are kept, in each server's memory."""
        c = self.community
        return c.users * c.active * c.daily["publish"] * 365 * c.years * self.costs.post_bytes() / 1e9

    def log_gb(self):
        """What MySQL is sent in a day."""
        mean = {operation: self.rates[operation] / self.community.peak for operation in CHANGES}
        return sum(rate * self.costs.point("cost", operation, ALL, "mysql_bytes") for operation, rate in mean.items()) * DAY_S / 1e9

    def limits(self):
        """How full each thing is that more servers do not make larger; 1 is full."""
        m = self.machine
        return {"the thread that executes changes": self.cores(self.costs.thread_us) / m.busy,
                "the thread that applies them on a follower": self.follower_cores() / m.busy,
                "CPU of the database": self.database_cores() / (m.database_cores * m.busy),
                "the disk of each server": self.disk_bytes() / (m.server_tb * 1e12),
                "heads in the memory of each server": self.heads_gb() / m.server_gb}

    def first_full(self):
        return max(self.limits().items(), key=lambda limit: limit[1])

    def fan_out_s(self):
        return self.community.biggest * self.costs.fan_us() / 1e6


def largest(costs, machine, community):
    """Users whom one log carries, everything else being as in the community; and what is full then."""
    first, how_full = Plan(costs, community, machine).first_full()
    return community.users / how_full, first


# ---- Tables ---------------------------------------------------------------------------------------


def number(value):
    """Two digits are all that a model is good for."""
    if value is None:
        return "too many"
    if value >= 10:
        return f"{round(value, 1 - math.floor(math.log10(value))):,.0f}"
    return f"{value:.2g}" if value >= 0.01 or not value else "below 0.01"


def machines_table(costs, machine):
    rows = {
        "requests a second, peak": lambda p: number(p.requests),
        "of these changes": lambda p: number(p.changes()),
        "posts a second": lambda p: number(p.rates["publish"]),
        "cores that answer, of all servers": lambda p: number(p.asked_cores()),
        "cores of the writer for changes": lambda p: number(p.writer_cores()),
        "cores of each follower for changes": lambda p: number(p.follower_cores()),
        "cores of the database": lambda p: number(p.database_cores()),
        f"servers of {machine.server_cores} cores, one of them to spare": lambda p: number(p.servers()),
        "disk of each server, TB": lambda p: number(p.disk_bytes() / 1e12),
        "heads of all posts in each server's memory, GB": lambda p: number(p.heads_gb()),
        "sent to the log in MySQL, GB a day": lambda p: number(p.log_gb()),
        "what is full first": lambda p: p.first_full()[0],
        "and how full": lambda p: f"{p.first_full()[1]:.0%}",
        "biggest author's post by fan-out, minutes": lambda p: number(p.fan_out_s() / 60),
    }
    made = {name: Plan(costs, community, machine) for name, community in COMMUNITIES.items()}
    return markers.table(["", *made], [[name, *(cell(plan) for plan in made.values())] for name, cell in rows.items()])


def costs_table(costs):
    rows = [[operation, *(number(us) for us in (costs.asked_us(operation), costs.writer_us(operation), costs.follower_us(operation),
                                               costs.us(operation, "mysql"))),
             number(costs.point("cost", operation, ALL, "mysql_bytes"))] for operation in OPERATIONS]
    rows.append(["a server that is asked for nothing, a second", number(costs.idle("tidings_us")), "", "", number(costs.idle("mysql_us")),
                 number(costs.idle("mysql_bytes"))])
    return markers.table(["", "server that is asked, µs of CPU", "writer", "each follower", "MySQL", "bytes to MySQL"], rows)


def limits_table(costs, machine):
    rows = []
    for name, community in COMMUNITIES.items():
        users, first = largest(costs, machine, community)
        rows.append([f"as that of {name}", number(users), first])
    return markers.table(["habits", "users", "full first"], rows)


def points_text(costs):
    """Of what measurement the tables are."""
    loads = [part[name] for part in costs.record.parts.values() for name in ("load_before", "load_after") if name in part]
    quick = " **A quick run: for the form alone.**" if costs.about["sizes"]["quick"] else ""
    return (f"Points of {costs.about['date']}, {costs.about['machine']}, load average {min(loads):.1f} to {max(loads):.1f}.{quick}")


def tables(costs, machine):
    return {"points": points_text(costs), "costs": costs_table(costs), "machines": machines_table(costs, machine),
            "limits": limits_table(costs, machine)}


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
