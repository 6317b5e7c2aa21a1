"""Servers that share a log: a standby beside a lone server, and several on a log in MySQL. What runs the program is shared with
the tests over HTTP."""
import itertools
import os
import re
import shutil
import subprocess
import sys

import pytest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, os.pardir, "http")]

from support.server import Server, make_database, wait_until  # noqa: E402


numbers = itertools.count()


def pytest_addoption(parser):
    parser.addoption("--long", action="store_true", help="run the long tests, too")


def pytest_collection_modifyitems(config, items):
    """The long ones only with --long, and then they alone."""
    long = [item for item in items if item.get_closest_marker("long")]
    if long:
        others = [item for item in items if item not in long]
        config.hook.pytest_deselected(items=others if config.getoption("--long") else long)
        items[:] = long if config.getoption("--long") else others


def replica(server):
    return server.replica()


def wait_for_role(server, role, patience=30):
    wait_until(lambda: replica(server)["role"] == role, f"{role} at {server.port}", patience)


def writer_of(servers, patience=40):
    found = []

    def look():
        found[:] = [one for one in servers if replica(one)["role"] == "writer"]
        return found

    wait_until(look, "somebody makes changes", patience)
    return found[0]


def leave(server):
    """Nobody talks to it any more."""
    server.close_actors()
    server.actors.clear()


def wait_for_all(servers, patience=30):
    """Until all have the same."""
    wait_until(lambda: len({(one["position"], one["chain"]) for one in map(replica, servers)}) == 1, "all have the same", patience)


def url_of(server):
    return server.arguments[server.arguments.index("--mysql") + 1]


def sql(server, statement):
    """In the database that has the server's log; what it answers."""
    url = url_of(server)
    socket, database = re.search(r"socket=([^&]*)", url).group(1), re.search(r"/([a-z0-9_]+)\?", url).group(1)
    done = subprocess.run(["mariadb", "--no-defaults", f"--socket={socket}", "--user=root", "--skip-column-names", database,
                           "--execute", statement], check=True, capture_output=True, text=True)
    return done.stdout.strip()


def wait_for_rejoin(server, patience=60):
    """A server that closes its engine to join the log anew listens on another port then."""
    def listens_again():
        _, rejoins, after = server.log_text().rpartition("to join the log anew")
        found = rejoins and re.findall(r"listening on port (\d+)", after)
        return found and int(found[-1])

    server.port = wait_until(listens_again, "the server joins anew", patience)


@pytest.fixture
def make_server():
    made = []

    def make(**how):
        made.append(Server(**how))
        return made[-1]

    yield make
    for one in reversed(made):
        one.close()


@pytest.fixture
def make_servers(make_server):
    """So many, started, on a log in a database that nobody else has. `more`: further arguments of each."""
    def make(count, arguments=(), more=None, **how):
        url = make_database(f"replicas_{os.getpid()}_{next(numbers)}")
        servers = [make_server(arguments=["--mysql", url, "--freshness", "exact", *arguments, *own], **how)
                   for own in more or [[]] * count]
        for one in servers:
            one.start()
        return servers

    return make


@pytest.fixture
def make_standby(make_server):
    """A server that can be followed, and one that follows it."""

    def make(**how):
        first = make_server(arguments=["--peer-listen", "127.0.0.1:0"], **how).start()
        key = os.path.join(first.data, "peer.key")
        port = peer_port(first)
        second = make_server(arguments=["--follow", f"tidings://127.0.0.1:{port}", "--peer-listen", "127.0.0.1:0"], **how)
        shutil.copy(key, second.data)
        return first, second.start()

    return make


def peer_port(server):
    """Where it can be followed: the socket that it listens on besides the one for HTTP."""
    found = set()
    inodes = {os.readlink(f"/proc/{server.process.pid}/fd/{fd}") for fd in os.listdir(f"/proc/{server.process.pid}/fd")}
    with open("/proc/net/tcp", encoding="ascii") as file:
        for line in file.readlines()[1:]:
            fields = line.split()
            if fields[3] == "0A" and f"socket:[{fields[9]}]" in inodes:
                found.add(int(fields[1].split(":")[1], 16))
    return (found - {server.port}).pop()
