"""Clients that ask for much and take little: what waits for them is bounded in all, the kernel's part included, they are
cut, and others are answered as if they were not there."""
import http.client
import subprocess
import sys
import threading
import time
from os.path import dirname, join

import pytest

from support.metrics import scrape
from support.server import SANITIZED, wait_until

SLOW = join(dirname(__file__), "support", "slow_readers.py")
MIB = 1 << 20
LIMIT = 64 * MIB  # the default of http_unsent_max
SLACK = 48 * MIB  # what 500 connections cost besides, and what malloc does not give back
READERS, PIPELINED, BYTES_A_SECOND = 500, 16, 300


def get(path, bearer=None):
    return (f"GET {path} HTTP/1.1\r\nHost: t\r\n" + (f"Authorization: Bearer {bearer}\r\n" if bearer else "") + "\r\n").encode()


class SlowReaders:
    """A process with all of them."""

    def __init__(self, server, request, receive_buffer=0):
        self.process = subprocess.Popen(
            [sys.executable, SLOW, str(server.port), str(READERS), str(BYTES_A_SECOND), str(receive_buffer)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.process.stdin.write(request)
        self.process.stdin.close()

    def wait_sent(self):
        assert self.process.stdout.readline(), "the slow readers failed"

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.stdout.close()
        self.process.wait()


def kernel_bytes(port):
    """What the kernel has of the server's output. While sockets come and go it lists some of them twice."""
    end, by_client = f":{port:04X}", {}
    with open("/proc/net/tcp", encoding="ascii") as table:
        for line in table:
            _, local, remote, _, queues = line.split()[:5]
            if local.endswith(end):
                by_client[remote] = int(queues.split(":")[0], 16)
    return sum(by_client.values())


def ask_health(server):
    """How long it takes, on a new connection."""
    start = time.monotonic()
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)
    connection.request("GET", "/healthz")
    assert connection.getresponse().read() == b'{"status":"ok"}\n'
    connection.close()
    return time.monotonic() - start


class Watch(threading.Thread):
    """Asks for /healthz again and again and looks at the memory. What a server with nothing to do takes meanwhile is what
    the machine takes."""

    def __init__(self, server, idle):
        super().__init__()
        self.server, self.idle, self.ends = server, idle, threading.Event()
        self.before = server.rss_bytes()
        self.times, self.idle_times, self.memory, self.failure = [], [], [(0, 0)], None

    def run(self):
        try:
            while not self.ends.wait(0.01):
                self.times.append(ask_health(self.server))
                self.idle_times.append(ask_health(self.idle))
                if len(self.times) % 10 == 0:
                    self.memory.append((self.server.rss_bytes() - self.before, kernel_bytes(self.server.port)))
        except Exception as failure:  # pylint: disable=broad-except
            self.failure = failure

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *_):
        self.ends.set()
        self.join()

    def check(self, measure):
        assert self.failure is None, self.failure
        times, idle = sorted(self.times), sorted(self.idle_times)
        nearly_all = len(times) * 95 // 100
        own, kernel = max(pair[0] for pair in self.memory), max(pair[1] for pair in self.memory)
        both = max(map(sum, self.memory))
        measure(f"healthz p95 {times[nearly_all] * 1000:.1f} ms, worst {times[-1] * 1000:.1f} ms of {len(times)} (of an idle "
                f"server {idle[nearly_all] * 1000:.1f}, {idle[-1] * 1000:.1f}); memory +{own / MIB:.0f} MiB, in the kernel {kernel / MIB:.0f} MiB, together {both / MIB:.0f} MiB")
        if not SANITIZED:
            assert both < LIMIT + SLACK
            assert times[nearly_all] < idle[nearly_all] + 0.1 and times[-1] < idle[-1] + 1


def wait_cut(server):
    """Until nothing waits for anybody any more; how often what was cut. Who was only refused may stay."""
    def nothing_waits():
        metrics = scrape(server)
        return metrics if metrics.get("tidings_http_unsent") < 10_000 else None

    metrics = wait_until(nothing_waits, "the slow readers are cut")
    return {what: metrics.get("tidings_http_cut_total", what=what) for what in ("write", "budget")}


@pytest.fixture(name="servers")
def one_with_a_short_clock_and_an_idle_one(make_server):
    return make_server(settings={"http_write_timeout_ms": 3000, "access_log": 0}), make_server(settings={"access_log": 0})


def test_slow_readers_of_a_public_document(servers, measure):
    """They took 1.7 GB of kernel memory, and all stayed, since any progress counted."""
    server, idle = servers
    with server.client() as client:
        whole = client.request("GET", "/v1/openapi.json").body
    assert len(whole) > 100_000
    with Watch(server, idle) as watch, SlowReaders(server, get("/v1/openapi.json") * PIPELINED) as readers:
        readers.wait_sent()
        with server.client() as client:
            assert client.request("GET", "/v1/openapi.json").body == whole, "others get it"
        cut = wait_cut(server)
    watch.check(measure)
    assert cut["write"] + cut["budget"] == READERS


def test_slow_readers_of_pages(servers, measure):
    """Authenticated: every answer is made and kept for them, up to the limit."""
    server, idle = servers
    ann, bob = server.users(2)
    ann.follow(bob)
    publisher = server.service(bob.id)
    for i in range(100):
        publisher.publish(f"{i} " + "文" * 150, "字" * 500)
    page = f"/v1/inbox?limit=100&author_id={bob.id}"
    size = len(ann.send("GET", page).body)
    assert size > 40_000
    with Watch(server, idle) as watch, SlowReaders(server, get(page, ann.bearer) * PIPELINED) as readers:
        readers.wait_sent()
        wait_until(lambda: ann.send("GET", page).status == 200, "others get their pages")
        cut = wait_cut(server)
    watch.check(measure)
    refused = scrape(server).get("tidings_http_refused_total", code="overloaded")
    measure(f"{cut}, {refused:.0f} answers refused")
    assert cut["write"] + cut["budget"] > 100
    assert SANITIZED or cut["budget"] + refused > 0  # a slow server is cut short by the rate first


def test_slow_readers_of_streams(servers, measure):
    server, idle = servers
    ann, bob = server.users(2)
    ann.follow(bob)
    publisher = server.service(bob.id)
    status = server.admin()
    with Watch(server, idle) as watch, SlowReaders(server, get("/v1/stream", ann.bearer), receive_buffer=4096) as readers:
        readers.wait_sent()
        wait_until(lambda: status.get("/admin/status")["streams"] == READERS, "all are there")
        for i in range(2000):
            publisher.publish(f"{i} " + "文" * 150)
            if i % 10 == 0 and status.get("/admin/status")["streams"] < READERS / 10:
                break
        cut = wait_cut(server)
    watch.check(measure)
    measure(f"{cut} after {i + 1} posts")
    assert scrape(server).get("tidings_http_streams_slow_total") >= READERS * 9 / 10
    assert ann.badge() == i + 1
