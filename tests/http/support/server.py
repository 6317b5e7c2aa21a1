"""The real program, started by a test on a port and a directory of its own. TIDINGS_TEST_ENGINE=replica adds a log in MySQL, of the
server that tests/support/with-mariadb started."""
import hashlib
import json
import os
import re
import shutil
import signal
import subprocess
import tempfile
import time

from .client import PATIENCE_S, Actor, Client

BIN = os.environ.get("TIDINGS_BIN", "build/tidings")

with open(BIN, "rb") as _file:
    _code = _file.read()
SANITIZED = b"__asan_init" in _code or b"__tsan_init" in _code  # memory and times say nothing then
SECRET = "an old secret of the tests, 32 bytes or more"


def clean_environment(**more):
    kept = {name: value for name, value in os.environ.items() if not name.startswith("TIDINGS_")}
    kept.update(more)
    return {name: value for name, value in kept.items() if value is not None}


def tidings(*arguments, timeout=PATIENCE_S, **environment):
    """Runs a command of the program to its end."""
    return subprocess.run([BIN, *arguments], env=clean_environment(**environment), timeout=timeout,
                          capture_output=True, text=True, check=False)


def routes():
    return json.loads(tidings("routes").stdout)


def wait_until(happens, what, patience=PATIENCE_S):
    """Polls until it is so; what it returned."""
    deadline = time.monotonic() + patience
    while True:
        result = happens()
        if result:
            return result
        assert time.monotonic() < deadline, f"not in {patience} s: {what}"
        time.sleep(0.005)


def engine():
    """On what the tests run: local or replica."""
    return os.environ.get("TIDINGS_TEST_ENGINE", "local")


def database_url(name):
    return os.environ["TIDINGS_TEST_MYSQL"].replace("/?", f"/{name}?", 1)


def make_database(name):
    """An empty one, if there is none of the name; its URL."""
    socket = re.search(r"socket=([^&]*)", os.environ["TIDINGS_TEST_MYSQL"]).group(1)
    subprocess.run(["mariadb", "--no-defaults", f"--socket={socket}", "--user=root", "--execute",
                    f"CREATE DATABASE IF NOT EXISTS {name}"], check=True)
    return database_url(name)


def database_of(data):
    """The name of the database that goes with a directory."""
    return "t_" + hashlib.sha256(os.fspath(data).encode()).hexdigest()[:16]


def log_of(first):
    """What makes a server a replica on the log that belongs to the first one's directory; nothing on `local`."""
    return ["--mysql", make_database(database_of(first)), "--freshness", "exact"] if engine() == "replica" else []


class Spoken:
    """What one can talk to: it has a port and a secret."""

    def __init__(self):
        self.actors = []

    def actor(self, *args, **more):
        made = Actor(self, *args, **more)
        self.actors.append(made)
        return made

    def user(self, user_id=None):
        return self.actor(user_id)

    def users(self, n):
        return [self.actor() for _ in range(n)]

    def service(self, acting_for=None):
        return self.actor(role="service", acting_for=acting_for)

    def admin(self):
        return self.actor(role="admin")

    def client(self):
        return Client(self)

    def settle(self):
        """What has happened has been told: one server tells at once."""

    def close_actors(self):
        for actor in self.actors:
            actor.close()

    def log_lines(self):
        """Every line of the log as an object; each must be one."""
        return [json.loads(line) for line in self.log_text().splitlines()]


class Server(Spoken):
    def __init__(self, data=None, secret=SECRET, settings=None, arguments=(), environment=None, listen="127.0.0.1:0",
                 wrapper=(), beside=None):
        """`beside`: another server, whose log this one is on, too."""
        super().__init__()
        self.secret = secret
        self.own_directory = data is None
        self.data = data or tempfile.mkdtemp(prefix="tidings-test-")
        self.log_owner = beside.log_owner if beside else self.data  # the directory that the log in MySQL is named after
        # Most tests publish as fast as they can, and are not about that; tokens of the tests end when they say so.
        self.settings = {"publish_burst": 1_000_000, "jwt_leeway_s": 0, **(settings or {})}
        self.arguments = list(arguments)
        self.environment = {"TIDINGS_JWT_SECRET": secret, **(environment or {})}
        self.listen = listen
        self.wrapper = list(wrapper)  # a command that runs the program, in its own place
        self.process = None
        self.log_file = None

    # ---- Starting and stopping ----

    def start(self):
        flags = [f"--{name.replace('_', '-')}={value}" for name, value in self.settings.items()]
        self.log_file = tempfile.NamedTemporaryFile("w+b", prefix="tidings-log-", suffix=".jsonl", delete=False)
        self.process = subprocess.Popen(
            [*self.wrapper, BIN, "serve", "--data", self.data, *log_of(self.log_owner), "--listen", self.listen, *flags,
             *self.arguments],
            env=clean_environment(**self.environment), stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL, stderr=self.log_file)
        found = wait_until(self.listening_or_dead, "listening")
        assert not isinstance(found, str), found
        self.port = int(found.group(1))
        return self

    def listening_or_dead(self):
        text = self.log_text()
        if self.process.poll() is not None:
            return f"the server ended with {self.process.returncode}: {text[-2000:]}"
        return re.search(r"listening on port (\d+)", text)

    def stop(self, how=signal.SIGTERM):
        """Stops it in order and checks that it ended well; the exit code."""
        self.process.send_signal(how)
        return self.wait()

    def wait(self):
        code = self.process.wait(PATIENCE_S)
        self.check_log()
        assert code == 0, f"the server ended with {code}: {self.log_text()[-3000:]}"
        return code

    def kill(self):
        self.process.kill()
        self.process.wait(PATIENCE_S)
        self.check_log()

    def close(self):
        """After a test, however it ended."""
        self.close_actors()
        try:
            if self.process and self.process.poll() is None:
                self.stop()
        finally:
            if self.process and self.process.poll() is None:
                self.process.kill()
                self.process.wait()
            if self.own_directory:
                shutil.rmtree(self.data, ignore_errors=True)
            if self.log_file:
                self.log_file.close()
                os.unlink(self.log_file.name)

    def restart(self, how=signal.SIGTERM, between=None):
        self.close_actors()
        if how == signal.SIGKILL:
            self.kill()
        else:
            self.stop(how)
        if between:
            between()
        old = self.log_file
        self.start()
        old.close()
        os.unlink(old.name)
        return self

    # ---- The log ----

    def log_text(self):
        with open(self.log_file.name, encoding="utf-8", errors="strict") as file:
            return file.read()

    def check_log(self):
        for line in self.log_text().splitlines():
            try:
                json.loads(line)
            except ValueError:
                raise AssertionError("not a line of log: " + self.log_text()[-6000:]) from None

    # ---- The process and its data ----

    def replica(self):
        """What its status says of its place in the history that servers share."""
        admin = self.admin()
        try:
            return admin.get("/admin/status")["replica"]
        finally:
            admin.close()
            self.actors.remove(admin)

    def rss_bytes(self):
        with open(f"/proc/{self.process.pid}/statm", encoding="ascii") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")

    def verify(self):
        """`tidings verify` on the stopped server's data: what it prints."""
        assert self.process.poll() is not None
        done = tidings("verify", "--data", self.data, timeout=600)
        assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
        assert " 0 differences, " in done.stdout, done.stdout[-2000:]
        return done.stdout
