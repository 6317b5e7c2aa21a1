"""What runs beside the clients: a database, Kafka and servers, each reached by links that can be made bad (proxy.py).

All of it is in one directory, on free ports of loopback, and ends with `close`, by its own pids.
"""
import json
import os
import re
import runpy
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.request
from pathlib import Path

from history import SECRET, token

HERE = Path(__file__).resolve().parent
SUPPORT = HERE.parent / "support"
MARIADB = runpy.run_path(os.fspath(SUPPORT / "with-mariadb"))
BIN = os.environ.get("TIDINGS_BIN", "build/tidings")
START_SECONDS = 60
STOP_SECONDS = 20  # some more than what a server waits for: the answers of others, its last words to the database
DISK_MB = 1000  # of a database
SERVER_DISK_MB = 400
NAME = "chaos"
FREE = 1_000_000
SETTINGS = {"follow_burst": FREE, "react_burst": FREE, "comment_burst": FREE, "publish_burst": FREE, "access_log": 0,
            "deadline_ms": 3000, "jwt_leeway_s": 60}
# Services are killed here, machines are not: nothing has to be on the disk.
DATABASE = ["--innodb-flush-method=nosync", "--skip-networking=0", "--bind-address=127.0.0.1", "--max-allowed-packet=64M"]
WITHOUT_LOG = ["--skip-log-bin"]  # without a log of its own it does not wait a minute for room
WITH_LOG = ["--log-slave-updates", "--binlog-format=ROW", "--sync-binlog=0"]
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


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Disk:
    """A directory with room of its own, where that can be had, so that it can be filled."""

    def __init__(self, directory, megabytes):
        self.directory = directory
        directory.mkdir()
        done = subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={megabytes}m", "tidings-chaos", directory], capture_output=True,
                              check=False)
        self.is_own = done.returncode == 0

    def fill(self):
        """All room that is left is taken."""
        if not self.is_own:
            return
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
        if self.is_own:
            subprocess.run(["umount", "--lazy", self.directory], check=False)


class Database:
    """A MariaDB with a port."""

    def __init__(self, directory, number=1, binary_log=False):
        self.directory, self.lock = directory, threading.Lock()
        self.disk = Disk(directory, DISK_MB)
        self.has_disk = self.disk.is_own and not binary_log
        self.number, self.hogs = number, []
        self.port, self.own_port = free_port(), free_port()
        # Who sets things right has a port to himself: he need not stand in a queue with those who have no connection.
        options = [*DATABASE, *(WITH_LOG if binary_log else WITHOUT_LOG), f"--server-id={number}", f"--port={self.port}",
                   f"--extra-port={self.own_port}", "--extra-max-connections=10"]
        MARIADB["make"](directory, options)
        self.control = MARIADB["Control"](directory, options)
        self.control.start()

    def make(self):
        self.run(f"CREATE DATABASE {NAME}; CREATE USER tidings@'%'; GRANT {RIGHTS} ON {NAME}.* TO tidings@'%'; CREATE USER hog@'%'")

    @staticmethod
    def url(port):
        return f"mysql://tidings@127.0.0.1:{port}/{NAME}"

    def do(self, word):
        """One thing at a time, and nothing that is so already: faults may overlap when the machine is slow."""
        with self.lock:
            if word in ("pause", "resume") or self.is_alive() != (word == "start"):
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

    def log_end(self):
        """Position of the log that servers share, as it stands here."""
        rows = self.run("SELECT position FROM tidings_writer", NAME)
        return int(rows[0]) if rows else 0

    def use_up(self, most):
        """All connections that there may be."""
        command = ["mariadb", "--no-defaults", "--protocol=tcp", "--host=127.0.0.1", "--user=hog", f"--port={self.port}", "--execute",
                   "DO SLEEP(100)"]
        self.hogs = [subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
                     for _ in range(most)]

    def let_go(self):
        for hog in self.hogs:
            hog.kill()
            hog.wait()
        self.hogs = []
        self.kill_connections("user = 'hog'")

    def kill_connections(self, which):
        rows = self.run(f"SELECT id FROM information_schema.processlist WHERE {which}")
        self.run(";".join(f"KILL {row}" for row in rows))

    def save(self):
        """A copy of all of it, to be gone back to."""
        with self.lock:
            if self.is_alive():
                self.control.do("stop")
            shutil.rmtree(self.directory / "saved", ignore_errors=True)  # of a fault that is not over: it goes back to this one, too
            shutil.copytree(self.directory / "data", self.directory / "saved", symlinks=True)
            self.control.do("start")

    def go_back(self):
        with self.lock:
            if self.is_alive():
                self.control.do("kill")
            if (self.directory / "saved").exists():
                shutil.rmtree(self.directory / "data")
                (self.directory / "saved").rename(self.directory / "data")
            self.control.do("start")

    def close(self):
        self.let_go_quietly()
        MARIADB["stop"](self.control.server)
        self.disk.close()

    def let_go_quietly(self):
        for hog in self.hogs:
            hog.kill()
            hog.wait()


# ---- Kafka ---------------------------------------------------------------------------------------------


class Kafka:
    def __init__(self, directory, links):
        module = runpy.run_path(os.fspath(SUPPORT / "with-kafka"))
        directory.mkdir()
        open_ = module["make"](directory, [])["PLAIN"]
        plain = int(open_.rpartition(":")[2])
        self.port = links.add("kafka", plain)
        self.topic = f"tidings.{NAME}.events"
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
        told = {}
        try:
            partitions = consumer.list_topics(self.topic, timeout=30).topics[self.topic].partitions
            consumer.assign([TopicPartition(self.topic, number, 0) for number in partitions])
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
        self.own_port = None  # not by the link
        self.is_wanted = False  # to be running: whoever finds it dead then starts it again
        self.is_clock_ours = False
        self.starting = threading.Lock()
        self.clock = directory / f"clock-{number}"
        self.set_clock(0)
        self.link = f"client-{number}"
        self.port = links.add(self.link, 1)
        self.data = directory / f"data-{number}"
        self.disk = None

    def set_clock(self, seconds):
        self.clock.write_text(f"{seconds:+.3f}s\n")

    def environment(self):
        made = {name: value for name, value in os.environ.items() if not name.startswith("TIDINGS_")}
        made["TIDINGS_JWT_SECRET"] = SECRET
        if self.is_clock_ours and FAKETIME.exists():
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
        """Runs it if it is to run, and leads its link to where it listens: who joins the log anew listens elsewhere."""
        if self.is_wanted and not self.is_alive():
            self.start()
        self.aim()

    def aim(self):
        found = self.listens()
        if found and found != self.own_port:
            self.own_port = found
            self.links.aim(self.link, found)

    def start_now(self):
        flags = [f"--{name.replace('_', '-')}={value}" for name, value in self.settings.items()]
        command = ["setpriv", "--pdeathsig", "KILL", BIN, "serve", *self.place, "--listen", "127.0.0.1:0", *flags]
        self.starts += 1
        self.own_port = None
        with open(self.log, "wb") as log:
            self.process = subprocess.Popen(command, env=self.environment(), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                            stderr=log, start_new_session=True)
        wait_until(lambda: self.process.poll() is not None or self.listens(), f"server {self.number} listens")
        self.aim()

    def listens(self):
        """The port at which it does; the last one that it has told."""
        found = re.findall(r"listening on port (\d+)", self.log.read_text(errors="replace")) if self.starts else []
        return int(found[-1]) if found else None

    def is_alive(self):
        return self.process.poll() is None

    def signal(self, number):
        if self.is_alive():
            self.process.send_signal(number)

    def kill(self):
        with self.starting:
            self.is_wanted = False
            self.process.kill()
            self.process.wait()

    def stop(self):
        """How it ended; None: it was killed, since it did not."""
        with self.starting:
            self.is_wanted = False
        if not self.process:
            return None
        self.signal(signal.SIGCONT)
        self.signal(signal.SIGTERM)
        try:
            return self.process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self.kill()
            return None

    def ask(self, path, seconds=2):
        """What it answers an operator, by its own port; None: nothing."""
        request = urllib.request.Request(f"http://127.0.0.1:{self.own_port}{path}",
                                         headers={"Authorization": "Bearer " + token(SECRET, 900, role="admin", ttl=7 * 24 * 3600)})
        try:
            with urllib.request.urlopen(request, timeout=seconds) as answer:
                return json.loads(answer.read())
        except (OSError, ValueError):
            return None

    def replica(self):
        """Its place in the history that servers share; {}: it does not say."""
        return (self.ask("/v1/admin/status") or {}).get("replica") or {}


def run_program(*arguments, timeout=300):
    environment = {name: value for name, value in os.environ.items() if not name.startswith("TIDINGS_")}
    return subprocess.run([BIN, *arguments], env=environment, capture_output=True, text=True, timeout=timeout, check=False)


def peer_place(server, links):
    """Where others reach it: by a link."""
    listen = free_port()
    return ["--peer-listen", f"127.0.0.1:{listen}"], f"127.0.0.1:{links.add(f'peer-{server}', listen)}"


# ---- All of it -------------------------------------------------------------------------------------------


class Servers:
    """What all kinds have in common."""

    database = spare = retired = kafka = None

    def __init__(self, directory):
        self.directory, self.links = directory, Links()
        self.servers = []

    def set_clocks_ours(self):
        for server in self.servers:
            server.is_clock_ours = True

    def start(self):
        for server in self.servers:
            server.start()

    def writer(self):
        """Who makes the changes, as far as can be seen; any server, if nobody says that they do."""
        for server in self.servers:
            if server.is_wanted and server.replica().get("role") == "writer":
                return server
        return self.servers[0]

    def follower(self, target):
        writer = self.writer()
        others = [server for server in self.servers if server is not writer]
        return others[target % len(others)]

    def heal(self):
        """Nothing is left that a fault may have missed."""
        for link in self.links.ports:
            self.links.set(link, "pass")
        for server in self.servers:
            server.set_clock(0)
            if server.disk:
                server.disk.empty()

    def are_same(self):
        """Whether all have the same history."""
        said = [server.replica() for server in self.servers]
        return all(said) and len({(one["position"], one["chain"]) for one in said}) == 1 and said[0]

    def compare(self):
        """What servers that have the same history have otherwise; what each has is written down as facts."""
        seen = {}
        for _ in range(20):
            before = wait_until(self.are_same, "all servers have the same")
            seen = {}
            for server in self.servers:
                done = run_program("export", "--data", os.fspath(server.data), "-")
                seen[server.number] = done.stdout if done.returncode == 0 else f"{done.returncode}: {done.stderr}"
            after = self.are_same()
            if after and after["position"] == before["position"]:
                break
        if len(set(seen.values())) == 1:
            return []
        for number, facts in seen.items():
            (self.directory / f"facts-{number}").write_text(facts)
        return [f"exports at position {before['position']} are not the same: facts-*"]

    def verify(self):
        """What verify has found in the directories of servers that have ended."""
        said = []
        for server in self.servers:
            done = run_program("verify", "--data", os.fspath(server.data))
            if done.returncode or " 0 differences, " not in done.stdout:
                said.append(f"{server.data.name}: {(done.stdout + done.stderr)[-1500:]}")
        return said

    def close(self):
        for server in self.servers:
            server.stop()
        for server in self.servers:
            if server.disk:
                server.disk.close()
        for service in (self.kafka, self.database, self.spare, self.retired, self.links):
            if service:
                service.close()


class Replicas(Servers):
    """Three servers on a log in a database, perhaps with another database that replicates it, and a Kafka."""

    def __init__(self, directory, count=3, kafka=False, spare=False, disks=False, **settings):
        super().__init__(directory)
        try:
            self.make(count, kafka, spare, disks, {**SETTINGS, **settings})
        except BaseException:
            self.close()  # nothing runs on, and nothing stays mounted
            raise

    def make(self, count, kafka, spare, disks, settings):
        self.database = Database(self.directory / "mysql", 1, spare)
        if spare:
            self.spare = Database(self.directory / "mysql-2", 2, True)
            self.binlog = self.links.add("binlog", self.database.port)
            self.spare.run(f"SET GLOBAL read_only=1; CHANGE MASTER TO MASTER_HOST='127.0.0.1', MASTER_PORT={self.binlog}, "
                           "MASTER_USER='copy', MASTER_USE_GTID=slave_pos, MASTER_CONNECT_RETRY=1")
            self.database.run("CREATE USER copy@'%'; GRANT REPLICATION SLAVE ON *.* TO copy@'%'")
        self.database.make()
        if spare:
            self.spare.run("START SLAVE")
        if kafka:
            self.kafka = Kafka(self.directory / "kafka", self.links)
            settings |= {"kafka": f"127.0.0.1:{self.kafka.port}", "kafka_topic": self.kafka.topic}
        for number in range(count):
            port = self.links.add(f"mysql-{number}", self.database.port)
            listen, address = peer_place(number, self.links)
            place = ["--mysql", self.database.url(port), *listen, "--peer-address", address]
            server = Server(number, self.directory, self.links, place, settings)
            server.place[:0] = ["--data", os.fspath(server.data)]
            if disks:
                server.disk = Disk(server.data, SERVER_DISK_MB)
            self.servers.append(server)

    def lead_to(self, database):
        """The address of the database is that one's from now on."""
        for link in self.links.ports:
            if link.startswith("mysql-"):
                self.links.aim(link, database.port)

    def heal(self):
        super().heal()
        self.database.do("resume")
        self.database.do("start")  # without room it may have ended by itself
        self.database.run("SET GLOBAL read_only=0, GLOBAL max_connections=300")


class Standby(Servers):
    """A server, and one that follows it and can be promoted."""

    def __init__(self, directory, **settings):
        super().__init__(directory)
        settings = {**SETTINGS, **settings}
        settings.pop("deadline_ms")
        self.addresses = []
        for number in range(2):
            listen, address = peer_place(number, self.links)
            self.addresses.append(address)
            server = Server(number, directory, self.links, listen, settings)
            server.listening = listen
            self.servers.append(server)
        self.lead(0)

    def lead(self, number):
        """That one makes the changes, and the other follows it."""
        self.leader = number
        for server in self.servers:
            follow = [] if server.number == number else ["--follow", f"tidings://{self.addresses[number]}"]
            server.place = ["--data", os.fspath(server.data), *server.listening, *follow]

    def start(self):
        first, second = self.servers
        first.start()
        second.data.mkdir()
        shutil.copy(first.data / "peer.key", second.data)
        second.start()

    def are_followed(self):
        """Whether the follower has all, or nearly."""
        said = self.servers[1 - self.leader].replica()
        return said.get("role") == "follower" and said["following"]["connected"] and said["following"]["behind"] < 100

    def promote(self):
        """The follower takes over; how the command ended."""
        standby = self.servers[1 - self.leader]
        return run_program("promote", f"tidings://{self.addresses[standby.number]}", "--data", os.fspath(standby.data), timeout=60)


class Alone(Servers):
    """One server with its directory."""

    def __init__(self, directory, **settings):
        super().__init__(directory)
        settings = {**SETTINGS, "map_mb": 1024, **settings}
        settings.pop("deadline_ms")
        self.servers = [Server(0, directory, self.links, [], settings)]
        self.servers[0].place = ["--data", os.fspath(self.servers[0].data)]

    @property
    def image(self):
        return self.servers[0].data / "data.mdb"

    def compare(self):
        return []


def remove(directory):
    shutil.rmtree(directory, ignore_errors=True)
