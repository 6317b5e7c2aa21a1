"""What goes wrong: drawn by a seed, alone and in pairs, healed after a while.

A kind of fault is a row of KINDS: `begin` does it to a cluster and gives what undoes it; `needs` says what must be there. A fault is
its kind, the number that chooses its target, when it begins and how long it lasts; a list of them can be written down, cut and run again.
"""
import random
import signal
import time
from concurrent.futures import wait
from dataclasses import asdict, dataclass

from services import run_program, wait_until

REST_S = [(1, 4), (1, 4), (8, 15)]  # in the last one servers begin to remember again
LAST_S = [(0.5, 6), (0.5, 6), (0.5, 2)]
LONG_S = [(11, 16), (11, 16), (20, 60)]  # more than a lease
MISSED_S = 2


def some(rng, ranges):
    return rng.uniform(*rng.choice(ranges))


@dataclass
class Fault:
    kind: str
    target: int
    at: float
    seconds: float

    def __str__(self):
        return f"{self.at:.1f}s {self.kind}({self.target}) for {self.seconds:.1f}s"


@dataclass
class Kind:
    weight: int
    needs: str
    begin: object  # (cluster, target) -> function that heals
    is_long: bool = False


def pick(things, target):
    return things[target % len(things)]


# ---- Servers -----------------------------------------------------------------------------------------


def kill_server(cluster, target):
    server = pick(cluster.servers, target)
    server.kill()
    return server.start


def kill_and_forget(cluster, target):
    """As after the machine was started anew: all that is there is the log, and what was made of it for good."""
    server = pick(cluster.servers, target)
    server.kill()
    cluster.image.unlink(missing_ok=True)
    return server.start


def pause_server(cluster, target):
    server = pick(cluster.servers, target)
    server.signal(signal.SIGSTOP)
    return lambda: server.signal(signal.SIGCONT)


def take_slot(cluster, target):
    """One stands still for longer than its lease, and another that is started meanwhile may have its slot when it goes on."""
    server, other = pick(cluster.servers, target), pick(cluster.servers, target + 1)
    server.signal(signal.SIGSTOP)
    other.kill()

    def heal():
        other.start()
        server.signal(signal.SIGCONT)
    return heal


def restart_all(cluster, _target):
    """One after the other, in order, as an upgrade does."""
    for server in cluster.servers:
        server.stop()
        server.start()
    return lambda: None


def init_again(cluster, _target):
    run_program("cluster", "init", "--mysql", cluster.url)
    return lambda: None


def wrong_clock(seconds):
    def begin(cluster, target):
        server = pick(cluster.servers, target)
        server.set_clock(seconds if target % 2 else -seconds)
        return lambda: server.set_clock(0)
    return begin


def wandering_clock(cluster, target):
    """Less than a second off, so that it goes on working."""
    server = pick(cluster.servers, target)
    server.set_clock(random.Random(target).uniform(-0.9, 0.9))
    return lambda: server.set_clock(0)


# ---- The database --------------------------------------------------------------------------------------


def kill_database(cluster, _target):
    cluster.database.do("kill")
    return lambda: cluster.database.do("start")


def pause_database(cluster, _target):
    cluster.database.do("pause")
    return lambda: cluster.database.do("resume")


def fill_disk(cluster, _target):
    cluster.database.fill()

    def heal():
        cluster.database.empty()
        cluster.database.do("start")
    return heal


def few_connections(cluster, _target):
    database = cluster.database
    database.run("SET GLOBAL max_connections = 10")
    kill_connections(database)

    def many():
        return database.run("SET GLOBAL max_connections = 300; SELECT @@max_connections") == ["300"]
    return lambda: wait_until(many, "there are connections again")


def kill_connections(database, which="user = 'tidings'"):
    rows = database.run(f"SELECT id FROM information_schema.processlist WHERE {which}")
    database.run(";".join(f"KILL {row}" for row in rows))


def lose_connections(cluster, _target):
    kill_connections(cluster.database)
    return lambda: None


def hold_locks(statement):
    """A foreign transaction that has locks for a while, and takes them in an order that is not ours."""
    def begin(cluster, target):
        locks = statement.format(n=1 + target % 6)
        client = cluster.database.client(f"SET innodb_lock_wait_timeout = 60; BEGIN; {locks}; DO SLEEP(60)", "chaos")

        def heal():
            client.kill()
            client.wait()
            kill_connections(cluster.database, "user = 'root' AND db IS NOT NULL AND id <> CONNECTION_ID()")
        return heal
    return begin


# ---- Redis and Kafka -------------------------------------------------------------------------------------


def on_redis(word, back):
    def begin(cluster, target):
        number = target % len(cluster.redis.cluster.nodes)
        cluster.redis.do(word, number)
        return lambda: cluster.redis.do(back, number)
    return begin


def flush_redis(cluster, _target):
    cluster.redis.flush()
    return lambda: None


def promote_late_replica(cluster, target):
    """One that has not heard of the last seconds becomes the master."""
    pairs = cluster.redis.pairs()
    if not pairs:
        return lambda: None
    master, replica = pick(pairs, target)
    replica.pause()
    master.try_cli("CLIENT", "KILL", "TYPE", "replica")
    time.sleep(MISSED_S)
    master.pause()
    replica.resume()
    replica.try_cli("CLUSTER", "FAILOVER", "TAKEOVER")
    master.kill()
    return lambda: cluster.redis.do("start", master.number)


def on_kafka(word, back):
    def begin(cluster, _target):
        cluster.kafka.do(word)
        return lambda: wait_until(lambda: cluster.kafka.try_to(back), "there is a broker again", 300)
    return begin


def take_lease(cluster, _target):
    """Whoever tells Kafka loses the lease without knowing: two tell for a moment."""
    cluster.database.run("UPDATE relay SET held_until = '1970-01-01'", "chaos")
    return lambda: None


# ---- Links -----------------------------------------------------------------------------------------------


def bad_link(prefix, how):
    def begin(cluster, target):
        link = pick(sorted(name for name in cluster.links.ports if name.startswith(prefix)), target)
        cluster.links.set(link, how)
        return lambda: cluster.links.set(link, "pass")
    return begin


LOCKS = {
    "locks of users": "SELECT * FROM user WHERE user_id >= {n} ORDER BY user_id DESC FOR UPDATE",
    "locks of authors": "SELECT * FROM author WHERE author_id = {n} FOR UPDATE",
    "the lock of positions": "SELECT * FROM news_position FOR UPDATE",
    "locks in another order": "SELECT * FROM author FOR UPDATE; SELECT * FROM user ORDER BY user_id DESC FOR UPDATE; "
                              "SELECT * FROM content_stats FOR UPDATE",
}

KINDS = {
    "kill a server": Kind(6, "", kill_server),
    "kill a server, its data to be made of its log": Kind(3, "local", kill_and_forget),
    "pause a server": Kind(4, "database", pause_server),
    "pause a server beyond its lease": Kind(2, "database", pause_server, True),
    "another takes the slot of a paused server": Kind(1, "database", take_slot, True),
    "restart all servers": Kind(1, "database", restart_all),
    "init again": Kind(1, "database", init_again),
    "a clock two seconds off": Kind(2, "database", wrong_clock(2)),
    "a clock an hour off": Kind(1, "database", wrong_clock(3600)),
    "a clock that wanders": Kind(2, "database", wandering_clock),
    "kill the database": Kind(3, "database", kill_database),
    "pause the database": Kind(2, "database", pause_database),
    "pause the database for long": Kind(1, "database", pause_database, True),
    "database link: hold for long": Kind(1, "database", bad_link("mysql-", "hold"), True),
    "database link: commits for long": Kind(1, "database", bad_link("mysql-", "commits"), True),
    "database link: lost": Kind(3, "database", bad_link("mysql-", "lost")),
    "no room for the database": Kind(2, "disk", fill_disk),
    "few connections": Kind(1, "database", few_connections),
    "lose all connections": Kind(2, "database", lose_connections),
    **{name: Kind(1, "database", hold_locks(statement)) for name, statement in LOCKS.items()},
    **{f"database link: {how}": Kind(2, "database", bad_link("mysql-", how))
       for how in ("delay", "slow", "hold", "old", "deaf", "commits", "cut", "snap")},
    **{f"client link: {how}": Kind(1, "", bad_link("client-", how)) for how in ("delay", "hold", "deaf", "cut", "snap")},
    "kill a Redis": Kind(3, "redis", on_redis("kill", "start")),
    "pause a Redis": Kind(2, "redis", on_redis("pause", "resume")),
    "a late replica becomes a Redis master": Kind(2, "redis", promote_late_replica),
    "empty Redis": Kind(3, "redis", flush_redis),
    **{f"Redis link: {how}": Kind(1, "redis", bad_link("redis-", how)) for how in ("delay", "slow", "hold", "deaf", "cut", "snap")},
    "kill Kafka": Kind(1, "kafka", on_kafka("kill", "start")),
    "pause Kafka": Kind(1, "kafka", on_kafka("pause", "resume")),
    "Kafka link: cut": Kind(1, "kafka", bad_link("kafka", "cut")),
    "Kafka link: hold": Kind(1, "kafka", bad_link("kafka", "hold")),
    "two relays": Kind(2, "kafka", take_lease),
}
# Both change the same thing: the first to heal would undo the other.
SAME = [{"kill the database", "pause the database", "pause the database for long", "no room for the database"},
        {"kill a server", "kill a server, its data to be made of its log", "pause a server", "pause a server beyond its lease",
         "restart all servers", "another takes the slot of a paused server"},
        {"kill a Redis", "pause a Redis", "a late replica becomes a Redis master"}, {"kill Kafka", "pause Kafka"}]


def possible(cluster):
    database = cluster.database
    has = {"": True, "local": not database, "database": database, "disk": database and database.has_disk, "redis": cluster.redis,
           "kafka": cluster.kafka}
    return [name for name, kind in KINDS.items() if has[kind.needs]]


def exclude(first, second):
    if first.split(":")[0] == second.split(":")[0] and ":" in first:
        return True
    return first == second or any(first in group and second in group for group in SAME) or "clock" in first and "clock" in second


def draw(rng, names, seconds, rest=1):
    """Faults until then, each round one or two of them."""
    faults, at = [], rest * some(rng, REST_S)
    while at < seconds:
        chosen = rng.choices(names, [KINDS[name].weight for name in names])
        if rng.random() < 0.4:
            others = [name for name in names if not exclude(name, chosen[0])]
            chosen += rng.choices(others, [KINDS[name].weight for name in others]) if others else []
        round_ = [Fault(name, rng.randrange(1 << 16), at + rng.uniform(0, 1.5), some(rng, LONG_S if KINDS[name].is_long else LAST_S))
                  for name in chosen]
        faults += round_
        at = max(fault.at + fault.seconds for fault in round_) + rest * some(rng, REST_S)
    return faults


class Storm:
    """Carries out a list of faults; each in a thread of its own, so that a healing that takes long delays no other. The threads stay until
    the program ends: what they have started would be killed with them."""

    def __init__(self, cluster, faults, note, threads):
        self.cluster, self.faults, self.note, self.threads = cluster, faults, note, threads
        self.failed = []

    def run(self, began, stopping):
        under_way = []
        for fault in sorted(self.faults, key=lambda one: one.at):
            if stopping.wait(max(0, began + fault.at - time.monotonic())):
                break
            under_way.append(self.threads.submit(self.carry_out, fault, stopping))
        wait(under_way)

    def carry_out(self, fault, stopping):
        try:
            self.note({"fault": asdict(fault), "began": True})
            heal = KINDS[fault.kind].begin(self.cluster, fault.target)
            stopping.wait(fault.seconds)
            heal()
            self.note({"fault": asdict(fault), "healed": True})
        except Exception as error:  # pylint: disable=broad-except
            self.failed.append(f"{fault}: {error!r}")
