"""What operators are given in contrib/. What runs the program is shared with the tests over HTTP."""
import os
import sys

import pytest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, os.pardir, "http")]

from support.server import Server  # noqa: E402


@pytest.fixture(scope="session")
def servers():
    """A server of each engine, by its name."""
    made = {}
    before = os.environ.get("TIDINGS_TEST_ENGINE", "local")
    try:
        for engine in ("local", "cluster"):
            os.environ["TIDINGS_TEST_ENGINE"] = engine
            made[engine] = Server()
            made[engine].start()
        yield made
    finally:
        os.environ["TIDINGS_TEST_ENGINE"] = before
        for server in made.values():
            server.close()
