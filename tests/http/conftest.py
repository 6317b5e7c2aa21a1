"""Black-box tests of the program. Most share one server and take users of their own; what needs
other settings, stops or counts takes a server of its own from `make_server`. With TIDINGS_TEST_SERVERS the shared one is so
many on one log; what is only in the memory of one is asked of `one_server`."""
import os
import resource
import subprocess
import sys

import pytest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from support import engines  # noqa: E402
from support.contract import contract  # noqa: E402
from support.server import Server  # noqa: E402
from support.servers import COUNT, Servers  # noqa: E402


def pytest_addoption(parser):
    parser.addoption("--long", action="store_true", help="run the long tests, too")
    parser.addoption("--examples", type=int, default=None, help="schemathesis: examples per operation")


def pytest_configure():
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


def pytest_collection_modifyitems(config, items):
    engines.mark(items)
    if config.getoption("--long"):
        return
    long = [item for item in items if item.get_closest_marker("long")]
    if long:
        config.hook.pytest_deselected(items=long)
        items[:] = [item for item in items if item not in long]


def pytest_terminal_summary(terminalreporter):
    for line in measured:
        terminalreporter.write_line("measured: " + line)


measured = []


@pytest.fixture
def measure(request):
    """Notes a number for the summary."""
    return lambda text: measured.append(f"{request.node.name}: {text}")


@pytest.fixture(scope="session")
def shared_server():
    made = Servers(COUNT, settings={"follow_burst": 10000, "react_burst": 100000, "comment_burst": 10000}).start()
    yield made
    try:
        made.verify()
    finally:
        made.close()


@pytest.fixture
def server(shared_server):
    """One server for everything that does not disturb others; a test's connections end with it."""
    yield shared_server
    for actor in shared_server.actors:
        actor.close()
    shared_server.actors.clear()


@pytest.fixture
def one_server(server):
    """The same one for every request: for what a server has in its memory alone."""
    yield server.first
    server.first.close_actors()
    server.first.actors.clear()


@pytest.fixture
def make_server():
    """Servers of the test's own: make_server(settings={...}, ...), started."""
    made = []

    def make(**how):
        made.append(Server(**how))
        return made[-1].start()

    yield make
    failures = []
    for one in made:
        try:
            one.close()
        except AssertionError as error:
            failures.append(error)
    if failures:
        raise failures[0]


@pytest.fixture(scope="session")
def document():
    return contract.document


@pytest.fixture(scope="session")
def authority(tmp_path_factory):
    """A certificate authority of our own, and a server's certificate for 127.0.0.1 by it."""
    at = tmp_path_factory.mktemp("ca")

    def openssl(*arguments):
        subprocess.run(["openssl", *arguments], cwd=at, check=True, capture_output=True)

    openssl("req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", "ca.key", "-out", "ca.pem", "-days", "2",
            "-subj", "/CN=Test CA", "-addext", "basicConstraints=critical,CA:TRUE")
    openssl("req", "-newkey", "rsa:2048", "-nodes", "-keyout", "server.key", "-out", "server.csr", "-subj", "/CN=x")
    (at / "san").write_text("subjectAltName=IP:127.0.0.1\n")
    openssl("x509", "-req", "-in", "server.csr", "-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial", "-out",
            "server.pem", "-days", "2", "-extfile", "san")
    return at
