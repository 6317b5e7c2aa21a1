"""A backup of the database as docs/operations/cluster.md makes it, while a server writes: what is restored of it contradicts itself nowhere."""
import os
import re
import subprocess
import threading
from pathlib import Path

import database
from support.server import BIN, tidings, wait_until

ROOT = Path(__file__).resolve().parents[2]
TOOLS = Path(BIN).resolve().parent / "contrib-tools" / "mariadb-client"


def dump_command():
    """As the document has it, of this server and a database."""
    text = (ROOT / "docs" / "operations" / "cluster.md").read_text()
    flags = re.search(r"^    mariadb-dump ((?:--[\w-]+ )+)tidings > ", text, re.MULTILINE).group(1).split()
    subprocess.run([ROOT / "scripts" / "fetch-package", "mariadb-client", TOOLS], check=True)
    return [TOOLS / "usr" / "bin" / "mariadb-dump", "--no-defaults", f"--socket={database.SOCKET}", "--user=root", *flags]


class Writer:
    """Follows, publishes, reads and likes until it is stopped."""

    def __init__(self, server):
        self.author, self.fan = server.user(), server.user()
        self.fan.follow(self.author)
        self.stopped, self.failure, self.posts = threading.Event(), None, 0
        self.thread = threading.Thread(target=self.write)
        self.thread.start()

    def write(self):
        try:
            while not self.stopped.is_set():
                post = self.author.publish()["id"]
                self.fan.open(post)
                self.fan.react(f"/posts/{post}/like")
                self.posts += 1
        except Exception as error:  # told by whoever stops it
            self.failure = error

    def stop(self):
        self.stopped.set()
        self.thread.join()
        if self.failure:
            raise self.failure


def test_what_is_restored_of_a_dump_has_no_difference(make_servers, tmp_path):
    (server,) = make_servers(1)
    writer = Writer(server)
    dump = tmp_path / "tidings.sql"
    try:
        wait_until(lambda: writer.posts >= 20 or writer.failure, "something is there")
        with dump.open("wb") as out:
            subprocess.run([*map(os.fspath, dump_command()), database.name_of(server)], stdout=out, check=True)
        before = writer.posts
        wait_until(lambda: writer.posts > before or writer.failure, "it went on")
    finally:
        writer.stop()

    name = database.name_of(server) + "_restored"
    url = database.url_of(server).replace(database.name_of(server), name)
    database.run(f"CREATE DATABASE {name}")
    with dump.open("rb") as source:
        subprocess.run(["mariadb", "--no-defaults", f"--socket={database.SOCKET}", "--user=root", name], stdin=source, check=True)
    assert tidings("cluster", "init", "--mysql", url).returncode == 0
    done = tidings("verify", "--engine", "cluster", "--mysql", url)
    assert done.returncode == 0 and " 0 differences, " in done.stdout, done.stdout + done.stderr
    rows = [int(database.run("SELECT COUNT(*) FROM post", one)[0]) for one in (name, database.name_of(server))]
    assert 20 <= rows[0] < rows[1], "of a moment in between"
