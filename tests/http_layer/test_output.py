# SPDX-License-Identifier: MIT
"""Answers that clients do not take, or not soon: who is cut, what is kept, what the kernel has of it."""

import time

import pytest

from conftest import HEAD, PATIENCE


def test_a_stalled_reader_is_cut(serve):
    server = serve(write_timeout_ms=300, output_max=100000000)
    server.connect(rcvbuf=4096).get("/big?20000000")
    server.wait_for(lambda c: c["write"] == 1)


def test_a_slow_reader_that_reads_is_served(serve):
    server = serve(write_timeout_ms=1000, output_max=100000000)
    client = server.connect(rcvbuf=65536).get("/big?8000000")
    end = time.monotonic() + 3
    status, headers = client.head()
    left = int(headers["content-length"]) - len(client.input)
    while left:
        data = client.sock.recv(min(left, 40000 if time.monotonic() < end else 1000000))
        assert data
        left -= len(data)
    assert server.counters()["write"] == 0


def test_a_reader_that_takes_too_little_is_cut(serve):
    """Any progress kept a connection alive."""
    server = serve(write_timeout_ms=500, write_rate_min=10000000, output_max=100000000)
    client = server.connect(rcvbuf=4096).get("/big?20000000")
    while server.counters()["write"] == 0 and client.more():
        pass
    assert server.counters()["write"] == 1 and len(client.input) > 10000


def kernel_output(server):
    """Bytes that the kernel has for the server's clients, and the sockets that nobody owns any more."""
    total = orphans = 0
    with open("/proc/net/tcp", encoding="ascii") as table:
        for line in table.readlines()[1:]:
            fields = line.split()
            if int(fields[1].split(":")[1], 16) == server.port:
                queued = int(fields[4].split(":")[0], 16)
                total += queued
                orphans += bool(queued and fields[9] == "0")
    return total, orphans


@pytest.mark.parametrize("how", ["close", "half-closed"])
def test_nothing_is_left_to_the_kernel(serve, how):
    """A connection closed with output in the kernel leaves it there, where no clock runs and nobody counts."""
    server = serve(linger_timeout_ms=200, write_timeout_ms=1500)
    clients = [server.connect(rcvbuf=4096) for _ in range(20)]
    for client in clients:
        client.get("/big?50000", *["Connection: close"] * (how == "close"))
        if how != "close":
            client.shut()
    while server.counters()["write"] + server.counters()["linger"] < 20:
        assert kernel_output(server)[1] == 0
    assert kernel_output(server) == (0, 0)
    assert server.counters()["write"] == 20


def test_a_client_that_has_closed_its_side_gets_all_of_its_answer(serve):
    server = serve(linger_timeout_ms=200)
    client = server.connect(rcvbuf=4096).get("/big?50000").shut()
    server.wait_for(lambda c: c["unsent"] > 10000)
    end = time.monotonic() + 1
    while time.monotonic() < end:
        server.counters()
    assert len(client.answer().body) == 50000
    assert client.ended() == b""


def test_unsent_bytes_in_all_are_limited(serve):
    """The kernel's part included: what does not fit is refused, until the slow have gone for it."""
    server = serve(unsent_max=1000000, threads=1, write_timeout_ms=60000)
    small = server.connect()
    while server.counters()["overloaded"] == 0:
        last = server.connect(rcvbuf=4096).get("/big?100000")
        assert small.get("/healthz").answer().status == 200
        assert server.counters()["unsent"] <= 1000000
    refused = last.answer()
    assert (refused.status, refused.headers["retry-after"]) == (503, "1")
    assert refused.json()["code"] == "overloaded" and "connection" not in refused.headers
    assert last.get("/healthz").answer().status == 200
    end = time.monotonic() + PATIENCE
    while server.ask("/big?100000").status == 503:
        assert time.monotonic() < end
    assert server.counters()["budget"] >= 1
    assert len(server.ask("/big?100000").body) == 100000


def test_a_refused_client_that_has_sent_more_must_wait(serve):
    """Each of its requests was carried out, and its answer thrown away."""
    server = serve(unsent_max=1000000, threads=1, write_timeout_ms=60000)
    while server.counters()["overloaded"] == 0:
        server.connect(rcvbuf=4096).get("/big?100000")
    before = server.counters()["requests"]
    greedy = server.connect(rcvbuf=4096).send("GET /big?100000 HTTP/1.1\r\nHost: t\r\n\r\n" * 100)
    counters = server.wait_for(lambda c: c["requests"] > before + 1)
    assert server.counters()["requests"] < before + 20
    assert greedy.head()[0] in (200, 503)
    assert counters["unsent"] <= 1000000


def test_the_kernel_takes_no_more_than_it_was_told(serve):
    server = serve()
    server.connect(rcvbuf=4096).get("/big?8000000")
    server.wait_for(lambda c: c["unsent"] > 7000000)
    assert 30000 < kernel_output(server)[0] < 300000


def test_what_is_no_reading_is_always_answered(serve):
    """Who has changed something must learn that it is so: others are cut for it."""
    server = serve(unsent_max=1000000, threads=1, write_timeout_ms=60000)
    clients = [server.connect(rcvbuf=4096) for _ in range(20)]
    for client in clients:
        client.send("POST /big?100000 HTTP/1.1\r\nHost: t\r\nContent-Length: 0\r\n\r\n")
        assert server.counters()["unsent"] <= 1000000
    counters = server.wait_for(lambda c: c["responses"] > 40)
    assert counters["overloaded"] == 0 and counters["budget"] >= 10


def lasting_bytes(n):
    return bytes(range(256)) * (n // 256) + bytes(range(n % 256))


def test_lasting_bodies_keep_their_place(serve):
    """They are sent from where they are, in turn with what is copied, deferred, refused or a stream."""
    server = serve()
    client = server.connect(rcvbuf=4096)
    client.get("/lasting?700000").get("/healthz").get("/lasting?5").get("/defer").get("/lasting?100001")
    client.get("/hold/a").get("/lasting?300000").get("/lasting?400000").get("/info")
    client.send("HEAD /lasting?500000 HTTP/1.1\r\nHost: t\r\n\r\n").get("/stream")
    assert client.answer().body == lasting_bytes(700000)
    assert client.answer().body == b"ok\n"
    assert client.answer().body == lasting_bytes(5)
    assert client.answer().body == b"/defer"
    assert client.answer().body == lasting_bytes(100001)
    server.wait_held(1)
    server.ask("/release/a")
    assert client.answer().body == b"/hold/a"
    assert client.answer().body == lasting_bytes(300000)
    assert client.answer().body == lasting_bytes(400000)
    assert client.answer().json()["path"] == "/info"
    assert client.answer(body=False).headers["content-length"] == "500000"
    assert client.head()[0] == 200
    assert client.until(b"\n\n") == b"data: hello\n\n"


def test_nothing_is_put_before_a_lasting_body_that_waits(serve):
    """One is being written, the next waits with its head, and what comes behind it is answered meanwhile."""
    server = serve(threads=1)
    client = server.connect(rcvbuf=4096)
    client.get("/hold/a").get("/lasting?900000").get("/hold/b").get("/lasting?800000").get("/hold/c").get("/hold/d")
    server.wait_held(4)
    for name in "dabc":
        assert server.ask(f"/release/{name}").body == b"1"
    server.wait_held(0)
    assert client.answer().body == b"/hold/a"
    assert client.answer().body == lasting_bytes(900000)
    assert client.answer().body == b"/hold/b"
    assert client.answer().body == lasting_bytes(800000)
    assert client.answer().body == b"/hold/c"
    assert client.answer().body == b"/hold/d"


def test_continue_waits_for_lasting_bodies(serve):
    server = serve(threads=1)
    client = server.connect(rcvbuf=4096).get("/hold/a").get("/lasting?900000").get("/lasting?900000").send(
        HEAD + "Expect: 100-continue\r\nContent-Length: 3\r\n\r\n")
    server.wait_held(1)
    server.ask("/release/a")
    assert client.answer().body == b"/hold/a"
    assert client.answer().body == lasting_bytes(900000)
    assert client.answer().body == lasting_bytes(900000)
    assert client.answer().status == 100
    assert client.send("abc").answer().json()["body"] == "abc"


def test_lasting_bodies_are_not_copied(serve):
    """However many wait, they cost what the kernel has of them."""
    server = serve(unsent_max=100000000)
    clients = [server.connect(rcvbuf=4096).get("/lasting?1000000") for _ in range(100)]
    counters = server.wait_for(lambda c: c["responses"] > 100)
    assert counters["unsent"] < 100 * 200000
    assert clients[0].answer().body == lasting_bytes(1000000)


def test_too_much_output_is_cut(serve):
    server = serve(output_max=100000)
    assert server.connect().get("/big?1000000").ended() == b""
    assert server.connect().get("/big?90000").answer().status == 200
    assert server.counters()["over_output"] == 1


def test_unread_answers_stop_the_reading(serve):
    """A client that only sends is held back, and costs no more than a few answers of memory."""
    server = serve(pipeline_max=1000, threads=1)
    client = server.connect(rcvbuf=4096)
    client.send("GET /big?100000 HTTP/1.1\r\nHost: t\r\n\r\n" * 200)
    for _ in range(200):
        assert len(client.answer().body) == 100000
    assert server.counters()["over_output"] == 0
