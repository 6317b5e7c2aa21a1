"""What runs beside the clients: a database, Redis, Kafka and servers, each reached by links that can be made bad (proxy.py).

All of it is in one directory, on free ports of loopback, and ends with `close`, by its own pids.
"""
import json
import os
import re
import runpy
import shutil
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

from history import SECRET

HERE = Path(__file__).resolve().parent
SUPPORT = HERE.parent / "support"
MARIADB = runpy.run_path(os.fspath(SUPPORT / "with-mariadb"))
REDIS = runpy.run_path(os.fspath(SUPPORT / "with-redis"))
BIN = os.environ.get("TIDINGS_BIN", "build/tidings")
START_SECONDS = 60
DISK_MB = 400
NAME = "chaos"
FREE = 1_000_000
SETTINGS = {"follow_burst": FREE, "react_burst": FREE, "comment_burst": FREE, "publish_burst": FREE, "access_log": 0,
            "deadline_ms": 3000, "jwt_leeway_s": 60}
# Services are killed here, machines are not: nothing has to be on the disk. Without a log of its own it does not wait a minute for room.
DATABASE = ["--innodb-flush-method=nosync", "--skip-log-bin", "--skip-networking=0", "--bind-address=127.0.0.1"]
OWN = ["--no-defaults", "--protocol=tcp", "--host=127.0.0.1", "--user=root", "--batch", "--skip-column-names", "--force"]
RIGHTS = "SELECT, INSERT, UPDATE, DELETE, CREATE, ALTER, INDEX"
FAKETIME = Path("/usr/lib/x86_64-linux-gnu/faketime/libfaketimeMT.so.1")


def wait_until(holds, what, seconds=START_SECONDS):
    end = time.monotonic() + seconds
    while not (found := holds()):
        if time.monotonic() > end:
            raise RuntimeError(f"waited too long until {what}")
        time.sleep(0.02)
    return found


# ---- Links -------------------------------------------------------------------------------------------


class Links:
    def __init__(self):
        self.process = subprocess.Popen([sys.executable, HERE / "proxy.py"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.lock = threading.Lock()
        self.ports = {}

    def tell(self, **order):
        with self.lock:
            self.process.stdin.write(json.dumps(order) + "\n")
            self.process.stdin.flush()
            return json.loads(self.process.stdout.readline())

    def add(self, link, port):
        self.ports[link] = self.tell(do="add", link=link, to=["127.0.0.1", port])["port"]
        return self.ports[link]

    def aim(self, link, port):
        self.tell(do="aim", link=link, to=["127.0.0.1", port])

    def set(self, link, how):
        self.tell(do="set", link=link, how=how)

    def close(self):
        self.process.kill()
        self.process.wait()


# ---- The database --------------------------------------------------------------------------------------


class Database:
    """A MariaDB with a port, on a disk of its own where that can be had, so that it can be filled."""

    def __init__(self, directory):
        self.directory, self.lock = directory, threading.Lock()
        self.port, self.own_port = REDIS["free_port"](), REDIS["free_port"]()
        directory.mkdir()
        done = subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={DISK_MB}m", "tidings-chaos", directory], capture_output=True,
                              check=False)
        self.has_disk = done.returncode == 0
        # Who sets things right has a port to himself: he need not stand in a queue with those who have no connection.
        options = [*DATABASE, f"--port={self.port}", f"--extra-port={self.own_port}", "--extra-max-connections=10"]
        MARIADB["make"](directory, options)
        self.control = MARIADB["Control"](directory, options)
        self.control.start()
        self.run(f"CREATE DATABASE {NAME}; CREATE USER tidings@'%'; GRANT {RIGHTS} ON {NAME}.* TO tidings@'%'")

    def url(self, port):
        return f"mysql://tidings@127.0.0.1:{port}/{NAME}"

    def do(self, word):
        """One thing at a time, and nothing that is so already: faults may overlap when the machine is slow."""
        with self.lock:
            if self.is_alive() != (word == "start"):
                self.control.do(word)

    def is_alive(self):
        return self.control.server.poll() is None

    def client(self, statement, *more, **how):
        command = ["mariadb", *OWN, f"--port={self.own_port}", "--execute", statement, *more]
        return subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, **how)

    def run(self, statement, database=""):
        client = self.client(statement, database)
        try:
            return client.communicate(timeout=10)[0].splitlines()
        except subprocess.TimeoutExpired:
            client.kill()
            client.wait()
            return []

    def fill(self):
        """All room that is left is taken."""
        with open(self.directory / "ballast", "wb", buffering=0) as file:  # closing writes nothing, then
            try:
                while True:
                    file.write(bytes(1 << 16))
            except OSError:
                pass

    def empty(self):
        (self.directory / "ballast").unlink(missing_ok=True)

    def close(self):
        self.empty()
        MARIADB["stop"](self.control.server)
        if self.has_disk:
            subprocess.run(["umount", "--lazy", self.directory], check=False)


# ---- Redis ---------------------------------------------------------------------------------------------


class Redis:
    """A cluster whose nodes announce the links to them; `size` masters, each with a replica."""

    def __init__(self, directory, links, size):
        directory.mkdir()
        options = REDIS["Options"]([f"--nodes={2 * size}", "--replicas=1", "--cluster-require-full-coverage=no"])
        self.cluster = REDIS["Cluster"](directory, options)
        self.cluster.start()
        self.links = links
        for node in self.cluster.nodes:
            links.add(f"redis-{node.number}", node.port)
            self.announce(node)
        self.addresses = ",".join(f"127.0.0.1:{links.ports[f'redis-{node.number}']}" for node in self.cluster.nodes)

    def announce(self, node):
        node.try_cli("CONFIG", "SET", "cluster-announce-port", self.links.ports[f"redis-{node.number}"])

    def do(self, word, number):
        node = self.cluster.nodes[number]
        getattr(node, word)()
        if word == "start":
            self.announce(node)

    def pairs(self):
        """Masters, each with a replica of its."""
        ids, found = {node.try_cli("CLUSTER", "MYID").strip(): node for node in self.cluster.nodes}, []
        for node in self.cluster.nodes:
            words = next((line.split() for line in node.try_cli("CLUSTER", "NODES").splitlines() if "myself,slave" in line), [])
            if words and words[3] in ids:
                found.append((ids[words[3]], node))
        return found

    def flush(self):
        for node in self.cluster.nodes:
            node.try_cli("FLUSHALL")

    def close(self):
        for node in self.cluster.nodes:
            node.resume()
        self.cluster.stop()


class Kafka:
    def __init__(self, directory, links):
        module = runpy.run_path(os.fspath(SUPPORT / "with-kafka"))
        directory.mkdir()
        open_ = module["make"](directory, [])["PLAIN"]
        plain = int(open_.rpartition(":")[2])
        self.port = links.add("kafka", plain)
        properties = directory / "properties"
        told, instead = f"advertised.listeners=PLAIN://{open_}", f"advertised.listeners=PLAIN://127.0.0.1:{self.port}"
        properties.write_text(properties.read_text().replace(told, instead))
        self.control = module["Control"](directory, plain)
        self.control.start()

    def do(self, word):
        self.control.do(word)

    def try_to(self, word):
        """A broker that is started again may find its port taken for a moment."""
        try:
            self.control.do(word)
            return True
        except Exception:  # pylint: disable=broad-except
            return False

    def read_all(self, last):
        """The ids of events as they were told, by partition, when the last one was."""
        from confluent_kafka import Consumer, TopicPartition  # pylint: disable=import-outside-toplevel
        consumer = Consumer({"bootstrap.servers": f"127.0.0.1:{self.port}", "group.id": "chaos", "enable.auto.commit": False})
        topic, told = f"tidings.{NAME}.events", {}
        try:
            partitions = consumer.list_topics(topic, timeout=30).topics[topic].partitions
            consumer.assign([TopicPartition(topic, number, 0) for number in partitions])
            end = time.monotonic() + START_SECONDS
            while last and time.monotonic() < end and last not in told.get("seen", ()):
                message = consumer.poll(1)
                if message is not None and not message.error():
                    event = json.loads(message.value())["event_id"]
                    told.setdefault(str(message.partition()), []).append(event)
                    told.setdefault("seen", set()).add(event)
        finally:
            consumer.close()
        told.pop("seen", None)
        return told

    def close(self):
        MARIADB["stop"](self.control.server)


# ---- Servers -------------------------------------------------------------------------------------------


class Server:
    """One of ours. Clients reach it by a link that stays when it is started again."""

    def __init__(self, number, directory, links, place, settings):
        self.number, self.directory, self.links = number, directory, links
        self.place, self.settings = place, settings
        self.process, self.starts = None, 0
        self.is_wanted = False  # to be running: whoever finds it dead then starts it again
        self.starting = threading.Lock()
        self.clock = directory / f"clock-{number}"
        self.set_clock(0)
        self.link = f"client-{number}"
        self.port = links.add(self.link, 1)

    def set_clock(self, seconds):
        self.clock.write_text(f"{seconds:+.3f}s\n")

    def environment(self):
        made = {name: value for name, value in os.environ.items() if not name.startswith("TIDINGS_")}
        made["TIDINGS_JWT_SECRET"] = SECRET
        if FAKETIME.exists():
            # Without the last one waiting for the monotonic clock is no waiting: threads that look now and then run all the time.
            made |= {"LD_PRELOAD": os.fspath(FAKETIME), "FAKETIME_TIMESTAMP_FILE": os.fspath(self.clock),
                     "FAKETIME_CACHE_DURATION": "1", "FAKETIME_DONT_FAKE_MONOTONIC": "1", "FAKETIME_FORCE_MONOTONIC_FIX": "0"}
        return made

    @property
    def log(self):
        return self.directory / f"server-{self.number}.{self.starts}.log"

    def start(self):
        """Where the database cannot be reached it ends at once; then `keep` tries again."""
        with self.starting:
            self.is_wanted = True
            if not self.process or not self.is_alive():
                self.start_now()

    def keep(self):
        if self.is_wanted and not self.is_alive():
            self.start()

    def start_now(self):
        flags = [f"--{name.replace('_', '-')}={value}" for name, value in self.settings.items()]
        command = ["setpriv", "--pdeathsig", "KILL", BIN, "serve", *self.place, "--listen", "127.0.0.1:0", *flags]
        self.starts += 1
        with open(self.log, "wb") as log:
            self.process = subprocess.Popen(command, env=self.environment(), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                            stderr=log, start_new_session=True)
        found = wait_until(lambda: self.process.poll() is not None or self.listens(), f"server {self.number} listens")
        if isinstance(found, re.Match):
            self.links.aim(self.link, int(found.group(1)))

    def listens(self):
        return re.search(r"listening on port (\d+)", self.log.read_text(errors="replace"))

    def is_alive(self):
        return self.process.poll() is None

    def signal(self, number):
        if self.is_alive():
            self.process.send_signal(number)

    def kill(self):
        self.is_wanted = False
        self.process.kill()
        self.process.wait()

    def stop(self):
        self.is_wanted = False
        if not self.process:
            return None
        self.signal(signal.SIGCONT)
        self.signal(signal.SIGTERM)
        try:
            return self.process.wait(START_SECONDS)
        except subprocess.TimeoutExpired:
            self.kill()
            return None


def run_program(*arguments, timeout=600):
    environment = {name: value for name, value in os.environ.items() if not name.startswith("TIDINGS_")}
    return subprocess.run([BIN, *arguments], env=environment, capture_output=True, text=True, timeout=timeout, check=False)


# ---- All of it -------------------------------------------------------------------------------------------


class Cluster:
    """Three servers on a database, with or without a Redis and a Kafka."""

    def __init__(self, directory, count=3, redis=2, kafka=False, **settings):
        self.directory, self.links = directory, Links()
        self.database = self.redis = self.kafka = None
        self.servers = []
        try:
            self.start(count, redis, kafka, {**SETTINGS, **settings})
        except BaseException:
            self.close()  # nothing runs on, and nothing stays mounted
            raise

    def start(self, count, redis, kafka, settings):
        self.database = Database(self.directory / "mysql")
        self.url = self.database.url(self.database.port)
        made = run_program("cluster", "init", "--mysql", self.url)
        if made.returncode:
            raise RuntimeError(made.stderr)
        if redis:
            self.redis = Redis(self.directory / "redis", self.links, redis)
            settings["redis"] = self.redis.addresses
        if kafka:
            self.kafka = Kafka(self.directory / "kafka", self.links)
            settings["kafka"] = f"127.0.0.1:{self.kafka.port}"
        for number in range(count):
            port = self.links.add(f"mysql-{number}", self.database.port)
            place = ["--engine", "cluster", "--mysql", self.database.url(port)]
            self.servers.append(Server(number, self.directory, self.links, place, settings))
        for server in self.servers:
            server.start()

    @property
    def verify_place(self):
        return ["--engine", "cluster", "--mysql", self.url]

    def heal(self):
        """Nothing is left that a fault may have missed."""
        for link in self.links.ports:
            self.links.set(link, "pass")
        self.database.do("start")  # without room it may have ended by itself

    def close(self):
        for server in self.servers:
            server.stop()
        for service in (self.kafka, self.redis, self.database, self.links):
            if service:
                service.close()


class Alone:
    """One server with its directory: the local engine."""

    database = redis = kafka = None

    def __init__(self, directory, **settings):
        self.directory, self.links = directory, Links()
        place = ["--data", os.fspath(directory / "data")]
        settings = {**SETTINGS, "map_mb": 1024, "log_segment_mb": 1, "snapshot_log_mb": 1, **settings}
        settings.pop("deadline_ms")
        self.servers = [Server(0, directory, self.links, place, settings)]
        self.servers[0].start()

    @property
    def image(self):
        return self.directory / "data" / "data.mdb"

    @property
    def verify_place(self):
        return ["--data", os.fspath(self.image.parent)]

    def heal(self):
        self.links.set("client-0", "pass")

    def close(self):
        self.servers[0].stop()
        self.links.close()


def remove(directory):
    shutil.rmtree(directory, ignore_errors=True)
