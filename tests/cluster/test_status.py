"""What operators see of a cluster: the status of a server, its readiness and metrics, and the command."""
import json
import time

import database
import pytest
from support.metrics import scrape
from support.server import tidings, wait_until

SILENT_S = 3  # without an answer for so long, the database cannot be used


def cluster_of(server):
    status = server.admin().get("/admin/status")
    assert status["engine"] == "cluster"
    return status["cluster"]


def ready(server):
    with server.client() as client:
        answer = client.request("GET", "/readyz")
        return answer.status, answer.json.get("code")


def test_every_server_knows_the_others_and_itself(make_servers):
    first, second = make_servers(2)
    wait_until(lambda: len(cluster_of(first)["servers"]) == 2, "the second was seen")
    here, there = cluster_of(first), cluster_of(second)
    assert [row["slot"] for row in here["servers"]] == [row["slot"] for row in there["servers"]] == [0, 1]
    assert [row["own"] for row in here["servers"]] == [True, False]
    assert [row["own"] for row in there["servers"]] == [False, True]
    assert all(row["running"] and row["seen_ms_ago"] < 10_000 for row in here["servers"])
    assert here["mysql"]["reachable"] and "MariaDB" in here["mysql"]["version"] and here["mysql"]["round_trip_us"] > 0
    assert here["queues"]["lanes"] and not any(here["queues"]["lanes"]) and here["queues"]["readers"] == 0


def test_who_has_stopped_is_gone_and_who_was_killed_is_silent(make_servers):
    first, second, third = make_servers(3)
    wait_until(lambda: len(cluster_of(first)["servers"]) == 3, "all were seen")
    second.stop()
    third.kill()
    database.run("UPDATE server SET seen_at = seen_at - INTERVAL 1 MINUTE WHERE slot = 2", database.name_of(first))
    wait_until(lambda: [(row["slot"], row["running"]) for row in cluster_of(first)["servers"]] == [(0, True), (2, False)],
               "one is gone, one is silent")


def test_news_of_others_are_followed(make_servers):
    first, second = make_servers(2)
    before = cluster_of(first)["news"]["position"]
    ann = second.user()
    for _ in range(5):
        ann.publish()
    wait_until(lambda: cluster_of(first)["news"]["position"] > before, "they are known")
    wait_until(lambda: cluster_of(first)["news"]["lag"] == 0 and cluster_of(first)["news"]["lag_ms"] == 0, "they are told")


def test_ready_while_the_database_can_be_used(make_servers):
    (server,) = make_servers(1)
    assert ready(server) == (200, None)
    with database.silent():
        began = time.monotonic()
        wait_until(lambda: ready(server) == (503, "unreachable"), "not ready")
        assert time.monotonic() - began >= SILENT_S - 1, "not because of one slow answer"
        mysql = cluster_of(server)["mysql"]
        assert not mysql["reachable"] and mysql["answered_ms_ago"] >= SILENT_S * 1000
    wait_until(lambda: ready(server) == (200, None), "ready again, and nobody did anything")


def test_metrics_say_the_same(make_servers):
    first, _second = make_servers(2)
    wait_until(lambda: scrape(first).get("tidings_cluster_servers") == 2, "both are counted")
    metrics = scrape(first)
    assert metrics.get("tidings_cluster_mysql_up") == 1
    assert 0 < metrics.get("tidings_cluster_mysql_round_trip_seconds") < 10
    assert metrics.get("tidings_cluster_news_position") >= 1
    assert {dict(labels)["queue"] for name, labels in metrics.samples if name == "tidings_cluster_queue"} == {
        "lane-0", "lane-1", "readers"}


def test_the_command_tells_what_the_database_knows(make_servers):
    first, _second = make_servers(2)
    first.user().publish()
    done = tidings("cluster", "status", "--mysql", database.url_of(first), "--json")
    assert done.returncode == 0, done.stderr
    status = json.loads(done.stdout)
    assert [row["slot"] for row in status["servers"]] == [0, 1] and all(row["running"] for row in status["servers"])
    assert "MariaDB" in status["mysql"]["version"] and status["tables"] > 0 and status["position"] > 1
    text = tidings("cluster", "status", "--mysql", database.url_of(first)).stdout
    assert status["mysql"]["version"] in text and f"position   {status['position']}\n" in text
    assert text.count("running, seen ") == 2


@pytest.mark.parametrize("action", [["status"], ["show", "user", "1"]])
def test_a_database_without_tables_or_without_a_server_exits_3(action):
    done = tidings("cluster", *action, "--mysql", f"mysql://root@localhost/nothing?socket={database.SOCKET}")
    assert done.returncode == 3 and "nothing" in done.stderr and not done.stdout
    done = tidings("cluster", *action, "--mysql", "mysql://root@localhost/nothing?socket=/dev/null/s")
    assert done.returncode == 3 and done.stderr and not done.stdout
