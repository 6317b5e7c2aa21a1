#!/usr/bin/env python3
"""Histories under faults, and their checking: run.py [--seed N] [--minutes M | --seconds S] [--engine replica|standby|local]

Starts everything, lets clients work while faults come and go, heals all, looks at everything once more, and has checker.py judge. The
seed decides faults, settings and what clients do; what happens when is up to the machine. After a failure the directory with history
and logs stays, and its name is told. `--shrink` runs again with fewer faults as long as that fails, too; `--faults FILE` runs a list
that was written down. Whatever the servers do, it ends: each wait has an end, and so has all of it.
"""
import argparse
import faulthandler
import json
import math
import os
import random
import re
import signal
import sys
import tempfile
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, replace
from pathlib import Path

import checker
from faults import HEAL_S, KINDS, Fault, Storm, draw, possible
from history import LAST_S, History, Reader, Session, World
from services import START_SECONDS, Alone, Replicas, Standby, remove, wait_until

USERS, DEVICES = 6, 2
THREADS = ThreadPoolExecutor(16)
SHRUNK_REST_S, SHRUNK_TAIL_S = 3, 5
SESSION_S = 30  # a session that has been told to stop ends within the patience of a call or two
REST_OF_ALL_S = START_SECONDS * 6 + HEAL_S + SESSION_S + LAST_S + 300  # everything but the storm itself: longer than it ever takes


SMALL = {"snapshot_log_mb": 1, "log_segment_mb": 1, "log_mysql_hours": 0}  # so that logs are trimmed within a run


def start(arguments, directory, rng):
    """What differs between runs is drawn."""
    settings = {"read_events": rng.randrange(2), "recent_mb": rng.choice((0, 1, 128)), "deadline_ms": rng.choice((1000, 3000, 8000))}
    settings |= SMALL if rng.random() < 0.7 else {}
    if arguments.engine == "local":
        settings.pop("log_mysql_hours", None)
        return Alone(directory, **settings)
    if arguments.engine == "standby":
        settings.pop("log_mysql_hours", None)
        return Standby(directory, **settings)
    spare, disks = (wanted(arguments, need, rng.random() < part) for need, part in (("spare", 0.5), ("disks", 0.3)))
    return Replicas(directory, kafka=arguments.kafka, spare=spare, disks=disks, **settings)


def wanted(arguments, need, drawn):
    """Whether there is something of this kind: what the faults that are asked for need, or as it was drawn."""
    return any(kind.needs == need and re.search(arguments.only, name) for name, kind in KINDS.items()) if arguments.only else drawn


def keep_running(cluster, stopping):
    """A server that ended because the database was away when it started is started again, as systemd does."""
    while not stopping.wait(0.3):
        for server in cluster.servers:
            server.keep()


def work(arguments, cluster, history, faults, rng):
    world = World(list(range(1, USERS + 1)))
    ports = [server.port for server in cluster.servers]
    sessions = [Session(history, world, ports, user, device, random.Random(f"{arguments.seed} {user} {device}"), arguments.pause)
                for user in world.users for device in range(DEVICES)]
    stopping = threading.Event()
    keeper = THREADS.submit(keep_running, cluster, stopping)
    storm = Storm(cluster, faults, history.add, THREADS)
    for session in sessions:
        session.start()
    began = time.monotonic()
    timer = threading.Timer(arguments.seconds, stopping.set)
    timer.start()
    storm.run(began, stopping)
    stopping.wait(max(0, began + arguments.seconds - time.monotonic()))
    timer.cancel()
    stopping.set()
    for session in sessions:
        session.stopping.set()
    for session in sessions:
        session.join(SESSION_S)
    keeper.result(START_SECONDS * 2)
    failed = storm.failed + [f"session {session.name} does not end" for session in sessions if session.is_alive()] + [f"session {session.name}: {session.failed!r}" for session in sessions if session.failed]
    return world, ports, failed


def look_at_the_end(cluster, history, world, ports, rng):
    """Everything is read once more, and compared between servers. What is wrong besides what the history says."""
    cluster.heal()
    failed = []
    for server in cluster.servers:
        # One that stopped following, for want of room, goes on when it is started again; and all but these must be well by themselves.
        wait_until(lambda: server.keep() or server.is_alive(), f"server {server.number} runs")  # pylint: disable=cell-var-from-loop
    stopping = threading.Event()
    keeper = THREADS.submit(keep_running, cluster, stopping)
    try:
        failed += cluster.compare()
        reader = Reader(history, world, ports, rng)
        reader.read_all()
        if cluster.kafka:
            reader.note("topic", 0, {}, history.now(), cluster.kafka.read_all(reader.after))
    except RuntimeError as error:
        failed.append(f"{error}; servers say {[server.replica() for server in cluster.servers]}")
    finally:
        stopping.set()
        keeper.result(START_SECONDS * 2)
    ended = [server.stop() for server in cluster.servers]
    said = cluster.verify()
    history.add({"id": history.next_id(), "session": "last", "user": 0, "op": "verify", "args": {}, "server": 0, "key": None,
                 "asked": "exact", "seen": None, "begin": history.now(), "end": history.now(), "outcome": "ok", "code": None,
                 "answer": {"differences": len(said), "said": "; ".join(said)}})
    return failed + [f"server {number} ended with {code}" for number, code in enumerate(ended) if code != 0]


def strange_lines(directory):
    """What no fault explains in the servers' logs."""
    found = []
    for path in sorted(directory.glob("server-*.log")):
        for line in path.read_text(errors="replace").splitlines():
            if "Sanitizer" in line or '"corrupt"' in line or "below zero" in line or "ssertion" in line or "runtime error" in line:
                found.append(f"{path.name}: {line[:300]}")
    return found


def once(arguments, faults=None, tell=True):
    """One run: what was found, the faults, and where it is."""
    rng = random.Random(arguments.seed)
    directory = Path(tempfile.mkdtemp(prefix="tc-"))
    faulthandler.dump_traceback_later(arguments.seconds + REST_OF_ALL_S, exit=True)
    cluster = start(arguments, directory, rng)
    history = History(directory / "history")
    try:
        if faults is None:
            kinds = [kind for kind in possible(cluster) if re.search(arguments.only, kind)]
            faults = draw(rng, kinds, arguments.seconds - 3, arguments.rest)
        if any("clock" in fault.kind for fault in faults):
            cluster.set_clocks_ours()
        cluster.start()
        (directory / "faults").write_text(json.dumps([asdict(fault) for fault in faults]))
        world, ports, failed = work(arguments, cluster, history, faults, rng)
        failed += look_at_the_end(cluster, history, world, ports, rng)
    finally:
        history.close()
        cluster.close()
        faulthandler.cancel_dump_traceback_later()
    failed += strange_lines(directory)
    began = time.monotonic()
    findings = checker.check(checker.load(history.path)[0])
    for line in failed:
        findings.add("around", line)
    if tell:
        summary(arguments, history, faults, findings, time.monotonic() - began)
    return findings, faults, directory


def summary(arguments, history, faults, findings, took):
    by_op, by_outcome = Counter(), Counter()
    for (op, told), n in history.counts.items():
        by_op[op] += n
        by_outcome[told] += n
    print(f"seed {arguments.seed}, {arguments.engine}: {sum(by_op.values())} calls in {arguments.seconds:.0f} s, {len(faults)} faults, "
          f"checked in {took:.1f} s", flush=True)
    print("  calls: " + ", ".join(f"{op} {n}" for op, n in by_op.most_common()))
    print("  answers: " + ", ".join(f"{told} {n}" for told, n in by_outcome.most_common()))
    print("  faults: " + ", ".join(f"{kind} {n}" for kind, n in Counter(fault.kind for fault in faults).most_common()))
    checker.report(findings)


# ---- Which faults it takes ---------------------------------------------------------------------------


def close_up(faults):
    """Without the long rests between them, so that runs are short: from when all is well to the next fault."""
    made, well, moved = [], 0, 0
    for fault in sorted(faults, key=lambda one: one.at):
        if fault.at - moved > well + SHRUNK_REST_S:
            moved = fault.at - well - SHRUNK_REST_S
        made.append(replace(fault, at=fault.at - moved))
        well = max(well, made[-1].at + fault.seconds)
    return made


def before_the_first(findings, faults):
    """What began when the first of the findings was there already has not caused it."""
    ends = [record["end"] for _, _, records in findings.all for record in records if "end" in record]
    return [fault for fault in faults if fault.at < min(ends, default=math.inf)]


def still_fails(arguments, faults, kinds):
    """Where, if these faults lead to one of these kinds of findings, too; some tries each, since it is a matter of moments."""
    end = max((fault.at + fault.seconds for fault in faults), default=0)
    shorter = argparse.Namespace(**{**vars(arguments), "seconds": end + SHRUNK_TAIL_S})
    for _ in range(arguments.tries):
        findings, _, directory = once(shorter, faults, tell=False)
        if findings.kinds().keys() & kinds:
            print(f"fails with {len(faults)} faults in {shorter.seconds:.0f} s, too: {directory}", flush=True)
            return True
        remove(directory)
    print(f"does not with {len(faults)}: " + "; ".join(fault.kind for fault in faults), flush=True)
    return False


def shrink(arguments, faults, findings):
    """Halves, then quarters and so on are left out as long as it still fails; first of all, what came too late."""
    kinds = findings.kinds().keys()
    early = close_up(before_the_first(findings, faults))
    if len(early) < len(faults) and still_fails(arguments, early, kinds):
        faults = early
    size = max(1, len(faults) // 2)
    while size:
        for begin in range(0, len(faults), size):
            fewer = close_up(faults[:begin] + faults[begin + size:])
            if still_fails(arguments, fewer, kinds):
                faults = fewer
                size = max(1, min(size, len(faults) // 2))
                break
        else:
            size //= 2
    print("left: " + ("; ".join(map(str, faults)) or "nothing: it takes no fault"))


def parse():
    parser = argparse.ArgumentParser(description="histories under faults")
    parser.add_argument("--seed", type=int, default=int(time.time()))
    parser.add_argument("--seconds", type=float, default=None)
    parser.add_argument("--minutes", type=float, default=1)
    parser.add_argument("--engine", choices=["replica", "standby", "local"], default="replica")
    parser.add_argument("--kafka", action="store_true")
    parser.add_argument("--pause", type=float, default=0.08, help="seconds between two calls of a session, in the mean")
    parser.add_argument("--rest", type=float, default=1, help="how long all is well between faults, as a part of what is usual")
    parser.add_argument("--only", default="", help="faults whose kind has this (a regular expression)")
    parser.add_argument("--faults", help="a file that a run has written")
    parser.add_argument("--shrink", action="store_true", help="after a failure: which faults does it take?")
    parser.add_argument("--tries", type=int, default=3, help="how often to try fewer faults before it is believed that they do not do it")
    parser.add_argument("--keep", action="store_true", help="leave the directory")
    arguments = parser.parse_args()
    arguments.seconds = arguments.seconds or arguments.minutes * 60
    return arguments


def main():
    signal.signal(signal.SIGTERM, lambda number, _: sys.exit(128 + number))  # and all that was started ends, too
    arguments = parse()
    faults = None
    if arguments.faults:
        faults = [Fault(**fault) for fault in json.loads(Path(arguments.faults).read_text())]
    findings, faults, directory = once(arguments, faults)
    if not findings.all and not findings.undecided:
        if not arguments.keep:
            remove(directory)
        return 0
    print(f"FAILED: seed {arguments.seed}; history, faults and logs stay in {directory}")
    if arguments.shrink:
        shrink(arguments, faults, findings)
    return 1


if __name__ == "__main__":
    os.environ["PYTHONUNBUFFERED"] = "1"
    sys.exit(main())
