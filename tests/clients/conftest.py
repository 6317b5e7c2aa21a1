"""Clients of the API: generated ones, examples without, and the linters of the document they come from."""
import os
import sys

import pytest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "http"))

from support.server import Server  # noqa: E402
from support.tokens import token  # noqa: E402

import tools  # noqa: E402


@pytest.fixture
def server():
    """A server of its own, so that what a program prints does not depend on the programs before it."""
    made = Server().start()
    yield made
    made.close()


@pytest.fixture
def settings(server):
    """What the programs take from the environment: where the server is, and who they are."""
    made = {"API": f"http://127.0.0.1:{server.port}", "AUTHOR_ID": "7"}
    made["AUTHOR"], made["FAN"] = token(server.secret, 7), token(server.secret, 8)
    made["SERVICE"] = token(server.secret, 900, "service")
    return made


@pytest.fixture(scope="session")
def npm():
    """Where the packages of package.json are installed."""
    return tools.npm_packages()
