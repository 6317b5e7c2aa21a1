"""Moving in from other systems: their tables and keys, the bridge to the old application's keys, and what compares them. What runs the
program is shared with the tests over HTTP, what reaches the database with those of the cluster."""
import os
import sys

import pytest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, os.pardir, "cluster"), os.path.join(HERE, os.pardir, "http"),
                os.path.join(HERE, os.pardir, "facts")]

import bridging  # noqa: E402
from old_redis import Redis  # noqa: E402
from support.server import Server  # noqa: E402


@pytest.fixture
def redis():
    """The old application's, with nothing in it."""
    made = Redis()
    made.empty()
    yield made
    made.close()


@pytest.fixture
def make_servers():
    """Two, started, on a database that nobody else has."""
    made = []

    def make(**settings):
        settings = {"read_events": 1, "follow_burst": 1_000_000, **settings}
        first = Server(settings=settings)
        made.append(first)
        made.append(Server(data=first.data, settings=settings))
        return [one.start() for one in made]

    yield make
    for one in reversed(made):
        one.close()
    if made:
        made[0].verify()


@pytest.fixture
def start_bridge(redis, tmp_path):
    """Bridges, stopped after the test; each must have ended well."""
    made = []

    def start(server, *more, share="100%"):
        made.append(bridging.Bridge(server, share, more, tmp_path / f"bridge-{len(made)}"))
        return made[-1].start()

    yield start
    for one in made:
        one.stop()
