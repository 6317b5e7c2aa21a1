"""Samples to results.json, results.md and plots."""
import dataclasses
import json
import os
import platform
import re
import statistics
import subprocess
import time
from pathlib import Path

from . import markers, svg
from .services import ROOT, MariaDB, Redis, Tidings, run


def version(*command):
    try:
        text = run(*command)
    except (OSError, RuntimeError):
        return "?"
    found = re.search(r"\d+\.\d+(\.\d+)?", text)
    return found.group(0) if found else "?"


def about(sizes):
    cpu = re.search(r"model name\s*: (.*)", Path("/proc/cpuinfo").read_text())
    memory = int(re.search(r"MemTotal:\s+(\d+)", Path("/proc/meminfo").read_text()).group(1))
    dirty = subprocess.run(["git", "diff", "--quiet", "HEAD"], cwd=ROOT, check=False).returncode
    return {
        "date": time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime()),
        "commit": run("git", "-C", ROOT, "rev-parse", "--short", "HEAD").strip() + (" and changes" if dirty else ""),
        "machine": f"{os.cpu_count()} x {cpu.group(1) if cpu else '?'}, {memory / 2 ** 20:.0f} GiB, Linux {platform.release()}",
        "versions": {"redis": version("redis-cli", "--version"), "mariadb": version("mariadbd", "--version"),
                     "lmdb": version("dpkg-query", "-W", "-f", "${Version}", "liblmdb0"),
                     "libuv": version("dpkg-query", "-W", "-f", "${Version}", "libuv1"),
                     "gcc": version("gcc", "-dumpfullversion")},
        "settings": {service.name: " ".join(flag or "''" for flag in service.FLAGS) for service in (Tidings, Redis, MariaDB)},
        "sizes": dataclasses.asdict(sizes),
    }


def show(value):
    if value is None:
        return "–"
    if value >= 1000:
        return f"{value:,.0f}"
    return f"{value:.1f}" if value >= 10 else f"{value:.2g}"


def spread(values):
    """Their median, lowest and highest in brackets."""
    if not values:
        return "–"
    middle = show(statistics.median(values))
    return middle if len(values) == 1 else f"{middle} ({show(min(values))}–{show(max(values))})"


class Tables:
    def __init__(self, record):
        self.record = record
        self.out = []
        self.aims = []

    def cell(self, measurement, case, who, metric):
        return spread(self.record.values(measurement, case, who, metric))

    def ratios(self, measurement, case, metric, over, under):
        """One a round, since what disturbs one contestant often lasts until the other's turn; or of the medians, where the
        rounds are not as many."""
        a, b = (self.record.values(measurement, case, who, metric) for who in (over, under))
        if len(a) != len(b):
            a, b = ([self.record.median(measurement, case, who, metric)] if values else []
                    for who, values in ((over, a), (under, b)))
        return [x / y for x, y in zip(a, b) if y]

    def ratio(self, measurement, case, metric, over, under):
        return spread(self.ratios(measurement, case, metric, over, under))

    def cases(self, measurement):
        return self.record.cases(measurement)

    def aim(self, text, least, *ratio):
        ratios = self.ratios(*ratio)
        if ratios:
            met = "met" if statistics.median(ratios) >= least else "missed"
            self.aims.append([text, spread(ratios), f"{least:,}", met])

    def table(self, title, head, rows):
        rows = [row for row in rows if any(cell not in ("–", "") for cell in row[1:])]
        if not rows:
            return
        self.out += ["", f"## {title}", "", markers.table(head, rows)]

    def notes(self, measurement):
        for note in self.record.notes:
            if note["measurement"] == measurement:
                self.out += ["", note["text"]]


def publish(t):
    rows = []
    for case in t.cases("publish"):
        ratio = t.ratio("publish", case, "ms", "redis", "tidings")
        rows.append([f"{int(case):,}", t.cell("publish", case, "tidings", "ms"), t.cell("publish", case, "redis", "ms"),
                     ratio])
    t.table("1. Publish until the last fan sees it, ms", ["fans", "Tidings", "Redis, everysec", "times as fast"], rows)
    if rows:
        case = t.cases("publish")[-1]
        t.aim(f"1: publish to {int(case):,} fans, times Redis", 1000, "publish", case, "ms", "redis", "tidings")


LEAST = {"badge": 1, "first": 3, "older": 3, "unread": 3}
LABELS = {"badge": "2. badge", "first": "3. first page of 10", "older": "3. older page of 10",
          "unread": "3. unread page of 10", "following": "following, 20", "counters": "counters",
          "canned answer": "canned answer (/healthz; bare server)"}


def reads(t):
    rows, cpu = [], []
    for case in t.cases("reads"):
        other = "bare" if case == "canned answer" else "redis"
        line = [LABELS[case]] + [t.cell("reads", case, who, "per_second") for who in ("tidings", other, "mariadb")]
        rows.append(line + [t.ratio("reads", case, "per_second", "tidings", other),
                            t.cell("reads", case, "tidings", "generator_share"), t.cell("reads", case, other, "generator_share")])
        cpu.append([LABELS[case]] + [t.cell("reads", case, who, "server_cpu_us") for who in ("tidings", other, "mariadb")] +
                   [t.ratio("reads", case, "server_cpu_us", other, "tidings")])
        if case in LEAST:
            t.aim(f"{LABELS[case]}: answers a second, times Redis", LEAST[case], "reads", case, "per_second", "tidings",
                  "redis")
    t.table("2, 3. Reads, answers a second", ["", "Tidings", "Redis (bare)", "MariaDB", "ratio", "generator's CPU share: Tidings",
                                              "the other"], rows)
    t.table("The same as server CPU, µs an answer", ["", "Tidings", "Redis (bare)", "MariaDB", "Redis / Tidings"], cpu)


def writes(t):
    rows = []
    for measurement, label in (("marks", "4. mark-read"), ("follows", "5. follow + unfollow"), ("likes", "6. like + unlike")):
        for case in t.cases(measurement):
            ratio = t.ratio(measurement, case, "per_second", "tidings", "redis")
            cpu = [t.cell(measurement, case, who, "server_cpu_us") for who in ("tidings", "redis")]
            rows.append([f"{label}, {case}"] + [t.cell(measurement, case, who, "per_second")
                                                for who in ("tidings", "redis", "mariadb")] +
                        [ratio, *cpu, t.cell(measurement, case, "tidings", "batch"),
                         t.cell(measurement, case, "tidings", "batch_ms"), t.cell(measurement, case, "tidings", "generator_share")])
            if measurement == "marks" and case == "durable":
                for text, least, who, under in (("4: durable mark-read a second, times Redis always", 1, "tidings", "redis"),
                                                ("4: durable mark-read a second, times LMDB's own sync", 4, "tidings", "lmdb sync"),
                                                ("4: the same through the library, times LMDB's own sync", 4, "library",
                                                 "lmdb sync")):
                    t.aim(text, least, measurement, case, "per_second", who, under)
    t.table("4–6. Writes, acknowledged a second",
            ["", "Tidings", "Redis", "MariaDB", "Tidings / Redis", "CPU µs, Tidings", "CPU µs, Redis", "changes a batch",
             "ms a batch", "generator's CPU share"], rows)
    floor = [[label, t.cell("marks", "durable", name, "per_second")] for name, label in
             (("library", "Tidings through the library, as many in flight"), ("lmdb sync", "LMDB's own sync"),
              ("append + fdatasync", "append + fdatasync"))]
    floor.append(["one append + fdatasync, ms", t.cell("floors", "append + fdatasync", "disk", "ms")])
    floor.append(["one dependent read of memory, 1 GiB, ns", t.cell("floors", "random read, 1 GiB", "memory", "ns")])
    t.table("Floors: the same marks in batches of the same size", ["", "a second, or as said"], floor)


def mixed(t):
    rows, highest = [], []
    for case in t.cases("mixed"):
        if case.endswith("highest"):
            ratio = t.ratio("mixed", case, "per_second", "tidings", "redis")
            highest.append([case] + [t.cell("mixed", case, who, "per_second") for who in ("tidings", "redis")] + [ratio])
            continue
        for who in ("tidings", "redis"):
            rows.append([f"{case}, {who}"] + [t.cell("mixed", case, who, m) for m in
                                              ("p50_us", "p99_us", "p999_us", "max_us", "server_cpu_us", "generator_share")])
    t.table("7. A community's traffic at a fixed rate, µs from when a request was due",
            ["", "p50", "p99", "p99.9", "max", "server CPU", "generator's CPU share"], rows)
    t.table("7. Highest rate with p99 below 10 ms", ["", "Tidings", "Redis", "ratio"], highest)


def space(t):
    rows = [[case] + [t.cell("space", case, who, "bytes") for who in ("tidings", "redis")] +
            [t.ratio("space", case, "bytes", "redis", "tidings")] for case in t.cases("space")]
    t.table("8. Bytes a user: 10 authors, 150 posts each", ["", "Tidings", "Redis", "times as small"], rows)
    t.notes("space")
    for case in t.cases("space"):
        t.aim(f"8: {case}, a user: Redis's over Tidings'", 50, "space", case, "bytes", "redis", "tidings")


def growth(t):
    for case in t.cases("growth"):
        samples = [s for s in t.record.samples if s["measurement"] == "growth" and s["case"] == case]
        names = list(dict.fromkeys(s["who"] for s in samples))
        values = list(dict.fromkeys(s["metric"] for s in samples))
        t.table(f"9. Growth: µs against {case}", [case] + names,
                [[f"{int(v):,}"] + [t.cell("growth", case, name, v) for name in names] for v in values])
    points = series(t.record, "followed authors").get("badge", [])
    if len(points) > 1:
        slope = (points[-1][1] - points[0][1]) / (points[-1][0] - points[0][0])
        t.out += ["", f"A badge costs {slope * 1000:.0f} ns for each followed author more (aim: below 100)."]


def engine(t):
    t.table("The engine alone, one thread, µs", ["", "median; CPU where it says batches"],
            [[case, t.cell("engine", case, "tidings", "us")] for case in t.cases("engine")])
    rows = []
    for case in t.cases("start"):
        metrics = list(dict.fromkeys(s["metric"] for s in t.record.samples
                                     if s["measurement"] == "start" and s["case"] == case))
        rows += [[f"{case}, {metric.replace('_', ' ')}", t.cell("start", case, "tidings", metric)] for metric in metrics]
    t.table("10. Cold start and recovery", ["", ""], rows)
    t.notes("start")


def series(record, case):
    """{who: [(x, median)]} of a growth sweep."""
    found = {}
    for s in record.samples:
        if s["measurement"] == "growth" and s["case"] == case:
            found.setdefault(s["who"], {})[s["metric"]] = record.median("growth", case, s["who"], s["metric"])
    return {who: [(max(float(x), 1), y) for x, y in points.items()] for who, points in found.items()}


def plots(directory, record, t):
    made = {}
    if t.cases("publish"):
        made["publish.svg"] = svg.lines(
            "Publish until the last fan sees it", "fans", "ms",
            {who: [(int(case), record.median("publish", case, who, "ms")) for case in t.cases("publish")]
             for who in ("tidings", "redis")})
    for measurement, name, title in (("reads", "reads.svg", "Reads: server CPU an answer"), ):
        cases = [case for case in t.cases(measurement) if case in LEAST]
        if cases:
            made[name] = svg.bars(title, "µs", {case: {who: record.median(measurement, case, who, "server_cpu_us")
                                                       for who in ("tidings", "redis")} for case in cases})
    writes_of = {f"{m}, {c}": {who: record.median(m, c, who, "per_second") for who in ("tidings", "redis", "mariadb")
                               if record.median(m, c, who, "per_second")}
                 for m in ("marks", "follows", "likes") for c in t.cases(m) if c == "durable"}
    if writes_of:
        made["writes.svg"] = svg.bars("Durable writes", "acknowledged a second", writes_of)
    for case in t.cases("growth"):
        name = "growth-" + re.sub(r"\W+", "-", case.lower()) + ".svg"
        made[name] = svg.lines(f"Cost against {case}", case, "µs", series(record, case))
    for name, text in made.items():
        (directory / name).write_text(text)


def put_samples(path, facts, record):
    path.write_text(json.dumps(
        {"about": facts, "parts": record.parts, "notes": record.notes, "samples": record.samples}, indent=None,
        separators=(",", ":"), ensure_ascii=False).replace('},{"part"', '},\n{"part"') + "\n")


def write(directory, facts, record):
    directory.mkdir(parents=True, exist_ok=True)
    t = Tables(record)
    for part in (publish, reads, writes, mixed, space, growth, engine):
        part(t)
    head = ["# Results", "", "Made by `make bench`; do not edit. What it means is in [README.md](README.md).", "",
            f"{facts['date']}. {facts['machine']}. " + ", ".join(f"{name} {v}" for name, v in facts["versions"].items()) +
            ". Medians of interleaved rounds, lowest and highest in brackets; ratios round by round. A generator's share near 1 "
            "means that it was the limit.",
            "", "## Aims", "", "| | measured | aim | |", "|---|---|---|---|"]
    head += ["| " + " | ".join(aim) + " |" for aim in t.aims]
    t.table("When", ["part", "", "commit", "load average of the machine, before and after"],
            [[part, p["date"], p["commit"], f"{p['load_before']:.1f}, {p.get('load_after', 0):.1f}"]
             for part, p in record.parts.items()])
    t.table("Settings, where they are not the standard", ["", "flags"],
            [[name, f"`{flags}`"] for name, flags in facts["settings"].items()])
    (directory / "results.md").write_text("\n".join(head + t.out) + "\n")
    put_samples(directory / "results.json", facts, record)
    plots(directory, record, t)
