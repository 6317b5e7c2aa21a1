"""Who takes part: Tidings servers on one database, with a Redis Cluster and without, and the seeds' design on that Redis Cluster; and what each
process takes meanwhile."""
import json
import os
import re
import subprocess
import time
from pathlib import Path

from .. import services
from .database import FANS_FROM, Session, World, server_pid, url

SERVERS, TRIES, ENOUGH = 3, 3, 200
TICKS = os.sysconf("SC_CLK_TCK")
# Of INFO's sections: what was called by us to find out, and by nodes among themselves.
NOT_COUNTED = ("info", "config", "cluster", "ping", "replconf", "psync", "hello", "client", "command")


def cpu_s(pid):
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


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
    name, protocol, times = "seeds", "redis-cluster", 1

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


class Server(services.Service):
    """One of Tidings'."""
    name, protocol = "tidings", "http"
    environment = {**services.Tidings.environment, "TIDINGS_DEADLINE_MS": "60000"}  # the machine may be busy

    def start(self, database, redis=True):
        flags = ["--redis", os.environ["TIDINGS_TEST_REDIS"]] if redis else []
        self.spawn(services.BUILD / "tidings", "serve", "--engine", "cluster", "--mysql", url(database), "--listen", "127.0.0.1:0", *flags)
        services.wait_until(lambda: "listening on port" in self.log_text() or not self.alive(), "tidings listens")
        self.port = int(re.search(r"listening on port (\d+)", self.log_text()).group(1))
        return self


class Some:
    """Some of the servers, as one contestant."""
    protocol = "http"  # `times` as many connections as one of them has

    def __init__(self, name, servers):
        self.name, self.servers, self.times = name, servers, len(servers)
        self.ports = [server.port for server in servers]


class Meter:
    """What processes and services have done so far; a difference of two readings is what they did between."""

    def __init__(self, seeds):
        self.session, self.seeds, self.servers = Session(), seeds, []

    def read(self):
        status = {name.lower(): int(value) for name, value in
                  self.session.ask("SHOW GLOBAL STATUS WHERE Variable_name IN ('Questions', 'Com_commit')")}
        return {"tidings": sum(cpu_s(server.process.pid) for server in self.servers if server.process), "mysql": cpu_s(server_pid()),
                "redis": sum(cpu_s(node.pid) for node in self.seeds.nodes), "statements": status["questions"],
                "commits": status["com_commit"], "redis_commands": sum(node.commands() for node in self.seeds.nodes)}

    @staticmethod
    def between(before, after, times):
        """For one of so many: CPU in microseconds, the rest as it is."""
        return {name + ("_us" if name in ("tidings", "mysql", "redis") else ""):
                (after[name] - value) / times * (1e6 if name in ("tidings", "mysql", "redis") else 1) for name, value in before.items()}


class Community:
    """The world that most parts share, on the database and, when `space` has filled it in, in the seeds' keys."""

    def __init__(self, directory, sizes):
        self.directory, self.sizes = Path(directory), sizes
        self.seeds = Seeds()
        self.meter = Meter(self.seeds)
        self.world = World("bench_community", sizes.users, sizes.users, sizes.followed, sizes.posts)
        self.servers = [self.server(f"server-{number}").start(self.world.database) for number in range(SERVERS)]

    def server(self, name):
        server = Server(self.directory / name)
        self.meter.servers.append(server)
        return server

    def some(self, n):
        """The first n of them."""
        return Some("1 server" if n == 1 else f"{n} servers", self.servers[:n])

    def everybody(self):
        return [self.some(n) for n in range(1, SERVERS + 1)]

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
        options = {"users": self.sizes.users, **options}
        flags = [text for name, value in options.items() for text in (f"--{name.replace('_', '-')}", value)]
        command = [services.BUILD / "bench/load/tidings-load", "--protocol", who.protocol, "--port", ",".join(map(str, who.ports)),
                   "--mix", mix, "--seconds", seconds, "--warm-up", min(0.5, seconds / 2), "--connections",
                   connections * who.times, "--announce", "--scripts", services.ROOT / "bench/redis", "--seed", time.monotonic_ns() % 1000000, *flags]
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
        result["each"] = self.meter.between(readings["begin"], readings["end"], result["done"])
        result["each"]["generator_us"] = result["cpu_share"] * result["seconds"] * 1e6 / result["done"]
        return result, ""

    def stop(self):
        for server in self.meter.servers:
            server.stop()


def add(record, measurement, case, who, result, latencies=False):
    """A run of the generator into the record."""
    record.add(measurement, case, who, "per_second", result["per_second"])
    for name, value in result["each"].items():
        record.add(measurement, case, who, name, value)
    for point in ("p50", "p99", "p999", "max") if latencies else ():
        record.add(measurement, case, who, point + "_us", result["latency_us"]["all"][point])
