"""A commit that the network held for longer than its mark in Redis stood. Afterwards a badge lacked a change that had been
acknowledged."""
import os
import re
import sys
import urllib.request
from pathlib import Path

import pytest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from history import Caller  # noqa: E402
from services import Cluster, wait_until  # noqa: E402

ANN, BEN = 1, 2
KEY = {"Idempotency-Key": "once"}


@pytest.fixture
def cluster(tmp_path):
    made = Cluster(Path(tmp_path), count=2, redis=1, deadline_ms=1000)
    yield made
    made.close()


class Client(Caller):
    def ask(self, server, user, method, path, body=None, headers=()):
        status, answer, _ = self.send(server, user, method, path, body, headers)
        return status, answer

    def badge(self, server, headers=()):
        status, answer = self.ask(server, ANN, "GET", "/v1/inbox/badge", None, headers)
        return status == 200 and answer["total"]

    def recalled(self, server):
        with urllib.request.urlopen(f"http://127.0.0.1:{self.ports[server]}/metrics", timeout=30) as answer:
            return int(re.search(r"^tidings_cluster_badges_recalled_total (\d+)", answer.read().decode(), re.MULTILINE).group(1))

    def remembers(self, server):
        """Whether the next badge is answered without the database."""
        before = self.recalled(server)
        self.badge(server)
        return self.recalled(server) > before


def test_a_commit_that_comes_after_its_mark_has_gone_is_refused(cluster):
    client = Client([server.port for server in cluster.servers], patience=30)
    client.ask(0, ANN, "POST", "/v1/relation/follow", {"user_id": BEN})
    posts = [client.ask(0, BEN, "POST", "/v1/posts", {"kind": "note", "title": "t", "body": "b"})[1]["id"] for _ in range(2)]
    wait_until(lambda: client.remembers(1), "servers remember")
    mark = ("POST", "/v1/inbox/mark-read", {"post_ids": posts[:1]}, KEY)

    cluster.links.set("mysql-0", "commits")
    status, answer = client.ask(0, ANN, *mark)
    assert (status, answer["code"]) == (503, "uncertain")
    wait_until(lambda: client.remembers(1), "the mark has gone")
    assert client.badge(1) == 2
    cluster.links.set("mysql-0", "pass")

    wait_until(lambda: client.ask(1, ANN, *mark)[0] == 200, "the repeat is answered")
    assert client.badge(1) == 1
    assert client.badge(1, {"Tidings-Freshness": "exact"}) == 1
    client.close()
