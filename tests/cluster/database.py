"""The database server that tests/support/with-mariadb has started, as the tests reach it besides the program."""
import os
import re
import signal
import subprocess
from contextlib import contextmanager
from pathlib import Path

from support.server import where

SOCKET = Path(re.search(r"socket=(.*)", os.environ.get("TIDINGS_TEST_MYSQL", "socket=/none")).group(1))


def url_of(server):
    return where(server.data)[-1]


def name_of(server):
    return re.search(r"/(t_\w+)\?", url_of(server)).group(1)


def run(statement, database="", force=False):
    """Rows, as the client prints them. Forced, it goes on behind a statement that fails."""
    done = subprocess.run(["mariadb", "--no-defaults", f"--socket={SOCKET}", "--user=root", "--batch", "--skip-column-names",
                           *(["--force"] if force else []), "--execute", statement, database], capture_output=True, text=True,
                          check=not force)
    return done.stdout.splitlines()


@contextmanager
def silent():
    """It takes connections and statements, and answers nothing."""
    pid = int((SOCKET.parent / "pid").read_text())
    os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(pid, signal.SIGCONT)
