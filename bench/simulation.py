#!/usr/bin/env python3
"""How long changes wait at the one writer of a log, simulated with what was measured: docs/SCALING.md.

    bench/simulation.py [--points FILE] [--seed 1] [--write]

Two cores cannot show it, since the load and all servers share them. Times are in seconds. The seed decides everything.
"""
import argparse
import random
import sys
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

import model  # noqa: E402
from suite import markers  # noqa: E402

BATCH_MAX = 1024  # the setting batch_max
RATES = (100, 1000, 5000, 10_000, 20_000, 40_000, 80_000)
SLOW_COMMITS_MS = (20,)  # a database in another place


def share(values, part):
    return sorted(values)[min(len(values) - 1, int(len(values) * part))]


@dataclass
class Queue:
    p50: float
    p99: float
    batch: float  # mean
    busy: float  # of the time, the thread executes
    keeps_up: bool


def queue(rate, commit_s, change_s, batch_max=BATCH_MAX, seconds=5.0, seed=1):
    """Changes come at random. The writer takes all that wait, executes them, and waits for the commit; meanwhile others gather."""
    chance, came, at = random.Random(seed), [], 0.0
    while at < seconds:
        at += chance.expovariate(rate)
        came.append(at)
    now, first, lags, batches, executed = 0.0, 0, [], 0, 0.0
    while first < len(came):
        now = max(now, came[first])
        last = first
        while last < len(came) and came[last] <= now and last - first < batch_max:
            last += 1
        executed += (last - first) * change_s
        now += (last - first) * change_s + commit_s
        lags += [now - when for when in came[first:last]]
        first, batches = last, batches + 1
    return Queue(share(lags, 0.5), share(lags, 0.99), len(came) / batches, executed / now, now < seconds * 1.1 + 2 * commit_s)


def queue_rows(costs, seed):
    rows, changes = [], model.Community(1).daily
    mean_us = (sum(changes[of] * costs.thread_us(of) for of in model.CHANGES) / sum(changes[of] for of in model.CHANGES))
    for commit_ms in (costs.commit_ms(), *SLOW_COMMITS_MS):
        for rate in RATES:
            found = queue(rate, commit_ms / 1e3, mean_us / 1e6, seed=seed)
            cells = [model.number(found.p50 * 1e3), model.number(found.p99 * 1e3)] if found.keeps_up else ["more and more", "more and more"]
            rows.append([model.number(commit_ms), f"{rate:,}", *cells, model.number(found.batch), f"{found.busy:.0%}"])
    return markers.table(["a commit takes, ms", "changes a second", "answered, p50, ms", "p99", "changes a batch", "the thread executes"], rows)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--points", type=Path, default=model.POINTS)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--write", action="store_true", help="into docs/SCALING.md")
    arguments = parser.parse_args()
    made = {"queue": queue_rows(model.Costs(arguments.points), arguments.seed)}
    if arguments.write:
        markers.write(model.ROOT / "docs/SCALING.md", made)
    else:
        print("\n\n".join(made.values()))


if __name__ == "__main__":
    main()
