"""Who takes part: replicas on a log in MySQL, the seeds' design on a Redis Cluster, and what each process and thread takes
meanwhile."""
import collections
import json
import os
import re
import subprocess
import time
import urllib.request
from pathlib import Path

from .. import services
from .database import FANS_FROM, PlainSql, Session, make_database, server_pid, url

SERVERS, TRIES, ENOUGH = 3, 3, 200
TICKS = os.sysconf("SC_CLK_TCK")
# Of INFO's sections: what was called by us to find out, and by nodes among themselves.
NOT_COUNTED = ("info", "config", "cluster", "ping", "replconf", "psync", "hello", "client", "command")


def cpu_s(pid):
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


def threads_s(pid):
    """CPU time by name of thread. Of one that ends meanwhile nothing is told."""
    found = collections.Counter()
    for task in Path(f"/proc/{pid}/task").iterdir():
        try:
            name, _, rest = (task / "stat").read_text().partition("(")[2].rpartition(")")
            nanoseconds = int((task / "schedstat").read_text().split()[0])
        except (FileNotFoundError, ProcessLookupError):
            continue
        found[re.sub(r"[-_ ]?\d+$", "", name)] += nanoseconds / 1e9
    return found


class Node(services.Talks):
    """A master of the Redis Cluster that tests/support/with-redis has started."""

    def __init__(self, directory):
        self.port, self.pid = (int((directory / name).read_text()) for name in ("port", "pid"))
        self.connect(self.port)

    def commands(self):
        stats = re.findall(r"^cmdstat_([\w|]+):calls=(\d+)", self.ask("INFO", "commandstats"), re.M)
        return sum(int(calls) for name, calls in stats if name.split("|")[0] not in NOT_COUNTED)


class Seeds:
    """The seeds' design, on the masters."""
    name, protocol = "seeds", "redis-cluster"

    def __init__(self):
        where = Path(os.environ["TIDINGS_TEST_REDIS_DIR"])
        self.nodes = [Node(path) for path in sorted(where.iterdir()) if (path / "pid").exists()]
        self.ports = [node.port for node in self.nodes]
        self.owners = self.slots()
        self.scripts = {}

    def slots(self):
        by_port = {node.port: node for node in self.nodes}
        return [(last, by_port[owner[1]]) for _, last, owner in sorted(part[:3] for part in self.nodes[0].ask("CLUSTER", "SLOTS"))]

    def node_of(self, tag):
        """Whoever has the slot of what stands between braces."""
        crc = 0
        for byte in str(tag).encode():
            crc ^= byte << 8
            for _ in range(8):
                crc = (crc << 1 ^ 0x1021 if crc & 0x8000 else crc << 1) & 0xffff
        return next(node for last, node in self.owners if crc % 16384 <= last)

    def send(self, commands):
        """[(tag, words)], some hundred to a node at a time."""
        waiting = {node: [] for node in self.nodes}
        for tag, words in commands:
            node = self.node_of(tag)
            waiting[node].append(words)
            if len(waiting[node]) == 500:
                node.ask_many(waiting.pop(node))
                waiting[node] = []
        for node, words in waiting.items():
            node.ask_many(words)

    def script(self, name):
        if name not in self.scripts:
            self.scripts[name] = [node.script(name) for node in self.nodes][0]
        return self.scripts[name]

    def fill(self, users, followed, posts):
        """The world of bench/redis/fill.lua, where users are each other's authors."""
        sha, inverse = self.script("cluster/fill.lua"), pow(104729, -1, users)
        fans = {author: [] for author in range(1, users + 1)}
        for user in range(1, users + 1):
            for i in range(1, followed + 1):
                fans[1 + (user * 7919 + i * 104729) % users].append(user)
        self.send((user, ("EVALSHA", sha, 1, f"feed:{{{user}}}", user, users, followed, posts, inverse)) for user in range(1, users + 1))
        self.send((author, ("ZADD", f"uf:fans:{{{author}}}", *(word for fan in own for word in (fan, fan)))) for author, own in fans.items()
                  if own)
        self.send((post, ("SET", f"blog:{{{post}}}", content(post))) for post in range(800000000000000, 800000000000000 + users * posts))

    def add_fans(self, author, fans, last):
        """The last one has the highest score, so that it is told last."""
        commands = []
        for first in range(1, fans, 5000):
            members = [word for fan in range(first, min(first + 5000, fans)) for word in (fan, FANS_FROM + fan)]
            commands.append((author, ("ZADD", f"uf:fans:{{{author}}}", *members)))
        self.send([*commands, (author, ("ZADD", f"uf:fans:{{{author}}}", fans, last))])

    def memory(self):
        return sum(node.info("used_memory") for node in self.nodes)

    def sync(self, how):
        """always: acknowledged is on disk; no: when the kernel likes."""
        for node in self.nodes:
            node.ask("CONFIG", "SET", "appendfsync", how)
            if node.ask("CONFIG", "GET", "appendonly")[1] == "no":
                node.ask("CONFIG", "SET", "auto-aof-rewrite-percentage", 0)
                node.ask("CONFIG", "SET", "appendonly", "yes")
                services.wait_until(lambda n=node: not n.info("aof_rewrite_in_progress") and not n.info("aof_rewrite_scheduled"),
                                    "redis has written its file")

    def empty(self):
        for node in self.nodes:
            node.ask("FLUSHALL")


def content(post):
    return json.dumps({"post_id": post, "kind": "note", "author_name": "An ordinary name", "title": "An ordinary title",
                       "excerpt": "A body of ordinary length, as people write it: a hundred characters or so, and then some more.",
                       "created_at": 1700000000000})


class Server(services.Tidings):
    """A replica. What it may be asked for has no limits that one machine's load would meet before the server does."""
    environment = {**services.Tidings.environment, "TIDINGS_DEADLINE_MS": "60000"}  # the machine may be busy

    def start(self, database, *flags):
        super().start("commit", "--mysql", url(database), *flags)
        services.wait_until(self.is_ready, "a replica is ready")
        return self

    def is_ready(self):
        self.alive()
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/readyz") as answer:
                return answer.status == 200
        except OSError:
            return False

    def status(self):
        asked = urllib.request.Request(f"http://127.0.0.1:{self.port}/v1/admin/status",
                                       headers={"Authorization": f"Bearer {self.token(1, 'admin')}"})
        with urllib.request.urlopen(asked) as answer:
            return json.loads(answer.read())

    def writes(self):
        return self.status()["replica"]["role"] == "writer"


class Some:
    """Some of the servers, as one contestant. `freshness` of all that they are asked."""
    protocol = "http"

    def __init__(self, name, servers, freshness="exact"):
        self.name, self.servers, self.freshness = name, servers, freshness
        self.ports = [server.port for server in servers]


class Replicas:
    """Servers on one log, each with a copy of a world that was filled once; the first one is the writer."""

    def __init__(self, meter, directory, name, servers=SERVERS, **world):
        self.meter, self.directory, self.database = meter, Path(directory) / name, make_database(f"bench_{name}")
        self.servers = [Server(self.directory / "server-0")]
        services.Tidings.fill_with(self.servers[0].directory, **world)
        for number in range(1, servers):
            self.servers.append(Server(self.directory / f"server-{number}"))
            services.run(services.BUILD / "tidings", "backup", "--data", self.servers[0].directory, self.servers[-1].directory)

    def start(self, *flags):
        for server in self.servers:
            server.start(self.database, *flags)
            self.meter.servers.append(server)
            if server is self.servers[0]:
                services.wait_until(server.writes, "the first server is the writer")
        return self

    def stop(self):
        for server in self.servers:
            server.stop()
            if server in self.meter.servers:
                self.meter.servers.remove(server)

    def remove(self):
        self.stop()
        services.remove(self.directory)

    def writer(self, **how):
        return Some("writer", self.servers[:1], **how)

    def follower(self, **how):
        return Some("follower", self.servers[1:2], **how)

    def all(self):
        return Some("3 servers", self.servers)

    def all_bounded(self):
        return Some("3 servers, bounded", self.servers, "bounded")


class Meter:
    """What processes and services have done so far; a difference of two readings is what they did between."""
    TIMES = ("tidings", "mysql", "redis")

    def __init__(self, seeds):
        self.session, self.seeds, self.servers = Session(), seeds, []

    def read(self):
        status = {name.lower(): int(value) for name, value in
                  self.session.ask("SHOW GLOBAL STATUS WHERE Variable_name IN ('Questions', 'Com_commit', 'Bytes_received')")}
        threads = sum((threads_s(server.process.pid) for server in self.servers if server.process), collections.Counter())
        found = {"tidings": sum(cpu_s(server.process.pid) for server in self.servers if server.process), "mysql": cpu_s(server_pid()),
                 "redis": sum(cpu_s(node.pid) for node in self.seeds.nodes), "statements": status["questions"],
                 "commits": status["com_commit"], "mysql_bytes": status["bytes_received"],
                 "redis_commands": sum(node.commands() for node in self.seeds.nodes)}
        return {**found, **{f"thread {name}": value for name, value in threads.items()}}

    @classmethod
    def between(cls, before, after, times):
        """For one of so many: CPU in microseconds, the rest as it is."""
        def is_time(name):
            return name in cls.TIMES or name.startswith("thread ")
        return {name + ("_us" if is_time(name) else ""): (value - before.get(name, 0)) / times * (1e6 if is_time(name) else 1)
                for name, value in after.items()}


class Community:
    """The world that most parts share, on three servers, and in the seeds' keys when `space` has filled them."""

    def __init__(self, directory, sizes):
        self.directory, self.sizes = Path(directory), sizes
        self.seeds = Seeds()
        self.meter = Meter(self.seeds)
        self.replicas = self.make("community", users=sizes.users, followed=sizes.followed, posts=sizes.posts).start()
        self.plain = PlainSql(*sizes.plain)

    def make(self, name, **how):
        """Servers that are not started yet."""
        return Replicas(self.meter, self.directory, name, **how)

    def load(self, who, mix, seconds, connections, **options):
        """One run of the generator against a contestant: what it printed, and what everybody did for one request. On a busy machine few
        may have been answered in so short a time; then it gets more."""
        for _ in range(TRIES):
            result, trouble = self.try_load(who, mix, seconds, connections, options)
            if result and result["done"] >= ENOUGH:
                break
            seconds *= 3
        if not result:
            raise RuntimeError(f"{who.name}, {mix}: {trouble}")
        bad = {status: n for status, n in result["statuses"].items() if not status.startswith("2")}
        if bad:
            raise RuntimeError(f"{who.name}, {mix}: refused: {bad}")
        return result

    def warm(self, servers, users):
        """Each has pairs and heads of users in memory then: the generator asks for a page of (up to 2,000) users before older ones, and
        badges are those of all."""
        for server in servers:
            for mix in ("older=1", "badge=1"):
                self.load(Some("warming", [server]), mix, self.sizes.seconds, self.sizes.connections, users=users)

    def try_load(self, who, mix, seconds, connections, options):
        options = {"users": self.sizes.users, "followed": self.sizes.followed, **options}
        flags = [text for name, value in options.items() for text in (f"--{name.replace('_', '-')}", value)]
        flags += ["--freshness", who.freshness] if who.protocol == "http" else []
        command = [services.BUILD / "bench/load/tidings-load", "--protocol", who.protocol, "--port", ",".join(map(str, who.ports)),
                   "--mix", mix, "--seconds", seconds, "--warm-up", min(0.5, seconds / 2), "--connections", connections, "--announce",
                   "--scripts", services.ROOT / "bench/redis", "--seed", time.monotonic_ns() % 1000000, *flags]
        process = subprocess.Popen([str(word) for word in command], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, text=True)
        readings, result = {}, None
        for line in process.stdout:
            if line.startswith("{"):
                result = json.loads(line)
            else:
                readings[line.strip()] = self.meter.read()
                process.stdin.write("\n")
                process.stdin.flush()
        trouble = process.stderr.read()
        if process.wait():
            return None, trouble
        result["each"] = each = self.meter.between(readings["begin"], readings["end"], result["done"])
        each["generator_us"] = result["cpu_share"] * result["seconds"] * 1e6 / result["done"]
        each["all_us"] = sum(each[f"{part}_us"] for part in Meter.TIMES)
        return result, ""

    def stop(self):
        for server in self.meter.servers:
            server.stop()


def add(record, measurement, case, who, result, latencies=False, threads=False):
    """A run of the generator into the record."""
    record.add(measurement, case, who, "per_second", result["per_second"])
    for name, value in result["each"].items():
        if threads or not name.startswith("thread "):
            record.add(measurement, case, who, name, value)
    for point in ("p50", "p99", "p999", "max") if latencies else ():
        record.add(measurement, case, who, point + "_us", result["latency_us"]["all"][point])
