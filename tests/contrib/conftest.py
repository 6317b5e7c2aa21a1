"""What operators are given in contrib/. What runs the program is shared with the tests over HTTP."""
import os
import sys

import pytest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, os.pardir, "http")]

from support.server import Server  # noqa: E402


# Where there are none: what a server says of them it says then, too.
SERVICES = {"redis": "127.0.0.1:1", "kafka": "127.0.0.1:1"}


@pytest.fixture(scope="session")
def servers():
    """A server of each engine, by its name."""
    made = {}
    before = os.environ.get("TIDINGS_TEST_ENGINE", "local")
    try:
        for engine in ("local", "cluster"):
            os.environ["TIDINGS_TEST_ENGINE"] = engine
            made[engine] = Server(settings=SERVICES if engine == "cluster" else {})
            made[engine].start()
        yield made
    finally:
        os.environ["TIDINGS_TEST_ENGINE"] = before
        for server in made.values():
            server.close()
