#!/usr/bin/env python3
"""The soak test: mixed traffic against a real server whose clock goes so fast that a dozen times the retention go by. Memory, log,
base images and data file must reach a plateau.

    soak.py [--minutes M] [--rate N] [--out DIR] [--keep-all]

SOAK_CLOCK names the library that makes the clock go fast (build/tests/libsoak_clock.so). What was measured goes into DIR as soak.csv
and soak.svg. Exit: 0 if each reached a plateau, 1 if not. With --keep-all the retention is ten years: then it must be 1.
"""
import argparse
import asyncio
import csv
import os
import random
import re
import subprocess
import sys
import time
from pathlib import Path

import traffic  # sets the path to support, too

from support.server import SECRET, Server  # noqa: E402

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "bench"))

from suite import svg  # noqa: E402

DAYS = 12  # of the server's, in the run; what is kept for a day has come and gone eleven times
DAY_S = 86400
WRITE_EVERY_S = 4  # of ours, on average, one of the authors
PAGE = 4096
MIB = 1 << 20
GROWTH_MAX = 0.10  # of the mean, from the second third of the run to the last
NAMES = {"rss": "memory", "log": "log", "bases": "base images", "image": "the newest", "data": "data file", "live": "rows in it"}
# Kept are whole images, and the log behind the oldest. How many fit into the time that is kept changes by one with the machine's pace.
IN_IMAGES = ("log", "bases")
SETTINGS = {"follow_burst": 1_000_000, "react_burst": 1_000_000, "comment_burst": 1_000_000, "publish_burst": 1_000_000, "access_log": 0,
            "once_hours": 1, "log_segment_mb": 1, "snapshot_log_mb": 2, "recent_mb": 4,
            "http_idle_timeout_ms": 3_600_000}


def files_in(path):
    """What the files take on the disk, by name; some are removed while we look."""
    sizes = {}
    for entry in os.scandir(path):
        try:
            sizes[entry.name] = entry.stat().st_blocks * 512
        except FileNotFoundError:
            pass
    return sizes


def newest_of(bases):
    """The size of the newest base image: their names begin with numbers that have leading zeros."""
    return bases[max(bases)] if bases else 0


def pages_in(path):
    """Those of LMDB's file up to the last one used, and how many of them hold nothing."""
    told = subprocess.run(["mdb_stat", "-n", "-e", "-f", path], capture_output=True, text=True, check=True).stdout
    return [int(re.search(rf"{what}: (\d+)", told).group(1)) for what in ("Number of pages used", "Free pages")]


def measure(server, world, began):
    data = Path(server.data)
    pages, free = pages_in(data / "data.mdb")
    bases = files_in(data / "snapshots")
    return {
        "seconds": round(time.monotonic() - began, 1),
        "rss": server.rss_bytes(),
        "log": sum(files_in(data / "log").values()),
        "bases": sum(bases.values()),
        "image": newest_of({name: size for name, size in bases.items() if name.endswith(".mdb")}),
        "data": (data / "data.mdb").stat().st_blocks * 512,
        "used": pages * PAGE,
        "live": (pages - free) * PAGE,
        "answers": world.answers,
        "made": world.made,
        "told": world.told,
    }


async def sample(server, world, began, until, every_s, file):
    """Rows of numbers, each in the file as soon as it is known."""
    rows, writer = [], None
    while time.monotonic() < until:
        rows.append(measure(server, world, began))
        writer = writer or csv.DictWriter(file, list(rows[0]))
        if len(rows) == 1:
            writer.writeheader()
        writer.writerow(rows[-1])
        file.flush()
        await asyncio.sleep(every_s)
    return rows


async def live(person, until, pause_s, steps):
    """Does one thing after the other, at random, with a pause that is as long on average."""
    acts, weights = zip(*steps)
    while True:
        pause = person.rng.expovariate(1 / pause_s)
        if time.monotonic() + pause >= until:
            return
        await asyncio.sleep(pause)
        await person.rng.choices(acts, weights)[0](person)


async def settle_in(authors, readers):
    for author in authors:
        await author.begin()
    await asyncio.gather(*(reader.settle() for reader in readers))


async def run(arguments, server, file):
    world = traffic.World()
    people = [traffic.Person(world, SECRET, first + i, seed=arguments.seed)
              for first, n in ((traffic.FIRST_AUTHOR, traffic.AUTHORS), (traffic.FIRST_READER, traffic.READERS)) for i in range(n)]
    for person in people:
        await person.connect(server.port)
    authors, readers = people[:traffic.AUTHORS], people[traffic.AUTHORS:]
    await settle_in(authors, readers)
    began = time.monotonic()
    until = began + arguments.minutes * 60
    writing = [(traffic.Person.publish, 1), (traffic.Person.publish_scene, 1)]
    listening = [asyncio.create_task(reader.listen(server.port)) for reader in readers[:traffic.LISTENERS]]
    sampling = asyncio.create_task(sample(server, world, began, until, max(1, arguments.minutes / 6), file))
    await asyncio.gather(
        *(live(author, until, WRITE_EVERY_S * traffic.AUTHORS, writing) for author in authors),
        *(live(reader, until, traffic.READERS / arguments.rate, traffic.READING) for reader in readers))
    for listener in listening:
        assert not listener.done(), listener.exception()
        listener.cancel()
    await asyncio.gather(*listening, return_exceptions=True)
    for person in people:
        person.close()
    return await sampling


def means(rows, name):
    """Of the second third, and of the last."""
    third = len(rows) // 3
    return [sum(row[name] for row in part) / len(part) for part in (rows[third:2 * third], rows[2 * third:])]


def plot(rows, minutes):
    series = {title: [(row["seconds"] / 60, row[name] / MIB) for row in rows] for name, title in NAMES.items()}
    return svg.curves(f"{minutes:g} minutes, {DAYS} times what is kept", "minutes", "MiB", series)


def judge(rows):
    """Says how each went; whether all are on a plateau."""
    fine = True
    for name, title in NAMES.items():
        before, after = means(rows, name)
        most = before * (1 + GROWTH_MAX) + (means(rows, "image")[0] if name in IN_IMAGES else 0)
        fine = fine and after <= most
        print(f"{title:12} {rows[-1][name] / MIB:8.1f} MiB at the end, last third {after / before - 1:+.1%} against the second"
              f"{'' if after <= most else f': more than {most / before - 1:.0%}'}", flush=True)
    return fine


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=60)
    parser.add_argument("--rate", type=float, default=200, help="steps of readers a second")
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(1 << 32))
    parser.add_argument("--out", default="build/soak", help="where soak.csv and soak.svg go")
    parser.add_argument("--keep-all", action="store_true", help="no retention: must fail")
    arguments = parser.parse_args()
    clock = os.path.abspath(os.environ.get("SOAK_CLOCK", "build/tests/libsoak_clock.so"))
    days = 3650 if arguments.keep_all else 1
    speed = DAYS * DAY_S / (arguments.minutes * 60)
    out = Path(arguments.out)
    out.mkdir(parents=True, exist_ok=True)
    print(f"soak: seed {arguments.seed}, {arguments.minutes:g} minutes, {speed:.0f} times as fast", flush=True)
    server = Server(settings={**SETTINGS, "event_days": days, "log_days": days},
                    environment={"LD_PRELOAD": clock, "SOAK_SPEED": str(speed)})
    server.start()
    try:
        with open(out / "soak.csv", "w", newline="", encoding="ascii") as file:
            rows = asyncio.run(run(arguments, server, file))
        server.stop()
        server.verify()
    finally:
        server.close()
    (out / "soak.svg").write_text(plot(rows, arguments.minutes), encoding="utf-8")
    print(f"{rows[-1]['answers']} answers, {rows[-1]['made']} posts, scenes and comments made, {rows[-1]['told']} events on streams")
    sys.exit(0 if judge(rows) else 1)


if __name__ == "__main__":
    main()
