"""The load generator does what it says against the real server; the numbers themselves are for `make bench`."""
import json
import os
import signal
import subprocess
import threading
import time

import pytest

from support.metrics import scrape
from support.server import BIN, SECRET, tidings

LOAD = os.environ.get("TIDINGS_LOAD", os.path.join(os.path.dirname(os.path.abspath(BIN)), "bench/load/tidings-load"))
USERS = 23
ALL = "badge=9,first=5,older=3,unread=3,mark=2,like=2,publish=1,follow=2,following=1,counters=1,path=1"


@pytest.fixture(name="server")
def small_community(make_server, tmp_path):
    done = tidings("bench-engine", "--data", str(tmp_path / "data"), "--users", str(USERS), "--followed", "20", "--posts", "10",
                   "--fans", "50", "--comments", "1", "--fill-only", timeout=120)
    assert done.returncode == 0, done.stderr
    return make_server(data=str(tmp_path / "data"), settings={"follow_burst": 1000000, "react_burst": 1000000})


def run(server, *arguments, status=0):
    done = subprocess.run([LOAD, "--port", str(server.port), "--users", str(USERS), *arguments], capture_output=True,
                          text=True, timeout=120, check=False, env={"TIDINGS_JWT_SECRET": SECRET})
    assert done.returncode == status, done.stderr
    return json.loads(done.stdout) if done.stdout else None


def test_every_kind_of_request_is_answered(server):
    result = run(server, "--mix", ALL, "--seconds", "1", "--connections", "8", "--pid", str(server.process.pid))
    assert set(result["statuses"]) == {"200", "201"}, result["statuses"]
    assert set(result["latency_us"]) == {"all"} | {part.split("=")[0] for part in ALL.split(",")}
    assert result["done"] == sum(result["statuses"].values()) == result["latency_us"]["all"]["n"]
    times = result["latency_us"]["all"]
    assert 0 < times["p50"] <= times["p99"] <= times["p999"] <= times["max"]
    assert 0 < result["cpu_share"] <= 1.1
    assert result["server_cpu_us"] >= 0


def test_marks_are_real_and_end_when_nothing_is_unread(server):
    result = run(server, "--mix", "mark=1", "--items", "300", "--warm-up", "0", "--seconds", "60", "--connections", "4")
    assert result["exhausted"] and result["statuses"] == {"200": 300}
    assert result["seconds"] < 60
    assert scrape(server).get("tidings_requests_total", operation="markRead", status="200") == 300


def test_a_fixed_rate_is_kept(server):
    result = run(server, "--mix", "badge=1", "--rate", "200", "--seconds", "2", "--connections", "4")
    assert 390 <= result["done"] + result["overdue"] <= 402


def test_a_stall_counts_for_everybody_who_would_have_come(server):
    """A hundred requests are due while the server stands still; a closed loop would have seen one slow one."""
    def stall():
        time.sleep(1.5)
        server.process.send_signal(signal.SIGSTOP)
        time.sleep(1)
        server.process.send_signal(signal.SIGCONT)

    thread = threading.Thread(target=stall)
    thread.start()
    try:
        result = run(server, "--mix", "badge=1", "--rate", "100", "--seconds", "4", "--connections", "1")
    finally:
        thread.join()
    assert result["latency_us"]["all"]["p90"] > 200_000
    assert result["latency_us"]["all"]["max"] > 900_000


def test_publishing_until_the_last_fan_sees_it(server):
    author = USERS + 50 + 1
    result = run(server, "--publish-to", "50", "--author", str(author), "--last-fan", str(author - 1), "--times", "3")
    assert len(result["us"]) == 3 and all(us > 0 for us in result["us"])


@pytest.fixture(name="live")
def small_audience(make_server, tmp_path):
    """Everybody follows the authors 1 and 2; 30 others are left to listen."""
    done = tidings("bench-engine", "--data", str(tmp_path / "data"), "--users", "32", "--authors", "2", "--followed", "2", "--posts",
                   "3", "--fans", "1", "--comments", "1", "--fill-only", timeout=120)
    assert done.returncode == 0, done.stderr
    return make_server(data=str(tmp_path / "data"))


STREAMS = ("--streams", "30", "--followed", "2", "--seconds", "0.5")


def test_every_post_reaches_every_stream(live):
    result = run(live, *STREAMS)
    single, many = result["one_by_one"], result["back_to_back"]
    published = scrape(live).get("tidings_requests_total", operation="publish", status="201")
    assert many["told_us"]["n"] == many["posts"]
    assert single["told_us"]["n"] + many["posts"] == published
    assert 0 < single["told_us"]["p50"] <= single["told_us"]["p95"] <= single["told_us"]["max"]
    assert single["told_us"]["mean"] <= single["settled_us"]["mean"]
    assert many["per_second"] == pytest.approx(many["posts"] / many["seconds"], rel=0.01)
    assert 0 < many["badges_per_post"] <= 1


def test_a_stream_that_misses_a_post_fails_the_run(live):
    live.user(17).unfollow(live.user(1))
    done = subprocess.run([LOAD, "--port", str(live.port), *STREAMS, "--patience", "1"], capture_output=True, text=True,
                          timeout=60, check=False, env={"TIDINGS_JWT_SECRET": SECRET})
    assert done.returncode == 3 and "not every stream was told of every post" in done.stderr


def test_what_is_refused_fails_the_run(server):
    assert run(server, "--mix", "nonsense=1", status=2) is None
    done = subprocess.run([LOAD, "--port", str(server.port), "--mix", "mark=1", "--seconds", "1"], capture_output=True, text=True,
                          timeout=60, check=False, env={"TIDINGS_JWT_SECRET": "another secret, just as long as the other"})
    assert done.returncode == 3 and "refused" in done.stderr
