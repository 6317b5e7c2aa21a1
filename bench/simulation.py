#!/usr/bin/env python3
"""News and copies at a thousand servers, simulated with what was measured: docs/SCALING.md.

    bench/simulation.py [--points FILE] [--servers 1000] [--seed 1] [--write]

Four things that two cores cannot show: how late news comes when many servers ask one database for it, how often a user's pairs are in the memory
of the server that is asked, what happens when servers come back with nothing in memory, and what a post of the biggest author sets off.
Times are in seconds. The seed decides everything.
"""
import argparse
import heapq
import math
import random
import sys
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

import model  # noqa: E402
from suite import markers  # noqa: E402

EVERY_S = model.NEWS_EVERY_MS / 1000
TELL_US = 1.3  # CPU of a server for a post and a stream: docs/bench/README.md, Streams


class Cores:
    """A database: whoever comes first is served first, by the core that is free first."""

    def __init__(self, n):
        self.free = [0.0] * n
        self.used = 0.0

    def serve(self, now, seconds):
        """When it is done."""
        begins = max(now, heapq.heappop(self.free))
        heapq.heappush(self.free, begins + seconds)
        self.used += seconds
        return begins + seconds


def share(values, part):
    return sorted(values)[min(len(values) - 1, int(len(values) * part))]


# ---- News ---------------------------------------------------------------------------------------


@dataclass
class News:
    p50: float
    p99: float
    worst: float
    looks: float  # a second
    busy: float  # of the database's cores, with all that they do


def news(servers, cores, look_s, posts, row_s=1e-6, others=0.3, together=False, seconds=2.0, seed=1):
    """Servers ask one database for what is behind their position, and again EVERY_S after each answer. `others` is the share of its cores that other
    work has; `together`: all servers were started at the same moment. A post counts as heard by a server when the answer to a question that
    was asked after its commit has come."""
    chance, database = random.Random(seed), Cores(cores)
    slower = 1 / (1 - others)
    made = sorted(chance.uniform(0, seconds) for _ in range(int(posts * seconds)))
    asks = [(0.0 if together else chance.uniform(0, EVERY_S), server) for server in range(servers)]
    heapq.heapify(asks)
    heard, lags, looks, end = [0] * servers, [], 0, seconds
    while asks:
        now, server = heapq.heappop(asks)
        first = last = heard[server]
        while last < len(made) and made[last] <= now:
            last += 1
        done = database.serve(now, (look_s + (last - first) * row_s) * slower)
        lags += [done - at for at in made[first:last]]
        heard[server], looks, end = last, looks + 1, max(end, done)
        if done < seconds + 10 * EVERY_S and (now < seconds or last < len(made)):
            heapq.heappush(asks, (done + EVERY_S, server))
    return News(share(lags, 0.5), share(lags, 0.99), max(lags), looks / end, others + (1 - others) * database.used / (cores * end))


# ---- Copies -------------------------------------------------------------------------------------


@dataclass
class Visits:
    """Of an active user's day."""
    sessions: int = 4
    requests: int = 20  # of a session
    session_s: float = 300
    changes: float = 0.2  # share of the requests that change the user's row


def visit_times(visits, chance):
    """[(when, changes something)] of a day."""
    found = []
    for _ in range(visits.sessions):
        begins = chance.uniform(0, model.DAY_S)
        found += [(begins + chance.uniform(0, visits.session_s), chance.random() < visits.changes)
                  for _ in range(visits.requests)]
    return sorted(found)


def hits_of(times, servers, stays_s, sticky, moved, chance):
    """How many of a user's requests found the pairs of the user's version in the memory of the server asked, and how many were put there."""
    kept, version, hits = {}, 0, 0
    home = chance.randrange(servers)
    for now, changes in times:
        strays = not sticky or chance.random() < moved
        server = chance.randrange(servers) if strays else home
        when, of = kept.get(server, (-math.inf, -1))
        hits += now - when <= stays_s and of == version
        version += changes
        kept[server] = (now, version)
    return hits, len(times) - hits


def hit_rate(servers, users, room_users, sticky, moved=0.01, visits=None, sample=300, seed=1):
    """Users of a day, servers with room for the pairs of so many of them each. How long a copy stays follows from how fast others come: found by
    trying until it does not change any more."""
    visits, stays, rate, chance = visits or Visits(), model.DAY_S, 0.0, random.Random(seed)
    days = [visit_times(visits, chance) for _ in range(sample)]
    for _ in range(12):
        found = [hits_of(times, servers, stays, sticky, moved, chance) for times in days]
        hits, misses = sum(h for h, _ in found), sum(m for _, m in found)
        rate = hits / (hits + misses)
        filled_a_second = misses / sample * users / servers / model.DAY_S
        stays_now = min(model.DAY_S, room_users / max(filled_a_second, 1e-9))
        if abs(stays_now - stays) < 0.02 * stays:
            break
        stays = (stays + stays_now) / 2
    return rate


# ---- A restart ----------------------------------------------------------------------------------


@dataclass
class Herd:
    longest_s: float  # that a request waited for the database
    settled_s: float  # until nobody waited any more
    missing_s: float  # until nine of ten users were in memory again


def restart(restarted, users, asks_s, cores, fill_s, others, step_s=0.01, limit_s=120.0, seed=1):
    """So many servers come back with nothing in memory. `users` are in the middle of something at each, and ask every `asks_s` on average. The
    first request of each reads the pairs from the database, of whose cores `others` is taken by all other work."""
    chance = random.Random(seed)
    missing, queued, longest, settled, all_users = restarted * users, 0.0, 0.0, 0.0, restarted * users
    can = cores * (1 - others) * step_s
    at, missing_at = 0.0, None
    while at < limit_s and (missing_at is None or queued > 0):
        expected = missing * -math.expm1(-step_s / asks_s)
        came = min(missing, max(0, round(chance.gauss(expected, math.sqrt(expected)))))
        missing -= came
        queued = max(0.0, queued + came * fill_s - can)
        waits = queued / (cores * (1 - others))
        at += step_s
        longest = max(longest, waits)
        settled = at if queued else settled
        if missing_at is None and missing <= all_users / 10:
            missing_at = at
    return Herd(longest, settled, missing_at if missing_at is not None else math.inf)


# ---- The biggest author -------------------------------------------------------------------------


@dataclass
class Rush:
    first_told_s: float
    last_told_s: float
    pages: float  # a second, at the peak
    database_cores: float  # of the author's database for reading that one post


def hot_post(servers, fans, online, opens, page_s, server_cores, within_s=30.0, seed=1):
    """A post to so many followers of whom a share has a stream open, and of these a share looks at it, in half a minute on average."""
    chance = random.Random(seed)
    streams = fans * online / servers
    takes = streams * TELL_US / 1e6 / server_cores
    heard = [chance.uniform(0, EVERY_S) for _ in range(servers)]
    pages = fans * online * opens / within_s
    return Rush(min(heard), max(heard) + takes, pages, pages * page_s)


# ---- What is told -------------------------------------------------------------------------------


def ms(seconds):
    return model.number(seconds * 1000)


def news_rows(costs, counts, seed, cores=32):
    rows = []
    for servers in counts:
        for together in (False, True):
            found = news(servers, cores, costs.news_us() / 1e6, posts=30, together=together, seed=seed)
            rows.append([f"{servers:,}" + (", started together" if together else ""), ms(found.p50), ms(found.p99), ms(found.worst),
                         model.number(found.looks), f"{found.busy:.0%}"])
    return markers.table(["servers", "p50, ms", "p99", "worst", "looks a second", "database busy"], rows)


def copies_rows(costs, servers, seed):
    community = model.COMMUNITIES["a billion"]
    users, rows = int(community.users * community.active), []
    user_bytes = community.followed * costs.pair_bytes()
    for mib in (128, 1024, 8192):
        room = mib * 2**20 / user_bytes
        cells = [hit_rate(servers, users, room, sticky, seed=seed) for sticky in (True, False)]
        rows.append([f"{mib:,}", model.number(room), *(f"{rate:.0%}" for rate in cells)])
    return markers.table(["`recent_mb`", "users in it", "found, a user's requests to one server", "found, requests to any server"], rows)


def restart_rows(costs, servers, seed, cores=32):
    """Of the servers of one database."""
    community, mine = model.COMMUNITIES["a billion"], model.SERVERS_MAX
    visits, rows = Visits(), []
    at_once = community.users * community.active * visits.sessions * visits.session_s / model.DAY_S * community.peak / servers
    for count, asks_s in ((1, 15), (mine // 4, 15), (mine, 15), (1, 1), (mine, 1)):
        found = restart(count, at_once, asks_s, cores, costs.fill_us("mysql") / 1e6, 0.5, seed=seed)
        rows.append([f"{count} of {mine}", f"{asks_s} s", model.number(at_once), ms(found.longest_s), model.number(found.settled_s),
                     model.number(found.missing_s)])
    return markers.table(["servers that come back empty", "users ask every", "users at each", "longest wait for the database, ms", "over after, s",
                        "nine of ten users in memory after, s"], rows)


def hot_rows(costs, servers, seed):
    community, rows = model.COMMUNITIES["a billion"], []
    for opens in (0.01, 0.1, 0.5):
        found = hot_post(servers, community.biggest, community.active * community.online, opens, costs.us("first", "mysql") / 1e6, 16,
                         seed=seed)
        rows.append([f"{opens:.0%}", ms(found.first_told_s), ms(found.last_told_s), model.number(found.pages),
                     model.number(found.database_cores)])
    return markers.table(["who was told and looks", "first told, ms", "last told, ms", "pages a second", "cores of the author's database"], rows)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--points", type=Path, default=model.POINTS)
    parser.add_argument("--servers", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--write", action="store_true", help="into docs/SCALING.md")
    arguments = parser.parse_args()
    costs, servers, seed = model.Costs(arguments.points), arguments.servers, arguments.seed
    made = {"news": news_rows(costs, [16, 100, servers], seed), "copies": copies_rows(costs, servers, seed),
            "restart": restart_rows(costs, servers, seed), "hot": hot_rows(costs, servers, seed)}
    if arguments.write:
        markers.write(model.ROOT / "docs/SCALING.md", made)
    else:
        print("\n\n".join(made.values()))


if __name__ == "__main__":
    main()
