"""Samples to docs/bench/cluster.json, the tables of cluster.md and plots."""
import shutil
import statistics

from .. import markers, svg
from ..report import Tables, put_samples, show, spread
from ..services import ROOT

SERVERS = ["writer", "follower", "3 servers"]
READERS = [*SERVERS, "3 servers, bounded"]
READS = ["badge", "first", "older", "unread", "counters", "following"]
WRITES = ["mark", "follow", "like", "like of one post", "publish"]
PARTS = ["tidings", "mysql", "redis"]
SEEN = ["writer to follower", "follower to follower", "follower to follower, exact"]
# Times the seeds' rate, three servers, exact.
AIMS = {"first": 2, "unread": 2, "badge": 0.7, "mark": 0.7, "follow": 1.5, "like": 1.5, "publish": 20}
SEEN_P50_MS, SEEN_P99_MS, MIXED = 5, 30, 2
THREAD_LEAST_US = 0.3


class Places(Tables):
    """A table for each place of the document."""

    def __init__(self, record):
        super().__init__(record)
        self.made = {}

    def put(self, name, head, rows, notes=""):
        rows = [row for row in rows if any(cell not in ("–", "") for cell in row[1:])]
        told = [note["text"] for note in self.record.notes if note["measurement"] == (notes or name)]
        self.made[name] = "\n\n".join([*told, markers.table(head, rows) if rows else "Not measured."])

    def judge(self, what, values, aim, met, cpu=None):
        """`met` of the median. Nothing is said of what was not measured."""
        if values:
            self.aims.append([what, spread(values), spread(cpu) if cpu else "", aim,
                              "met" if met(statistics.median(values)) else "**missed**"])

    def cpu_ratios(self, case, over, under):
        """How many times the CPU of all services together the one takes of the other's: less depends on what else the machine does."""
        return self.ratios("cost", case, "all_us", under, over)


def percentile(values, part):
    return sorted(values)[min(len(values) - 1, int(len(values) * part))]


def judge_rates(t):
    for case, aim in AIMS.items():
        t.judge(f"{case}, times the seeds' rate", t.ratios("cost", case, "per_second", "3 servers", "seeds"), f"{aim:g}",
                lambda ratio, aim=aim: ratio >= aim, t.cpu_ratios(case, "3 servers", "seeds"))
    t.judge("mixed traffic with p99 below 10 ms, times the seeds' rate", t.ratios("mixed", "highest", "per_second", "3 servers", "seeds"),
            f"{MIXED}", lambda ratio: ratio >= MIXED)


def publish(t):
    rows = []
    for case in sorted(t.cases("publish"), key=int):
        seen = {who: t.record.values("publish", case, who, "ms") for who in SEEN}
        rows.append([f"{int(case):,}", t.cell("publish", case, SEEN[1], "answer_ms"),
                     *(cell for who in SEEN for cell in (t.cell("publish", case, who, "ms"),
                                                         show(percentile(seen[who], 0.99)) if seen[who] else "–")),
                     t.cell("publish", case, "seeds", "ms"), t.cell("publish", case, "stream-framework", "ms"),
                     t.ratio("publish", case, "ms", "seeds", SEEN[1])])
        for who in SEEN[:2]:
            if seen[who]:
                t.judge(f"publish to {int(case):,} until seen, {who}, p50, ms", [statistics.median(seen[who])], f"{SEEN_P50_MS}",
                        lambda ms: ms <= SEEN_P50_MS)
                t.judge("the same, p99", [percentile(seen[who], 0.99)], f"{SEEN_P99_MS}", lambda ms: ms <= SEEN_P99_MS)
    t.put("publish", ["followers", "answered by a follower, ms", "seen, writer to follower, ms", "p99", "follower to follower", "p99",
                      "the same, exact", "p99", "fan-out on Redis Cluster, ms", "Stream-Framework, ms", "fan-out / follower to follower"], rows)


def rates(t, name, cases, servers):
    rows = [[case, *(t.cell("cost", case, who, "per_second") for who in [*servers, "seeds", "plain SQL"]),
             t.ratio("cost", case, "per_second", "3 servers", "seeds"), spread(t.cpu_ratios(case, "3 servers", "seeds")),
             t.cell("cost", case, "3 servers", "p99_us"), t.cell("cost", case, "seeds", "p99_us")] for case in cases]
    t.put(name, ["a second", *servers, "seeds on Redis Cluster", "plain SQL", "3 servers / seeds", "seeds' CPU / 3 servers'",
                 "p99 µs, 3 servers", "seeds"], rows)


def work(t):
    """Who works: CPU of each part for an operation, and what is asked of whom."""
    rows = []
    for case in READS + WRITES:
        for who in [*READERS, "seeds"]:
            rows.append([f"{case}, {who}", *(t.cell("cost", case, who, f"{part}_us") for part in PARTS), t.cell("cost", case, who, "all_us"),
                         *(t.cell("cost", case, who, name) for name in ("statements", "commits", "mysql_bytes")),
                         t.cell("cost", case, who, "generator_us")])
    rows.append(["a server that is asked for nothing, a second", *(t.cell("idle", "a server", "tidings", f"{part}_us") for part in PARTS), "",
                 *(t.cell("idle", "a server", "tidings", name) for name in ("statements", "commits", "mysql_bytes")), ""])
    t.put("work", ["", "servers, µs", "MySQL, µs", "Redis, µs", "all, µs", "statements", "commits", "bytes to MySQL", "generator, µs"], rows)


def threads(t):
    """Of the three servers together: who of a server works for an operation."""
    found = {case: {s["metric"]: t.record.median("cost", case, "3 servers", s["metric"]) for s in t.record.samples
                    if (s["measurement"], s["case"], s["who"]) == ("cost", case, "3 servers") and s["metric"].startswith("thread ")}
             for case in READS + WRITES}
    names = sorted({name for of in found.values() for name, us in of.items() if us >= THREAD_LEAST_US},
                   key=lambda name: -sum(of.get(name, 0) for of in found.values()))
    t.put("threads", ["3 servers, µs", *(name.removeprefix("thread ").removesuffix("_us") for name in names)],
          [[case, *(show(of[name]) if of.get(name, 0) >= THREAD_LEAST_US else "" for name in names)] for case, of in found.items() if of])


def mixed(t):
    contestants = ["writer", "3 servers", "3 servers, bounded", "seeds"]
    rows = [[f"{case}, {who}", *(t.cell("mixed", case, who, f"{point}_us") for point in ("p50", "p99", "p999", "max")),
             *(t.cell("mixed", case, who, f"{part}_us") for part in PARTS), t.cell("mixed", case, who, "statements")]
            for case in t.cases("mixed") if case != "highest" for who in contestants]
    t.put("mixed", ["", "p50, µs", "p99", "p99.9", "max", "servers, µs of CPU", "MySQL", "Redis", "statements"], rows)
    t.put("highest", ["", *contestants, "3 servers / seeds"],
          [["requests a second", *(t.cell("mixed", "highest", who, "per_second") for who in contestants),
            t.ratio("mixed", "highest", "per_second", "3 servers", "seeds")]])


def space(t):
    rows = [[f"{case}, {where}", t.cell("space", case, who, "bytes")] for case in t.cases("space")
            for who, where in (("tidings", "data file of each server"), ("seeds", "keys of the seeds' design"))]
    rows += [["a pair in a server's memory", t.cell("memory", "a pair", "tidings", "bytes")],
             ["a post in a server's memory (heads)", t.cell("memory", "a post", "tidings", "bytes")]]
    t.put("space", ["", "bytes"], rows)


def start(t):
    rows = [[label, t.cell("start", case, "tidings", "ms")] for case, label in (
        ("joins", "with an empty directory, until it is ready, ms"), ("again", "with its directory, until it is ready, ms"))]
    for case in ("first badges", "second badges"):
        rows += [[f"{case}: {label}", t.cell("start", case, "tidings", name)] for name, label in (
            ("p50_us", "p50, µs"), ("p99_us", "p99, µs"), ("tidings_us", "CPU of the servers, µs"), ("mysql_us", "of MySQL, µs"),
            ("statements", "statements"))]
    t.put("start", ["", ""], rows)


def events(t):
    rows = [[f"{case}, {metric.replace('_', ' ')}", t.cell("events", case, "tidings", metric)] for case in t.cases("events")
            for metric in dict.fromkeys(s["metric"] for s in t.record.samples if s["measurement"] == "events" and s["case"] == case)]
    t.put("events", ["", ""], rows)
    t.judge("events a second to Kafka", t.record.values("events", "that stand in the log", "tidings", "per_second"), "20,000",
            lambda rate: rate >= 20_000)


def growth(t):
    rows = []
    for measurement in dict.fromkeys(s["measurement"] for s in t.record.samples if s["measurement"].startswith("growth: ")):
        what = measurement.removeprefix("growth: ")
        for case in t.cases(measurement):
            for who in dict.fromkeys(s["who"] for s in t.record.samples if (s["measurement"], s["case"]) == (measurement, case)):
                rows.append([f"{what}: {int(case):,}", who, *(t.cell(measurement, case, who, name) for name in ("tidings_us", "mysql_us", "statements"))])
    t.put("growth", ["", "operation", "server, µs", "MySQL, µs", "statements"], rows)


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
    t.made["aims"] = markers.table(["", "measured", "by CPU", "aim", ""], t.aims)


# ---- Plots ------------------------------------------------------------------------------------------


def plots(directory, t):
    record, made = t.record, {}
    fans = sorted(t.cases("publish"), key=int)
    series = {label: [(int(case), record.median("publish", case, who, "ms")) for case in fans if record.values("publish", case, who, "ms")]
              for who, label in ((SEEN[1], "tidings"), ("seeds", "redis"), ("stream-framework", "Stream-Framework"))}
    if any(series.values()):
        made["cluster-publish.svg"] = svg.lines("Publish until the last follower sees it", "followers", "ms",
                                                {label: points for label, points in series.items() if points})
    for name, some in (("reads", READS), ("writes", WRITES)):
        cases = [case for case in some if record.values("cost", case, "3 servers", "mysql_us")]
        if cases:
            made[f"cluster-{name}.svg"] = svg.bars(f"CPU for an operation by process, three servers: {name}", "µs", {
                case.replace("like of one post", "one post"): {part: record.median("cost", case, "3 servers", f"{part}_us") for part in PARTS}
                for case in cases})
    for measurement, name in (("growth: followed", "followed"), ("growth: posts of an author", "posts"), ("growth: users", "users")):
        sizes = t.cases(measurement)
        if sizes:
            made[f"cluster-growth-{name}.svg"] = svg.lines(
                f"CPU against {measurement.removeprefix('growth: ')}", measurement.removeprefix("growth: "), "µs",
                {who: [(int(size), sum(record.median(measurement, size, who, f"{part}_us") for part in PARTS[:2])) for size in sizes]
                 for who in ("badge", "first", "mark")})
    for name, text in made.items():
        (directory / name).write_text(text)


def write(directory, facts, record, minutes):
    directory.mkdir(parents=True, exist_ok=True)
    t = Places(record)
    judge_rates(t)
    for part in (publish, lambda t: rates(t, "reads", READS, READERS), lambda t: rates(t, "writes", WRITES, SERVERS), work, threads, mixed,
                 space, start, events, growth, peer, when):
        part(t)
    head(t, facts, minutes)
    put_samples(directory / "cluster.json", facts, record)
    document = directory / "cluster.md"
    if not document.exists():
        shutil.copy(ROOT / "docs/bench/cluster.md", document)
    markers.write(document, t.made)
    plots(directory, t)
