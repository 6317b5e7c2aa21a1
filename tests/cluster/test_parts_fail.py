"""Every part of a cluster fails, under load, in the real: killed, standing still, emptied, started again. People write and read on three servers meanwhile
(people.py): nothing that they are shown may be wrong, what they are refused is what the table says, and afterwards all is as before, without a hand.

    TIDINGS_TEST_ENGINE=cluster tests/support/with-mariadb tests/support/with-redis --cluster-require-full-coverage=no tests/support/with-kafka \\
        tests/support/in-venv -m pytest tests/cluster/test_parts_fail.py [--long] [-k 'redis']
"""
import os
import signal
import socket
import subprocess
import threading
import time
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Callable

import database
import pytest
import topic
from people import NOTE, People
from support.server import Server, tidings, wait_until

PEOPLE = 4
BEFORE, DURING, AFTER = 2, 3, 3  # rounds of each of them
NODES = 6
LEASE_S = 10
SETTINGS = {**topic.SETTINGS, "deadline_ms": 2000, "redis": os.environ.get("TIDINGS_TEST_REDIS", "none")}


def control(part, line):
    with socket.socket(socket.AF_UNIX) as client:
        client.connect(os.environ[f"TIDINGS_TEST_{part}_CONTROL"])
        with client.makefile("rw") as lines:
            lines.write(line + "\n")
            lines.flush()
            assert lines.readline() == "ok\n"


# ---- What is done to the parts ---------------------------------------------------------------------------------------


class Cluster:
    def __init__(self):
        self.servers = [Server(settings=SETTINGS)]
        self.servers += [Server(settings=SETTINGS, data=self.servers[0].data) for _ in range(2)]
        self.failing = None  # a server
        for server in self.servers:
            server.start()

    def admin(self, server):
        made = server.admin()
        try:
            return made.get("/admin/status")["cluster"]
        finally:
            made.close()

    def remembers(self):
        return all(self.admin(server)["redis"]["remembers"] for server in self.servers)

    def close(self):
        for server in reversed(self.servers):
            server.close()

    # Servers.

    def choose(self, relay):
        """The one that is to fail: the one that tells Kafka, or one of the others."""
        slot = wait_until(lambda: [topic.holder(self.servers[0])], "somebody relays")[0]
        own = {self.slot_of(server): server for server in self.servers}
        self.failing = own[slot] if relay else next(server for number, server in own.items() if number != slot)

    def slot_of(self, server):
        return next(one["slot"] for one in self.admin(server)["servers"] if one["own"])

    def kill_server(self):
        self.choose(relay=False)
        self.failing.kill()

    def kill_relay(self):
        self.choose(relay=True)
        self.failing.kill()
        self.others_relay()

    def pause_server(self):
        self.choose(relay=False)
        self.failing.process.send_signal(signal.SIGSTOP)

    def pause_relay(self):
        self.choose(relay=True)
        self.failing.process.send_signal(signal.SIGSTOP)
        self.others_relay()

    def others_relay(self):
        """Another one goes on within the lease."""
        other = next(server for server in self.servers if server is not self.failing)
        began, before = time.monotonic(), topic.told(other)
        wait_until(lambda: topic.told(other) > before, "another tells Kafka", LEASE_S + 5)
        assert time.monotonic() - began < LEASE_S + 2

    def start_server(self):
        old = self.failing.log_file
        self.failing.start()
        old.close()
        os.unlink(old.name)

    def resume_server(self):
        self.failing.process.send_signal(signal.SIGCONT)

    # Redis.

    def to_nodes(self, *lines):
        for line in lines:
            control("REDIS", line)

    def redis_cli(self, node, *words):
        port = (Path(os.environ["TIDINGS_TEST_REDIS_DIR"]) / str(node) / "port").read_text()
        return subprocess.run(["redis-cli", "-p", port, *words], capture_output=True, text=True, check=False).stdout

    def a_master(self):
        return next(node for node in range(NODES) if "role:master" in self.redis_cli(node, "INFO", "replication"))

    def kill_master(self):
        self.node = self.a_master()
        self.to_nodes(f"kill {self.node}")

    def start_master(self):
        self.to_nodes(f"start {self.node}")

    def pause_master(self):
        self.node = self.a_master()
        self.to_nodes(f"pause {self.node}")

    def resume_master(self):
        self.to_nodes(f"resume {self.node}")

    def kill_redis(self):
        self.to_nodes(*(f"kill {node}" for node in range(NODES)))

    def start_redis(self):
        self.to_nodes(*(f"start {node}" for node in range(NODES)))

    def pause_redis(self):
        self.to_nodes(*(f"pause {node}" for node in range(NODES)))

    def resume_redis(self):
        self.to_nodes(*(f"resume {node}" for node in range(NODES)))

    def empty_redis(self):
        for node in range(NODES):
            self.redis_cli(node, "FLUSHALL")  # replicas refuse it

    # MySQL and Kafka.

    def cut_connections(self):
        """All that servers have, again and again: some of them while a commit is under way."""
        name = database.name_of(self.servers[0])
        for _ in range(5):
            ids = database.run(f"SELECT id FROM information_schema.processlist WHERE db = '{name}'")
            database.run("".join(f"KILL {connection};" for connection in ids), force=True)  # some are gone

    def nothing(self):
        """It was over at once."""

    def too_large(self):
        """The topic takes no message of a comment, which is longer than that of a post."""
        server, writer = self.servers[0], self.servers[0].user()
        post = writer.publish()["id"]
        topic.limit_messages(server, topic.size_of_a_post(server) + 4)
        writer.comment(post)
        wait_until(lambda: self.admin(server)["kafka"]["dead"] == 1, "it is a dead letter")

    def large_enough(self):
        server = self.servers[0]
        topic.limit_messages(server, 1_000_000)
        assert tidings("cluster", "dead", "--retry", "--mysql", database.url_of(server)).returncode == 0
        wait_until(lambda: self.admin(server)["kafka"]["dead"] == 0, "it is told, late")


def mysql(word):
    return lambda cluster: control("MYSQL", word)


def kafka(word):
    return lambda cluster: control("KAFKA", word)


# ---- What is expected --------------------------------------------------------------------------------------------------


@dataclass
class Case:
    """`row` is that of the table in docs/operations/trouble.md, "When a part fails". `may`: what may be refused with until all is well again, and nothing else.
    `writes_stop`: no change is acknowledged while it lasts. `silent`: the failing server may leave requests without an answer. `for_s`: it lasts so
    long at least."""
    row: str
    fault: Callable
    heal: Callable
    may: frozenset = frozenset()
    writes_stop: bool = False
    silent: bool = False
    for_s: float = 0
    marks: list = field(default_factory=list)


LONG = [pytest.mark.long]
AWAY = frozenset({"unreachable", "timeout", "uncertain"})
HELD = frozenset({"timeout", "uncertain"})  # rows that a server holds that stands still
CASES = {
    "server-killed": Case("a server is killed", Cluster.kill_server, Cluster.start_server, silent=True),
    "server-paused": Case("a server is killed", Cluster.pause_server, Cluster.resume_server, HELD, silent=True, for_s=1, marks=LONG),
    "server-paused-longer": Case("a server is killed", Cluster.pause_server, Cluster.resume_server, HELD, silent=True, for_s=15, marks=LONG),
    "relay-killed": Case("the relay's or a consumer's server is killed", Cluster.kill_relay, Cluster.start_server, silent=True),
    "connections-cut": Case("the connection dies while a commit is under way", Cluster.cut_connections, Cluster.nothing, AWAY),
    "redis-killed": Case("Redis lost", Cluster.kill_redis, Cluster.start_redis, for_s=3),
    "redis-paused": Case("Redis, a partition", Cluster.pause_redis, Cluster.resume_redis, for_s=3, marks=LONG),
    "redis-emptied": Case("Redis emptied", Cluster.empty_redis, Cluster.nothing),
    "redis-master-killed": Case("Redis, a master killed", Cluster.kill_master, Cluster.start_master, for_s=5),
    "redis-master-paused": Case("Redis, a partition", Cluster.pause_master, Cluster.resume_master, for_s=5, marks=LONG),
    "kafka-killed": Case("Kafka lost", kafka("kill"), kafka("start"), marks=LONG),
    "kafka-paused": Case("Kafka lost", kafka("pause"), kafka("resume"), for_s=5),
    "kafka-stopped": Case("Kafka lost", kafka("stop"), kafka("start"), marks=LONG),
    "mysql-killed": Case("MySQL fails over", mysql("kill"), mysql("start"), AWAY, writes_stop=True, for_s=5),
    "mysql-paused": Case("MySQL fails over", mysql("pause"), mysql("resume"), AWAY, writes_stop=True, for_s=7, marks=LONG),
    "mysql-stopped": Case("MySQL fails over", mysql("stop"), mysql("start"), AWAY, writes_stop=True, for_s=4, marks=LONG),
    "message-too-large": Case("a message that cannot be applied", Cluster.too_large, Cluster.large_enough),
    "two-relays": Case("two relays", Cluster.pause_relay, Cluster.resume_server, HELD, silent=True, marks=LONG),
}


def check_refusals(case, cluster, said):
    for one in said:
        if one.what == "lost":
            assert case.silent and one.server is cluster.failing, one
        elif one.what != "ok":
            assert one.what in case.may and one.retry_after >= 1, one


def check_nobody_wrote(said):
    """And everybody was refused soon, with a word."""
    writes = [one for one in said if one.writes]
    assert writes and all(one.what != "ok" for one in writes), [one for one in writes if one.what == "ok"]


@pytest.fixture(scope="module")
def cluster():
    made = Cluster()
    yield made
    topic.catch_up(made.servers[0])
    topic.check(made.servers[0])
    made.close()
    made.servers[0].verify()


# ---- Locks of a server that stands still ---------------------------------------------------------------------------------


@contextmanager
def held(server, statement):
    """Somebody else's transaction; it ends with the block."""
    with subprocess.Popen(["mariadb", "--no-defaults", f"--socket={database.SOCKET}", "--user=root", "--batch", "--unbuffered",
                           database.name_of(server)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as client:
        client.stdin.write(f"BEGIN;\n{statement};\nSELECT 'held';\n")
        client.stdin.flush()
        wait_until(lambda: client.stdout.readline() == "held\n", "it has its locks")
        yield
        client.stdin.close()


def somebody_waits():
    return int(database.run("SELECT COUNT(*) FROM information_schema.innodb_lock_waits")[0])


def somebody_holds():
    """A transaction that waits for nobody has locked rows."""
    return int(database.run("SELECT COUNT(*) FROM information_schema.innodb_trx WHERE trx_state = 'RUNNING' AND trx_rows_locked > 1")[0])


def fall_asleep(sleeper, ann, post):
    """With locks held: the like has its user's, waits for the post's, and gets it. False if it had just given up waiting."""
    liking = threading.Thread(target=ann.send, args=["PUT", f"/v1/posts/{post}/like"])
    with held(sleeper, f"SELECT * FROM post WHERE post_id = {post} FOR UPDATE"):
        liking.start()
        wait_until(somebody_waits, "the like waits for the post")
        sleeper.process.send_signal(signal.SIGSTOP)
    if somebody_holds():
        return liking
    sleeper.process.send_signal(signal.SIGCONT)
    liking.join()
    return None


def test_a_server_that_stands_still_with_locks_blocks_nobody_for_longer_than_its_lease(cluster):
    sleeper, other = cluster.servers[:2]
    ann = sleeper.user()
    post = ann.publish()["id"]
    liking = wait_until(lambda: fall_asleep(sleeper, ann, post), "it sleeps with locks held", 120)
    try:
        elsewhere = other.user(ann.id)
        assert elsewhere.send("POST", "/v1/posts", NOTE).status == 503, "the locks are held"
        wait_until(lambda: elsewhere.send("POST", "/v1/posts", NOTE).status == 201, "they are taken away", LEASE_S + 5)
    finally:
        sleeper.process.send_signal(signal.SIGCONT)
    liking.join()
    assert ann.react(f"/posts/{post}/like")["stats"]["like_count"] == 1, "when it is awake it works"


# ---- What is remembered while the database is away -----------------------------------------------------------------------


def badge(actor, **headers):
    return actor.send("GET", "/v1/inbox/badge", headers=headers)


def test_badges_go_on_with_their_age_while_the_database_is_away(cluster):
    author, fan = cluster.servers[0].users(2)
    fan.follow(author)
    author.publish()
    wait_until(cluster.remembers, "with a Redis, they remember")
    began = time.monotonic()
    fans = [server.user(fan.id) for server in cluster.servers]  # one connection each: an address may have only so many
    for there in fans:
        wait_until(lambda: badge(there).json == {"total": 1}, "it is known there")
        assert "tidings-age" not in badge(there).headers
    control("MYSQL", "kill")
    try:
        for there in fans:
            answer = wait_until(lambda: [one for one in [badge(there)] if "tidings-age" in one.headers], "it is remembered")[0]
            age_ms = int(answer.headers["tidings-age"])
            # It is called away three seconds after it was last asked how it is; the news may have heard of it for half a second more.
            assert answer.json == {"total": 1} and 2500 <= age_ms <= (time.monotonic() - began) * 1000
            later = badge(there)
            assert int(later.headers["tidings-age"]) >= age_ms
            newer = str(int(answer.headers["tidings-seen"]) + 1)
            for refused in ({"Tidings-Freshness": "exact"}, {"Tidings-Seen": newer}):
                assert badge(there, **refused).status == 503, refused
    finally:
        control("MYSQL", "start")
    wait_until(lambda: author.send("POST", "/v1/posts", NOTE).status == 201, "it is back")
    for there in fans:
        wait_until(lambda: badge(there).json == {"total": 2}, "and told of")
        assert "tidings-age" not in badge(there).headers


# ---- Everything, under load ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [pytest.param(name, marks=case.marks) for name, case in CASES.items()])
def test_a_part_fails_and_comes_back(cluster, name):
    case = CASES[name]
    wait_until(cluster.remembers, "with a Redis, they remember")
    with People(cluster.servers, PEOPLE) as people:
        people.go_on(BEFORE)
        before = time.monotonic()
        case.fault(cluster)
        begun = time.monotonic()
        try:
            if not case.writes_stop:
                people.go_on(DURING)
            wait_until(lambda: people.is_fine() and time.monotonic() > begun + case.for_s, "it lasts")
            ended = time.monotonic()
        finally:
            case.heal(cluster)
        people.go_on(AFTER)  # what was left over from it is done
        well = time.monotonic()
        people.go_on(AFTER)
    check_refusals(case, cluster, people.between(before, well))
    if case.writes_stop:
        check_nobody_wrote(people.between(begun, ended))
    assert {one.what for one in people.between(well, time.monotonic())} == {"ok"}, "all is as before"
    people.is_fine()
    people.check()
    wait_until(cluster.remembers, "and they remember again")
    topic.catch_up(cluster.servers[0])
