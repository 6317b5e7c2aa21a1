"""Moving in from other systems: their tables and keys, the bridge to the old application's keys, and what compares them. What runs the
program is shared with the tests over HTTP, several servers with those of replicas."""
import importlib.util
import os
import sys

import pytest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, os.pardir, "http"), os.path.join(HERE, os.pardir, "facts")]

_spec = importlib.util.spec_from_file_location("replicas", os.path.join(HERE, os.pardir, "replicas", "conftest.py"))
replicas = importlib.util.module_from_spec(_spec)
sys.modules["replicas"] = replicas
_spec.loader.exec_module(replicas)

make_server = replicas.make_server
pytest_addoption = replicas.pytest_addoption

import bridging  # noqa: E402
from old_redis import Redis  # noqa: E402
from support.server import Server, make_database  # noqa: E402


@pytest.fixture
def redis():
    """The old application's, with nothing in it."""
    made = Redis()
    made.empty()
    yield made
    made.close()


SETTINGS = {"read_events": 1, "follow_burst": 1_000_000}


@pytest.fixture
def make_lone():
    """A server on a directory that nobody else has, verified in the end."""
    made = []

    def make(**settings):
        made.append(Server(settings={**SETTINGS, **settings}))
        return made[-1].start()

    yield make
    for one in made:
        one.close_actors()
        if one.process.poll() is None:
            one.stop()
            one.verify()
        one.close()


@pytest.fixture
def make_three(make_server, redis):
    """Three servers on one log, all with the bridge's flags; no two at work."""
    def make(share="100%", **settings):
        url = make_database(f"legacy_{os.getpid()}_{next(replicas.numbers)}")
        servers = [make_server(settings={**SETTINGS, **settings},
                               arguments=["--mysql", url, "--freshness", "exact", *bridging.flags(redis, share)]) for _ in range(3)]
        return [one.start() for one in servers]

    return make


@pytest.fixture
def start_bridge(redis):
    """Of a lone server; the server goes on without it after the test."""
    made = []

    def start(server, *more, share="100%"):
        made.append(bridging.Bridge(server, share, more, redis))
        return made[-1].start()

    yield start
    for one in made:
        one.server.close_actors()
        one.stop()
