"""Throw-away MariaDBs, one after the other the primary at one address, which a relay has: what a failover looks like to servers."""
import importlib.machinery
import importlib.util
import os
import select
import shutil
import socket
import subprocess
import tempfile
import threading
from pathlib import Path

from support.server import wait_until

HERE = os.path.dirname(os.path.abspath(__file__))
_loader = importlib.machinery.SourceFileLoader("with_mariadb", os.path.join(HERE, os.pardir, "support", "with-mariadb"))
with_mariadb = importlib.util.module_from_spec(importlib.util.spec_from_loader("with_mariadb", _loader))
_loader.exec_module(with_mariadb)

# None of these tests takes the power away.
OPTIONS = ["--innodb-flush-method=nosync", "--sync-binlog=0", "--max-allowed-packet=64M", "--log-slave-updates", "--binlog-format=ROW"]
PLAIN = ("CREATE USER plain@localhost; GRANT ALL ON *.* TO plain@localhost; "
         "REVOKE SUPER, READ_ONLY ADMIN ON *.* FROM plain@localhost")


class Relay:
    """A port that leads to a socket in the file system, which can be changed; to none, if that is None."""

    def __init__(self, target=None):
        self.target, self.pairs, self.lock = target, [], threading.Lock()
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self):
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self.pass_on, args=(client,), daemon=True).start()

    def pass_on(self, client):
        server = socket.socket(socket.AF_UNIX)
        with client, server:
            try:
                server.connect(os.fspath(self.target))
                with self.lock:
                    self.pairs.append((client, server))
                while True:
                    for one in select.select([client, server], [], [])[0]:
                        data = one.recv(1 << 16)
                        if not data:
                            return
                        (server if one is client else client).sendall(data)
            except (OSError, TypeError, ValueError):
                return

    def cut(self):
        with self.lock:
            pairs, self.pairs = self.pairs, []
        for one in (one for pair in pairs for one in pair):
            try:
                one.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass

    def close(self):
        self.listener.close()
        self.cut()


class Database:
    """One MariaDB."""

    def __init__(self, template, number):
        self.directory = Path(tempfile.mkdtemp(prefix="tf-"))
        shutil.copytree(template, self.directory, dirs_exist_ok=True)
        self.socket = self.directory / "s"
        self.number, self.process = number, None
        self.start()

    def start(self):
        self.process = with_mariadb.start(self.directory, [*OPTIONS, f"--server-id={self.number}"])
        with_mariadb.wait_for(self.process, self.directory)

    def stop(self):
        with_mariadb.stop(self.process)

    def kill(self):
        self.process.kill()
        self.process.wait()

    def run(self, text):
        done = subprocess.run(["mariadb", "--no-defaults", f"--socket={self.socket}", "--user=root", "--batch", "--skip-column-names",
                               "--execute", text], check=True, capture_output=True, text=True)
        return done.stdout.strip()

    def position(self):
        """Where the log ends here."""
        return int(self.run("SELECT position FROM tidings.tidings_writer"))

    def close(self):
        if self.process.poll() is None:
            self.stop()
        shutil.rmtree(self.directory, ignore_errors=True)


class Pair:
    """A primary, and a replica of it that may become the primary."""

    def __init__(self, template, count=2):
        self.relay, self.binlog = Relay(), Relay()
        self.databases = [Database(template, number) for number in range(1, count + 1)]
        self.primary = self.databases[0]
        self.relay.target = self.binlog.target = self.primary.socket
        self.primary.run("CREATE DATABASE tidings")
        if count > 1:
            self.spare.run(f"SET GLOBAL read_only=1; CHANGE MASTER TO MASTER_HOST='127.0.0.1', MASTER_PORT={self.binlog.port}, "
                           "MASTER_USER='root', MASTER_USE_GTID=slave_pos; START SLAVE")

    @property
    def spare(self):
        return next(one for one in self.databases if one is not self.primary)

    def url(self, user="plain"):
        return f"mysql://{user}@127.0.0.1:{self.relay.port}/tidings"

    def wait_for_spare(self):
        """Until the spare has what the primary had when this began."""
        gtid = self.primary.run("SELECT @@gtid_current_pos")
        assert self.spare.run(f"SELECT MASTER_GTID_WAIT('{gtid}', 20)") == "0"

    def promote(self, cut=True):
        """The spare becomes the primary, as it is."""
        self.spare.run("STOP SLAVE; RESET SLAVE ALL; SET GLOBAL read_only=0")
        self.primary = self.spare
        self.relay.target = self.primary.socket
        if cut:
            self.relay.cut()

    def close(self):
        self.relay.close()
        self.binlog.close()
        for one in self.databases:
            one.close()


def make_template():
    """An empty database server's directory, to be copied."""
    directory = Path(tempfile.mkdtemp(prefix="tf-"))
    with_mariadb.make(directory, OPTIONS)
    server = with_mariadb.start(directory, [*OPTIONS, "--skip-log-bin"])
    try:
        with_mariadb.wait_for(server, directory)
        subprocess.run(["mariadb", "--no-defaults", f"--socket={directory / 's'}", "--user=root", "--execute", PLAIN], check=True)
    finally:
        with_mariadb.stop(server)
    return directory


def wait_until_position(database, position):
    wait_until(lambda: database.position() >= position, f"the log at {position}")
