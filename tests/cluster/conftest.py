"""The cluster as a whole. What runs the program is shared with the tests over HTTP."""
import os
import sys

import pytest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, os.pardir, "http")]

from support.server import Server  # noqa: E402


def pytest_addoption(parser):
    parser.addoption("--long", action="store_true", help="run the long tests, too")


def pytest_collection_modifyitems(config, items):
    long = [item for item in items if item.get_closest_marker("long") and not config.getoption("--long")]
    config.hook.pytest_deselected(items=long)
    items[:] = [item for item in items if item not in long]


@pytest.fixture
def make_servers():
    """So many, started, on one database that nobody else has; verify finds nothing in it afterwards. What a test plants nobody mends
    unasked: they do not recount by themselves."""
    made = []

    def make(count, settings=None, **how):
        how["settings"] = {"reconcile_hours": 0, **(settings or {})}
        first = Server(**how)
        made.append(first)
        made.extend(Server(data=first.data, **how) for _ in range(count - 1))
        return [one.start() for one in made]

    yield make
    for one in reversed(made):
        one.close()
    if made:
        made[0].verify()
