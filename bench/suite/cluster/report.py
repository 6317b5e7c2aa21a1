"""Samples to docs/bench/cluster.json, the tables of cluster.md and plots."""
import shutil
import statistics

from .. import markers, svg
from ..report import Tables, put_samples, show, spread
from ..services import ROOT

SERVERS = ["1 server", "2 servers", "3 servers"]
READS = ["badge", "first", "older", "unread", "counters", "following"]
WRITES = ["mark", "follow", "like", "like of one post", "publish"]
PARTS = ["tidings", "mysql", "redis"]


class Places(Tables):
    """A table for each place of the document."""

    def __init__(self, record):
        super().__init__(record)
        self.made = {}

    def put(self, name, head, rows, notes=""):
        rows = [row for row in rows if any(cell not in ("–", "") for cell in row[1:])]
        told = [note["text"] for note in self.record.notes if note["measurement"] == (notes or name)]
        self.made[name] = "\n\n".join([*told, markers.table(head, rows) if rows else "Not measured."])

    def judge(self, what, values, aim, met):
        """`met` of the median. Nothing is said of what was not measured."""
        if values:
            self.aims.append([what, spread(values), aim, "met" if met(statistics.median(values)) else "**missed**"])


def publish(t):
    rows = []
    for case in sorted(t.cases("publish"), key=int):
        seen = t.record.values("publish", case, "2 servers", "ms")
        rows.append([f"{int(case):,}", t.cell("publish", case, "2 servers", "answer_ms"), t.cell("publish", case, "2 servers", "ms"),
                     show(percentile(seen, 0.99)) if seen else "–", t.cell("publish", case, "seeds", "ms"),
                     t.cell("publish", case, "stream-framework", "ms"),
                     show(ratio_of(t, case)) if seen else "–"])
        if seen:
            t.judge(f"publish to {int(case):,} until another server's badge has it, p50, ms", [statistics.median(seen)], "20",
                    lambda ms: ms <= 20)
            t.judge("the same, p99", [percentile(seen, 0.99)], "100", lambda ms: ms <= 100)
    t.put("publish", ["followers", "answered, ms", "seen on another server, ms", "p99", "fan-out on Redis Cluster, ms",
                      "Stream-Framework, ms", "fan-out / Tidings"], rows)


def ratio_of(t, case):
    fan_out = t.record.median("publish", case, "seeds", "ms")
    return fan_out / t.record.median("publish", case, "2 servers", "ms") if fan_out else None


def percentile(values, part):
    return sorted(values)[min(len(values) - 1, int(len(values) * part))]


def rates(t, name, cases):
    rows = [[case, *(t.cell("cost", case, who, "per_second") for who in [*SERVERS, "seeds", "plain SQL"]),
             t.ratio("cost", case, "per_second", "1 server", "seeds"), t.cell("cost", case, "1 server", "p99_us"),
             t.cell("cost", case, "seeds", "p99_us")] for case in cases]
    t.put(name, ["a second", *SERVERS, "seeds on Redis Cluster", "plain SQL", "1 server / seeds", "p99 µs, 1 server", "seeds"], rows)


def work(t):
    """Who works: CPU of each part for an operation, and what is asked of whom."""
    rows = []
    for case in READS + WRITES:
        for who in [*SERVERS, "seeds"]:
            rows.append([f"{case}, {who}", *(t.cell("cost", case, who, f"{part}_us") for part in PARTS),
                         *(t.cell("cost", case, who, name) for name in ("statements", "commits", "redis_commands")),
                         t.cell("cost", case, who, "generator_us")])
    rows.append(["a server that is asked for nothing, a second", *(t.cell("idle", "a server", "tidings", f"{part}_us") for part in PARTS),
                 *(t.cell("idle", "a server", "tidings", name) for name in ("statements", "commits", "redis_commands")), ""])
    t.put("work", ["", "servers, µs", "MySQL, µs", "Redis, µs", "statements", "commits", "Redis commands", "generator, µs"], rows)


def mixed(t):
    rows = [[f"{case}, {who}", *(t.cell("mixed", case, who, f"{point}_us") for point in ("p50", "p99", "p999", "max")),
             *(t.cell("mixed", case, who, f"{part}_us") for part in PARTS)]
            for case in t.cases("mixed") if case != "highest" for who in [*SERVERS, "seeds"]]
    t.put("mixed", ["", "p50, µs", "p99", "p99.9", "max", "servers, µs of CPU", "MySQL", "Redis"], rows)
    t.put("highest", ["", *SERVERS, "seeds"], [["requests a second", *(t.cell("mixed", "highest", who, "per_second")
                                                                      for who in [*SERVERS, "seeds"])]])


def memory(t):
    rows = [[case, *(t.cell("memory of versions", case, who, "per_second") for who in ("with Redis", "without Redis")),
             t.ratio("memory of versions", case, "per_second", "with Redis", "without Redis"),
             *(t.cell("memory of versions", case, who, "mysql_us") for who in ("with Redis", "without Redis"))]
            for case in t.cases("memory of versions")]
    t.put("memory", ["a second", "with Redis", "without", "ratio", "MySQL µs, with", "without"], rows)
    t.judge("marks with Redis, times those without", t.ratios("memory of versions", "mark", "per_second", "with Redis", "without Redis"), "1",
            lambda ratio: ratio >= 1)
    badges, gets = t.record.values("cost", "badge", "1 server", "per_second"), t.record.values("GETs", "16 at a time", "client library",
                                                                                               "per_second")
    t.judge("badge over HTTP, times bare GETs by 16", [badge / get for badge, get in zip(badges, gets)], "0.5", lambda ratio: ratio >= 0.5)
    t.put("gets", ["GETs by the client library, one thread", "a second"],
          [[case, t.cell("GETs", case, "client library", "per_second")] for case in t.cases("GETs")])


def space(t):
    rows = [[f"{case}, {where}", t.cell("space", case, who, "bytes")] for case in t.cases("space")
            for who, where in (("mysql", "rows and indexes in MySQL"), ("redis", "keys in Redis"), ("seeds", "keys of the seeds' design"))]
    rows += [["a pair in a server's memory", t.cell("memory", "a pair", "tidings", "bytes")],
             ["a post in a server's memory (heads)", t.cell("memory", "a post", "tidings", "bytes")]]
    t.put("space", ["", "bytes"], rows)
    t.judge("bytes of a post in memory", t.record.values("memory", "a post", "tidings", "bytes"), "20", lambda size: size <= 20)
    t.judge("bytes of a user in Redis", t.record.values("space", "a user", "redis", "bytes"), "3,000", lambda size: size <= 3000)


def start(t):
    rows = [["until it listens, ms", t.cell("start", "until it listens", "tidings", "ms")]]
    for case in ("first badges", "second badges"):
        rows += [[f"{case}: {label}", t.cell("start", case, "tidings", name)] for name, label in (
            ("p50_us", "p50, µs"), ("p99_us", "p99, µs"), ("tidings_us", "CPU of the server, µs"), ("mysql_us", "of MySQL, µs"),
            ("statements", "statements"))]
    t.put("start", ["", ""], rows)


def events(t):
    rows = [[f"{case}, {metric.replace('_', ' ')}", t.cell("events", case, "tidings", metric)] for case in t.cases("events")
            for metric in dict.fromkeys(s["metric"] for s in t.record.samples if s["measurement"] == "events" and s["case"] == case)]
    t.put("events", ["", ""], rows)
    t.judge("events a second through the relay", t.record.values("events", "through the relay", "tidings", "per_second"), "20,000",
            lambda rate: rate >= 20_000)
    t.judge("catching up, times the rate of writing", t.record.values("events", "catching up", "tidings", "times"), "5", lambda times: times >= 5)


AIMS = {"marks": 5, "follows": 5, "likes": 5, "one-post": 50}


def library(t):
    rows = []
    for case in t.cases("library"):
        rows.append([case, *(t.cell("library", case, who, "per_second") for who in ("library", "plain SQL")),
                     t.ratio("library", case, "per_second", "library", "plain SQL"),
                     *(t.cell("library", case, who, "cpu_us") for who in ("library", "plain SQL"))])
        if case in AIMS:
            t.judge(f"{case} by the library, times plain SQL", t.ratios("library", case, "per_second", "library", "plain SQL"), str(AIMS[case]),
                    lambda ratio, aim=AIMS[case]: ratio >= aim)
    t.judge("badges of 200 a second by the library", t.record.values("library", "badge of 200", "library", "per_second"), "8,000",
            lambda rate: rate >= 8000)
    trips = t.record.values("library", "round trips of a badge from MySQL", "library", "round_trips")
    t.judge("round trips of a badge from MySQL", trips, "2", lambda n: n <= 2)
    t.put("library", ["", "library, a second", "plain SQL", "ratio", "library, µs of CPU", "plain SQL"], rows)


def growth(t):
    rows = []
    for measurement in dict.fromkeys(s["measurement"] for s in t.record.samples if s["measurement"].startswith("growth: ")):
        what = measurement.removeprefix("growth: ")
        for case in t.cases(measurement):
            for who in dict.fromkeys(s["who"] for s in t.record.samples if (s["measurement"], s["case"]) == (measurement, case)):
                cells = [t.cell(measurement, case, who, name) for name in ("tidings_us", "mysql_us", "redis_us", "cpu_us", "statements")]
                rows.append([f"{what}: {int(case):,}", who, *cells])
    t.put("growth", ["", "operation", "server, µs", "MySQL, µs", "Redis, µs", "all, µs", "statements"], rows)


def peer(t):
    t.put("peer", ["Stream-Framework, one process", "a second"],
          [[case, t.cell("peer", case, "stream-framework", "per_second")] for case in t.cases("peer")])


def when(t):
    t.put("when", ["part", "", "commit", "load average before, after"],
          [[part, p["date"], p["commit"], f"{p['load_before']:.1f}, {p.get('load_after', 0):.1f}"] for part, p in t.record.parts.items()])


def head(t, facts, minutes):
    loads = [p[name] for p in t.record.parts.values() for name in ("load_before", "load_after") if name in p]
    versions = ", ".join(f"{name} {v}" for name, v in facts["versions"].items() if name != "lmdb")
    sizes = facts["sizes"]
    t.made["head"] = (
        f"**{facts['date']}**, {facts['machine']}, load average of the machine {min(loads):.1f} to {max(loads):.1f} (the measurement's own part "
        f"included), {minutes:.0f} minutes. {versions}. {'**A quick run, in a small world.** ' if sizes['quick'] else ''}"
        f"{sizes['users']:,} users who follow {sizes['followed']} of as many authors with {sizes['posts']} posts each; {sizes['rounds']} rounds of "
        f"{sizes['seconds']:g} s, medians, lowest and highest in brackets; ratios round by round.")
    t.made["aims"] = markers.table(["", "measured", "aim", ""], t.aims)


# ---- Plots ------------------------------------------------------------------------------------------


def plots(directory, t):
    record, made = t.record, {}
    fans = sorted(t.cases("publish"), key=int)
    series = {label: [(int(case), record.median("publish", case, who, "ms")) for case in fans if record.values("publish", case, who, "ms")]
              for who, label in (("2 servers", "tidings"), ("seeds", "redis"), ("stream-framework", "Stream-Framework"))}
    if any(series.values()):
        made["cluster-publish.svg"] = svg.lines("Publish until the last follower sees it", "followers", "ms",
                                                {label: points for label, points in series.items() if points})
    cases = [case for case in READS + WRITES if record.values("cost", case, "1 server", "mysql_us")]
    if cases:
        for name, some in (("reads", READS), ("writes", WRITES)):
            made[f"cluster-{name}.svg"] = svg.bars(f"CPU for an operation by process: {name}", "µs", {
                case.replace("like of one post", "one post"): {part: record.median("cost", case, "1 server", f"{part}_us") for part in PARTS}
                for case in some if case in cases})
        made["cluster-servers.svg"] = svg.lines(
            "CPU for an operation, all processes, as servers are added", "servers", "µs",
            {case: [(n + 1, sum(record.median("cost", case, who, f"{part}_us") for part in PARTS)) for n, who in enumerate(SERVERS)]
             for case in ("badge", "first", "mark", "like") if case in cases}, log_x=False)
    for measurement, name in (("growth: followed", "followed"), ("growth: posts of an author", "posts"), ("growth: users", "users")):
        sizes = t.cases(measurement)
        if sizes:
            made[f"cluster-growth-{name}.svg"] = svg.lines(
                f"CPU against {measurement.removeprefix('growth: ')}", measurement.removeprefix("growth: "), "µs",
                {who: [(int(size), sum(record.median(measurement, size, who, f"{part}_us") for part in PARTS)) for size in sizes]
                 for who in ("badge", "first", "mark")})
    for name, text in made.items():
        (directory / name).write_text(text)


def write(directory, facts, record, minutes):
    directory.mkdir(parents=True, exist_ok=True)
    t = Places(record)
    for part in (publish, lambda t: rates(t, "reads", READS), lambda t: rates(t, "writes", WRITES), work, mixed, memory, space, start,
                 events, library, growth, peer, when):
        part(t)
    head(t, facts, minutes)
    put_samples(directory / "cluster.json", facts, record)
    document = directory / "cluster.md"
    if not document.exists():
        shutil.copy(ROOT / "docs/bench/cluster.md", document)
    markers.write(document, t.made)
    plots(directory, t)
