"""What goes wrong: drawn by a seed, alone and in pairs, healed after a while.

A kind of fault is a row of KINDS: `begin` does it to a cluster and gives what undoes it; `needs` says what must be there. A fault is
its kind, the number that chooses its target, when it begins and how long it lasts; a list of them can be written down, cut and run again.
"""
import random
import signal
import time
from concurrent.futures import wait
from dataclasses import asdict, dataclass

from services import wait_until

REST_S = [(1, 4), (1, 4), (6, 10)]
LAST_S = [(0.5, 6), (0.5, 6), (0.5, 2)]
LONG_S = [(4, 8), (6, 16), (16, 40)]  # more than a lease
HEAL_S = 90  # a healing that takes longer has failed


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
    needs: str  # what must be there, words of `possible`
    touches: str  # what it changes: two faults that change the same thing do not come at once
    begin: object  # (cluster, target) -> function that heals
    is_long: bool = False


def pick(things, target):
    return things[target % len(things)]


# ---- Servers: the writer, a follower, or any -----------------------------------------------------------


def any_server(cluster, target):
    return pick(cluster.servers, target)


def the_writer(cluster, _target):
    return cluster.writer()


def a_follower(cluster, target):
    return cluster.follower(target)


def kill(choose):
    def begin(cluster, target):
        server = choose(cluster, target)
        server.kill()
        return server.start
    return begin


def kill_and_forget(cluster, target):
    """As after the machine was started anew: all that is there is the log, and what was made of it for good."""
    server = pick(cluster.servers, target)
    server.kill()
    cluster.image.unlink(missing_ok=True)
    return server.start


def pause(choose):
    def begin(cluster, target):
        server = choose(cluster, target)
        server.signal(signal.SIGSTOP)
        return lambda: server.signal(signal.SIGCONT)
    return begin


def stop(choose):
    def begin(cluster, target):
        server = choose(cluster, target)
        if server.stop() is None:
            raise RuntimeError(f"server {server.number} did not end in order")
        return server.start
    return begin


def restart_all(cluster, _target):
    """One after the other, in order, as an upgrade does."""
    for server in cluster.servers:
        if server.stop() is None:
            raise RuntimeError(f"server {server.number} did not end in order")
        server.start()
    return lambda: None


def restart_in_a_row(cluster, target):
    """One again and again, killed or stopped in order, as a supervisor that knows no better does."""
    server = pick(cluster.servers, target)
    chosen = random.Random(target)
    for _ in range(6):
        if chosen.random() < 0.5:
            server.kill()
        elif server.stop() is None:
            raise RuntimeError(f"server {server.number} did not end in order")
        server.start()
        time.sleep(chosen.uniform(0, 0.6))
    return lambda: None


def kill_all(cluster, _target):
    for server in cluster.servers:
        server.kill()
    return lambda: [server.start() for server in cluster.servers]


def fill_server(cluster, target):
    """A server without room: it stops following or writing, says so, and goes on when it is started again with room."""
    server = pick(cluster.servers, target)
    server.disk.fill()

    def heal():
        server.disk.empty()
        server.stop()
        server.start()
    return heal


def wrong_clock(seconds):
    def begin(cluster, target):
        server = pick(cluster.servers, target)
        server.set_clock(seconds if target % 2 else -seconds)
        return lambda: server.set_clock(0)
    return begin


def wandering_clock(cluster, target):
    server = pick(cluster.servers, target)
    server.set_clock(random.Random(target).uniform(-0.9, 0.9))
    return lambda: server.set_clock(0)


# ---- The database --------------------------------------------------------------------------------------


def kill_database(cluster, _target):
    cluster.database.do("kill")
    return lambda: cluster.database.do("start")


def restart_database(cluster, _target):
    cluster.database.do("stop")
    return lambda: cluster.database.do("start")


def pause_database(cluster, _target):
    cluster.database.do("pause")
    return lambda: cluster.database.do("resume")


def fill_database(cluster, _target):
    cluster.database.disk.fill()

    def heal():
        cluster.database.disk.empty()
        cluster.database.do("start")
    return heal


OURS = "user = 'tidings'"


def few_connections(cluster, _target):
    database = cluster.database
    database.run("SET GLOBAL max_connections = 10")
    database.use_up(10)
    database.kill_connections(OURS)

    def many():
        return database.run("SET GLOBAL max_connections = 300; SELECT @@max_connections") == ["300"]

    def heal():
        database.let_go()
        wait_until(many, "there are connections again")
    return heal


def lose_connections(cluster, _target):
    cluster.database.kill_connections(OURS)
    return lambda: None


def read_only_database(cluster, _target):
    database = cluster.database
    database.run("SET GLOBAL read_only = 1")
    return lambda: wait_until(lambda: database.run("SET GLOBAL read_only = 0; SELECT @@read_only") == ["0"], "it can be written to")


def hold_locks(cluster, _target):
    """A foreign transaction that has the writer's row for a while."""
    statement = "SET innodb_lock_wait_timeout = 60; BEGIN; SELECT * FROM tidings_writer FOR UPDATE; DO SLEEP(60)"
    client = cluster.database.client(statement, "chaos")

    def heal():
        client.kill()
        client.wait()
        cluster.database.kill_connections("user = 'root' AND db IS NOT NULL AND id <> CONNECTION_ID()")
    return heal


def fail_over(lag, cut, leaves_old):
    """Another database becomes the primary, perhaps without the last commits; the old one is gone, or stays, read-only."""
    def begin(cluster, _target):
        old, new = cluster.database, cluster.spare
        if new is None:
            return lambda: None  # there was a failover before
        if lag:
            new.run("STOP SLAVE IO_THREAD")
            time.sleep(lag)
        old.run("SET GLOBAL read_only = 1")
        if not lag:
            gtid = old.run("SELECT @@gtid_current_pos")[0]
            new.run(f"SELECT MASTER_GTID_WAIT('{gtid}', 8)")
        if not leaves_old:
            old.do("kill")

        def heal():
            new.run("STOP SLAVE; RESET SLAVE ALL; SET GLOBAL read_only = 0")
            cluster.database, cluster.spare = new, None
            cluster.retired = old
            cluster.lead_to(new)
            for link in list(cluster.links.ports) if cut else ():
                if link.startswith("mysql-"):
                    cluster.links.set(link, "cut")
                    cluster.links.set(link, "pass")
        return heal
    return begin


def go_back_in_time(cluster, _target):
    """The database is restored from a backup that is as old as the fault is long."""
    cluster.database.save()
    return cluster.database.go_back


# ---- Kafka -------------------------------------------------------------------------------------------------


def on_kafka(word, back):
    def begin(cluster, _target):
        cluster.kafka.do(word)
        return lambda: wait_until(lambda: cluster.kafka.try_to(back), "there is a broker again", 300)
    return begin


# ---- A standby ---------------------------------------------------------------------------------------------


def promote_in_order(cluster, _target):
    """The standby takes over while the first server runs, which then follows it."""
    first = cluster.servers[cluster.leader]
    wait_until(lambda: cluster.are_followed(), "the standby follows")
    done = cluster.promote()
    if done.returncode:
        raise RuntimeError(f"promote ended with {done.returncode}: {done.stderr}")
    if first.stop() is None:
        raise RuntimeError(f"server {first.number} did not end in order")
    cluster.lead(1 - cluster.leader)
    return first.start


# ---- Links -----------------------------------------------------------------------------------------------


def bad_link(prefix, how):
    def begin(cluster, target):
        link = pick(sorted(name for name in cluster.links.ports if name.startswith(prefix)), target)
        cluster.links.set(link, how)
        return lambda: cluster.links.set(link, "pass")
    return begin


def all_links(prefix, how):
    def begin(cluster, _target):
        links = [name for name in cluster.links.ports if name.startswith(prefix)]
        for link in links:
            cluster.links.set(link, how)
        return lambda: [cluster.links.set(link, "pass") for link in links]
    return begin


def part_writer(prefixes, how):
    """The writer cannot be reached, or does not reach the database, or both."""
    def begin(cluster, _target):
        number = cluster.writer().number
        links = [f"{prefix}-{number}" for prefix in prefixes]
        for link in links:
            cluster.links.set(link, how)
        return lambda: [cluster.links.set(link, "pass") for link in links]
    return begin


KINDS = {
    # One server alone
    "kill the server": Kind(6, "local", "servers", kill(any_server)),
    "kill the server, its data to be made of its log": Kind(3, "local", "servers", kill_and_forget),
    # A writer and others
    "kill the writer": Kind(3, "followers", "servers", kill(the_writer)),
    "kill the writer for long": Kind(1, "followers", "servers", kill(the_writer), True),
    "kill a follower": Kind(2, "followers", "servers", kill(a_follower)),
    "kill a follower for long": Kind(1, "followers", "servers", kill(a_follower), True),
    "kill all servers": Kind(1, "followers", "servers", kill_all),
    "stop the writer": Kind(2, "followers", "servers", stop(the_writer)),
    "stop a follower": Kind(1, "followers", "servers", stop(a_follower)),
    "pause the writer": Kind(2, "followers", "servers", pause(the_writer)),
    "pause the writer for long": Kind(3, "followers", "servers", pause(the_writer), True),
    "pause a follower": Kind(1, "followers", "servers", pause(a_follower)),
    "pause a follower for long": Kind(1, "followers", "servers", pause(a_follower), True),
    "restart in a row": Kind(1, "followers", "servers", restart_in_a_row),
    "restart all servers": Kind(1, "followers", "servers", restart_all),
    "promote in order": Kind(4, "standby", "servers", promote_in_order),
    "no room for a server": Kind(2, "disks", "servers", fill_server),
    # On a log in a database
    "part the writer from the database": Kind(2, "database", "links", part_writer(["mysql"], "hold"), True),
    "part the writer from its peers": Kind(2, "database", "links", part_writer(["peer"], "hold"), True),
    "part the writer from all": Kind(2, "database", "links", part_writer(["mysql", "peer"], "hold"), True),
    "cut the writer off from the database": Kind(1, "database", "links", part_writer(["mysql"], "cut"), True),
    "cut the writer off from all": Kind(1, "database", "links", part_writer(["mysql", "peer"], "cut"), True),
    "a clock two seconds off": Kind(2, "clock", "clocks", wrong_clock(2)),
    "a clock an hour off": Kind(1, "clock", "clocks", wrong_clock(3600)),
    "a clock that wanders": Kind(2, "clock", "clocks", wandering_clock),
    "kill the database": Kind(2, "database", "database", kill_database),
    "restart the database": Kind(1, "database", "database", restart_database),
    "pause the database": Kind(2, "database", "database", pause_database),
    "pause the database for long": Kind(1, "database", "database", pause_database, True),
    "no room for the database": Kind(2, "disk", "database", fill_database),
    "no connections": Kind(1, "database", "database", few_connections),
    "lose all connections": Kind(2, "database", "database", lose_connections),
    "the database is read-only": Kind(2, "database", "database", read_only_database),
    "the writer's row is locked": Kind(1, "database", "database", hold_locks),
    "the database is far away": Kind(2, "database", "links", all_links("mysql-", "far"), True),
    "commits lost everywhere": Kind(3, "database", "links", all_links("mysql-", "lost")),
    **{f"database link: {how}": Kind(1, "database", "links", bad_link("mysql-", how))
       for how in ("delay", "slow", "hold", "old", "deaf", "commits", "cut", "snap", "lost")},
    **{f"peer link: {how}": Kind(1, "peers", "links", bad_link("peer-", how))
       for how in ("delay", "slow", "hold", "old", "deaf", "cut", "snap")},
    **{f"client link: {how}": Kind(1, "", "clients", bad_link("client-", how)) for how in ("delay", "hold", "deaf", "cut", "snap")},
    # Whoever has what the database lost must be there, so these do not come together with what stops a server: "lost".
    "fail over": Kind(2, "spare", "lost", fail_over(0, True, False)),
    "fail over, the former primary read-only": Kind(2, "spare", "lost", fail_over(0, False, True)),
    "fail over, the last commits lost": Kind(3, "spare", "lost", fail_over(1.5, True, False)),
    "fail over, the last commits lost, the former primary read-only": Kind(2, "spare", "lost", fail_over(1.5, False, True)),
    "the database goes back in time": Kind(2, "disk", "lost", go_back_in_time),
    "kill Kafka": Kind(1, "kafka", "kafka", on_kafka("kill", "start")),
    "pause Kafka": Kind(1, "kafka", "kafka", on_kafka("pause", "resume")),
    "Kafka link: cut": Kind(1, "kafka", "kafka", bad_link("kafka", "cut")),
    "Kafka link: hold": Kind(1, "kafka", "kafka", bad_link("kafka", "hold")),
}


def possible(cluster):
    database, has_peers = cluster.database, any(link.startswith("peer-") for link in cluster.links.ports)
    has = {"": True, "local": not has_peers, "followers": has_peers, "peers": has_peers, "standby": has_peers and not database,
           "database": database, "clock": not has_peers or database, "disk": database and database.has_disk,
           "disks": database and all(server.disk and server.disk.is_own for server in cluster.servers), "spare": cluster.spare,
           "kafka": cluster.kafka}
    return [name for name, kind in KINDS.items() if has[kind.needs]]


def exclude(first, second):
    """Both change the same thing: the first to heal would undo the other. And nobody who has what is lost may be away."""
    touched = {KINDS[first].touches, KINDS[second].touches}
    return len(touched) == 1 or ("lost" in touched and touched & {"servers", "database", "links"})


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
        self.failed += ["a fault is not healed in time"] * len(wait(under_way, HEAL_S).not_done)

    def carry_out(self, fault, stopping):
        try:
            self.note({"fault": asdict(fault), "began": True})
            heal = KINDS[fault.kind].begin(self.cluster, fault.target)
            stopping.wait(fault.seconds)
            heal()
            self.note({"fault": asdict(fault), "healed": True})
        except Exception as error:  # pylint: disable=broad-except
            self.failed.append(f"{fault}: {error!r}")
