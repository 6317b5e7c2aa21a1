"""Those who go through a server's events for the outside: webhooks, Kafka, keys in Redis; on one server and on several. What runs
the servers is shared with the tests of replicas."""
import importlib.util
import os
import sys

import pytest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, os.pardir, "http")]

_spec = importlib.util.spec_from_file_location("replicas", os.path.join(HERE, os.pardir, "replicas", "conftest.py"))
replicas = importlib.util.module_from_spec(_spec)
sys.modules["replicas"] = replicas
_spec.loader.exec_module(replicas)

pytest.register_assert_rewrite("table_rows")

make_server, make_servers = replicas.make_server, replicas.make_servers
pytest_addoption = replicas.pytest_addoption

from support.server import wait_until  # noqa: E402


def writer_of(servers, patience=30):
    """Who makes changes; waits until somebody does."""
    found = []

    def look():
        found[:] = [one for one in servers if replicas.replica(one)["role"] == "writer"]
        return found

    wait_until(look, "somebody makes changes", patience)
    return found[0]
