"""What operators are given in contrib/. What runs the program is shared with the tests over HTTP."""
import os
import sys

import pytest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, os.pardir, "http")]

from support.metrics import scrape  # noqa: E402
from support.server import Server, make_database, wait_until  # noqa: E402

# Where there are none: what a server says of them it says then, too.
SERVICES = {"redis": "127.0.0.1:1", "kafka": "127.0.0.1:1"}


@pytest.fixture(scope="session")
def servers():
    """By a name: a lone server; and two on a log in MySQL, the writer first."""
    made = []

    def make(*arguments):
        made.append(Server(settings=SERVICES, arguments=arguments))
        return made[-1].start()

    try:
        log = ["--mysql", make_database(f"contrib_{os.getpid()}")]
        found = {"lone": [make()], "replicas": [make(*log), make(*log)]}
        wait_until(lambda: scrape(found["replicas"][0]).samples.get(("tidings_replica_writer", ())) == 1, "the first one makes changes")
        yield found
    finally:
        for server in made:
            server.close()
