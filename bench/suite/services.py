"""The contestants, each started on loopback, on a free port and a directory of its own, and stopped by its own pid."""
import json
import os
import re
import shutil
import socket
import subprocess
import time
import urllib.request
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BUILD = ROOT / os.environ.get("BUILD", "build")
SECRET = "only for this measurement, thrown away afterwards"
PATIENCE_S = 600

os.environ["TIDINGS_JWT_SECRET"] = SECRET


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def wait_until(happens, what):
    deadline = time.monotonic() + PATIENCE_S
    while not happens():
        if time.monotonic() > deadline:
            raise RuntimeError(f"not in {PATIENCE_S} s: {what}")
        time.sleep(0.005)


def can_connect(port):
    try:
        socket.create_connection(("127.0.0.1", port), 1).close()
        return True
    except OSError:
        return False


def run(*command, **how):
    """A program's output; its complaints if it fails."""
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, check=False, **how)
    if done.returncode:
        raise RuntimeError(f"{' '.join(map(str, command))}: exit {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


class Service:
    name = protocol = ""
    group = None  # a MemoryGroup to start in
    environment = {}

    def __init__(self, directory):
        self.directory = Path(directory)
        self.directory.mkdir(parents=True, exist_ok=True)
        self.process = None
        self.port = 0

    def spawn(self, *command):
        self.log = open(self.directory.parent / f"{self.directory.name}.log", "wb")
        self.process = subprocess.Popen([str(part) for part in command], stdin=subprocess.DEVNULL, stdout=self.log,
                                        stderr=subprocess.STDOUT, env={**os.environ, **self.environment},
                                        preexec_fn=self.group and self.group.join)

    def alive(self):
        if self.process.poll() is not None:
            raise RuntimeError(f"{self.name} ended: {self.log_text()[-2000:]}")
        return True

    def log_text(self):
        return Path(self.log.name).read_text(errors="replace")

    def stop(self, hard=False):
        if self.process and self.process.poll() is None:
            self.process.kill() if hard else self.process.terminate()
            self.process.wait()
        self.process = None

    def memory(self):
        """Bytes of RAM that are its own, and of files it has mapped."""
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        kib = {name: int(value) for name, value in re.findall(r"^(Rss\w+):\s+(\d+)", status, re.M)}
        return kib["RssAnon"] * 1024, kib["RssFile"] * 1024 + kib["RssShmem"] * 1024

    def disk(self):
        return sum(path.stat().st_blocks * 512 for path in self.directory.rglob("*") if path.is_file())


class MemoryGroup:
    """A control group (version 2 or 1) with a limit on memory, the page cache of its files included. PermissionError or
    FileNotFoundError where none may be made."""

    def __init__(self, limit):
        groups = dict(line.split(":", 2)[1:] for line in Path("/proc/self/cgroup").read_text().splitlines())
        old = "memory" in groups
        own = groups["memory" if old else ""]
        self.path = Path("/sys/fs/cgroup" + ("/memory" if old else "") + own) / f"tidings-bench-{os.getpid()}"
        self.path.mkdir()
        (self.path / ("memory.limit_in_bytes" if old else "memory.max")).write_text(str(limit))

    def join(self):
        (self.path / "cgroup.procs").write_text(str(os.getpid()))

    def remove(self):
        self.path.rmdir()


def evict(directory):
    """Takes a directory's files out of the page cache: the machine as after a restart."""
    for path in directory.rglob("*"):
        if path.is_file():
            fd = os.open(path, os.O_RDONLY)
            os.fsync(fd)
            os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
            os.close(fd)


class Tidings(Service):
    name, protocol = "tidings", "http"
    # No limits that a single machine's load would meet before the server does; and no base image while it is measured,
    # as Redis does not rewrite its file meanwhile either.
    # In the environment: an older build that is measured beside this one passes over what it does not know.
    FLAGS = ["TIDINGS_ACCESS_LOG=0", "TIDINGS_HTTP_CONNECTIONS_PER_ADDRESS=0", "TIDINGS_FOLLOW_BURST=1000000",
             "TIDINGS_PUBLISH_BURST=1000000", "TIDINGS_REACT_BURST=1000000", "TIDINGS_SNAPSHOT_LOG_MB=1048576"]
    environment = dict(flag.split("=") for flag in FLAGS)
    binary = BUILD / "tidings"

    def start(self, durability="commit", *flags):
        self.spawn(self.binary, "serve", "--data", self.directory, "--listen", "127.0.0.1:0", "--durability",
                   durability, *flags)
        wait_until(lambda: "listening on port" in self.log_text() or not self.alive(), "tidings listens")
        self.port = int(re.search(r"listening on port (\d+)", self.log_text()).group(1))
        self.durability = durability
        return self

    def ensure(self, durability):
        """As started, or started anew, with that durability."""
        if self.process and self.durability == durability:
            return self
        self.stop()
        return self.start(durability)

    def fill(self, users, followed, posts, authors=0, fans=1):
        return self.fill_with(self.directory, users=users, authors=authors or users, followed=followed, posts=posts, fans=fans)

    @classmethod
    def fill_with(cls, directory, **world):
        """The world of `tidings bench-engine`, into a directory of its own or beside what is there."""
        world = {"authors": world["users"], "fans": 1, "comments": 1, **world}
        flags = [part for name, value in world.items() for part in (f"--{name}", value)]
        return run(cls.binary, "bench-engine", "--data", directory, *flags, "--fill-only")

    def metrics(self):
        with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/metrics") as answer:
            lines = answer.read().decode().splitlines()
        return {name: float(value) for name, value in (line.rsplit(" ", 1) for line in lines if line[:1] != "#")}

    def token(self, user, role="user"):
        return run(self.binary, "token", "--user", user, "--role", role).strip()


class Talks:
    """Redis' protocol, on one connection."""

    def connect(self, port):
        self.socket = socket.create_connection(("127.0.0.1", port))
        self.file = self.socket.makefile("rb")

    def disconnect(self):
        self.file.close()
        self.socket.close()

    @staticmethod
    def packed(words):
        parts = [str(word).encode() for word in words]
        return b"*%d\r\n" % len(parts) + b"".join(b"$%d\r\n%s\r\n" % (len(p), p) for p in parts)

    def ask(self, *words):
        self.socket.sendall(self.packed(words))
        return self.reply()

    def ask_many(self, commands):
        """Some hundred commands at once; the replies are nobody's."""
        self.socket.sendall(b"".join(map(self.packed, commands)))
        for _ in commands:
            self.reply()

    def reply(self):
        line = self.file.readline().rstrip()
        kind, rest = line[:1], line[1:]
        if kind == b"-":
            raise RuntimeError(f"redis: {rest.decode()}")
        if kind == b"$":
            return None if rest == b"-1" else self.file.read(int(rest) + 2)[:-2].decode()
        if kind == b"*":
            return [self.reply() for _ in range(int(rest))]
        return int(rest) if kind == b":" else rest.decode()

    def script(self, name):
        return self.ask("SCRIPT", "LOAD", (ROOT / "bench/redis" / name).read_text())

    def info(self, field):
        return int(re.search(rf"^{field}:(\d+)", self.ask("INFO"), re.M).group(1))


class Redis(Service, Talks):
    name, protocol = "redis", "redis"
    # The file begins when everything is filled in, and is not rewritten while it is measured.
    FLAGS = ["--save", "", "--appendonly", "no", "--auto-aof-rewrite-percentage", "0"]

    def start(self):
        self.port = free_port()
        self.spawn("redis-server", "--port", self.port, "--bind", "127.0.0.1", "--dir", self.directory, *self.FLAGS)
        wait_until(lambda: self.alive() and can_connect(self.port), "redis listens")
        self.connect(self.port)
        return self

    def stop(self, hard=True):
        if self.process:
            self.disconnect()
        super().stop(hard)

    def fill(self, users, followed, posts, authors=0, read_percent=0):
        authors = authors or users
        sha, inverse = self.script("fill.lua"), pow(104729, -1, authors)
        for user in range(1, users + 1):
            self.ask("EVALSHA", sha, 0, user, authors, followed, posts, read_percent, inverse)
        sha = self.script("fill_posts.lua")
        for first in range(0, authors * posts, 1000):
            self.ask("EVALSHA", sha, 0, first, min(first + 1000, authors * posts), authors)

    def sync(self, how):
        """appendfsync always or everysec; the first call turns the file on and waits until it is whole."""
        self.ask("CONFIG", "SET", "appendfsync", how)
        if self.ask("CONFIG", "GET", "appendonly")[1] == "no":
            self.ask("CONFIG", "SET", "appendonly", "yes")
            wait_until(lambda: not self.info("aof_rewrite_in_progress") and not self.info("aof_rewrite_scheduled"),
                       "redis has written its file")
        return self


class MariaDB(Service):
    name, protocol = "mariadb", "mysql"
    # Durable at each commit, nothing written twice, enough memory for everything.
    FLAGS = ["--innodb-flush-log-at-trx-commit=1", "--innodb-buffer-pool-size=2G", "--innodb-log-file-size=1G",
             "--skip-log-bin", "--max-connections=600", "--skip-name-resolve"]

    def start(self):
        run("mariadb-install-db", "--no-defaults", f"--datadir={self.directory}", "--skip-test-db",
            "--auth-root-authentication-method=normal", *self.as_user())
        self.port, self.socket = free_port(), self.directory / "socket"
        self.spawn("mariadbd", "--no-defaults", f"--datadir={self.directory}", f"--port={self.port}",
                   "--bind-address=127.0.0.1", f"--socket={self.socket}", f"--pid-file={self.directory}/pid", *self.FLAGS,
                   *self.as_user())
        wait_until(lambda: self.alive() and can_connect(self.port), "mariadb listens")
        self.sql("CREATE DATABASE tidings; CREATE USER bench@'%' IDENTIFIED VIA mysql_native_password USING '';"
                 "GRANT ALL ON tidings.* TO bench@'%';")
        self.sql((ROOT / "bench/mariadb/schema.sql").read_text(), "tidings")
        return self

    @staticmethod
    def as_user():
        return ["--user=root"] if os.geteuid() == 0 else []

    def sql(self, text, *database):
        return run("mariadb", "--no-defaults", f"--socket={self.socket}", "--user=root", "--batch", *database, input=text)

    def fill(self, users, followed):
        self.sql(f"""
            SET unique_checks = 0;
            CREATE TEMPORARY TABLE ties AS SELECT u.seq AS f, 1 + (u.seq * 7919 + (i.seq + 1) * 104729) % {users} AS t,
              '2024-01-01 00:00:00.000' + INTERVAL i.seq SECOND AS n
              FROM seq_1_to_{users} u, seq_0_to_{followed - 1} i HAVING f <> t;
            INSERT INTO following (from_user_id, to_user_id, created_at, updated_at) SELECT f, t, n, n FROM ties;
            INSERT INTO follower (to_user_id, from_user_id, created_at, updated_at) SELECT t, f, n, n FROM ties;
            INSERT INTO user_counters (user_id, following) SELECT f, COUNT(*) FROM ties GROUP BY f;
            UPDATE user_counters c, (SELECT t, COUNT(*) AS n FROM ties GROUP BY t) x SET followers = n WHERE user_id = t;
            """, "tidings")


class Bare(Service):
    """The least that libuv and http-parser can do: a canned answer."""
    name, protocol = "bare", "http"

    def start(self):
        self.port = free_port()
        self.spawn(BUILD / "tests/bare_server", os.cpu_count() or 1, self.port)
        wait_until(lambda: self.alive() and can_connect(self.port), "the bare server listens")
        return self


def load(service, mix, users, seconds, connections, **options):
    """Runs the generator against a service: what it printed."""
    flags = [text for name, value in options.items() for text in (f"--{name.replace('_', '-')}", value)]
    out = run(BUILD / "bench/load/tidings-load", "--protocol", service.protocol, "--port", service.port, "--pid",
              service.process.pid, "--users", users, "--mix", mix, "--seconds", seconds, "--connections", connections,
              "--scripts", ROOT / "bench/redis", *flags)
    return json.loads(out)


def floors(*arguments):
    return float(run(BUILD / "bench/floors/floors", *arguments))


def remove(directory):
    shutil.rmtree(directory, ignore_errors=True)
