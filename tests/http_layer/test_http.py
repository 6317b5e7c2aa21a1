# SPDX-License-Identifier: MIT
"""The HTTP layer over real sockets: semantics, pipelining, limits, aborts."""

import re
import select
import socket
import threading

import pytest

from conftest import HEAD, SMUGGLED, refusal

# ---- Semantics -----------------------------------------------------------------------------------


def test_an_answer_has_what_it_must(serve):
    answer = serve().connect().get("/healthz").answer()
    assert (answer.status, answer.body) == (200, b"ok\n")
    assert re.fullmatch(r"\w{3}, \d\d \w{3} \d{4} \d\d:\d\d:\d\d GMT", answer.headers["date"])
    assert re.fullmatch(r"[0-9a-f]{16}", answer.headers["x-request-id"])
    assert "connection" not in answer.headers


def test_the_handler_sees_the_request(serve):
    client = serve().connect()
    client.send("PATCH /info?a=1&b=%20? HTTP/1.1\r\nhOST: t:1\r\nx-test:  one \r\nX-Test: two\r\n"
                "Content-Length: 5\r\n\r\nhello")
    seen = client.answer().json()
    assert seen == {"method": "PATCH", "path": "/info", "query": "a=1&b=%20?", "host": "t:1",
                    "test": "one", "tests": 2, "body": "hello"}
    client.send("GET http://other:8/info? HTTP/1.1\r\nHost: t\r\n\r\n")
    seen = client.answer().json()
    assert (seen["path"], seen["query"], seen["body"]) == ("/info", "", "")
    assert client.send("\r\n").get("/info").answer().json()["query"] is None


def test_an_upgrade_is_ignored(serve):
    """As Java's HttpClient and curl --http2 offer it, also with a body; RFC 9110 lets one ignore it."""
    client = serve().connect()
    for offer in ("Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAEAAEAAAAIAAAAB",
                  "Connection: Upgrade\r\nUpgrade: websocket"):
        client.send(HEAD + offer + "\r\nContent-Length: 5\r\n\r\nhello" + SMUGGLED)
        answer = client.answer()
        assert answer.json()["body"] == "hello" and "upgrade" not in answer.headers
        assert client.answer().body == b"ok\n"


def test_chunk_extensions_and_trailers_are_ignored(serve):
    client = serve().connect()
    chunks = 'Transfer-Encoding: chunked\r\n\r\n5;a=b;c="d"\r\nhello\r\n0;e\r\nX-Test: late\r\nX: y\r\n\r\n'
    for pieces in ([HEAD + chunks + SMUGGLED], HEAD + chunks + SMUGGLED):
        for piece in pieces:
            client.send(piece)
        seen = client.answer().json()
        assert (seen["body"], seen["test"]) == ("hello", None), "a trailer is no header"
        assert client.answer().body == b"ok\n"


@pytest.mark.parametrize("many", ["1;" + "x" * 200 + "\r\ny\r\n", "0\r\n" + "X: y\r\n" * 5000],
                         ids=["extensions", "trailers"])
def test_chunk_extensions_and_trailers_are_bounded(serve, many):
    client = serve().connect().send(HEAD + "Transfer-Encoding: chunked\r\n\r\n")
    try:
        for _ in range(1000):
            client.send(many)
    except ConnectionError:
        pass
    assert refusal(client) == (413, "body_too_large")


def test_keep_alive_and_close(serve):
    server = serve()
    client = server.connect()
    for _ in range(3):
        assert client.get("/healthz").answer().status == 200
    answer = client.get("/healthz", "Connection: x, CLOSE").answer()
    assert answer.headers["connection"] == "close"
    assert client.ended() == b""
    client = server.connect().send("GET /healthz HTTP/1.0\r\n\r\n")
    assert client.answer().headers["connection"] == "close"
    assert client.ended() == b""
    client = server.connect()
    for _ in range(2):
        client.send("GET /healthz HTTP/1.0\r\nConnection: keep-alive\r\n\r\n")
        assert client.answer().headers["connection"] == "keep-alive"


@pytest.mark.parametrize("path", ["/healthz", "/defer"])
@pytest.mark.parametrize("last", ["GET {} HTTP/1.1\r\nHost: t\r\nConnection: close\r\n\r\n",
                                  "GET {} HTTP/1.0\r\n\r\n"], ids=["close", "1.0"])
def test_requests_behind_a_close_are_not_looked_at(serve, last, path):
    """Nobody will answer them, so nobody may act on them: they were handed over and their answers dropped."""
    server = serve()
    before = server.counters()["requests"]
    client = server.connect().send(last.format(path) + SMUGGLED * 3)
    assert client.answer().status == 200
    assert client.ended() == b""
    assert server.counters()["requests"] - before == 2  # this one, and the one that counts


def test_head_is_get_without_body(serve):
    client = serve().connect().send("HEAD /healthz HTTP/1.1\r\nHost: t\r\n\r\n").get("/healthz")
    answer = client.answer(body=False)
    assert (answer.status, answer.headers["content-length"]) == (200, "3")
    assert client.answer().body == b"ok\n"


def test_what_handlers_answer_is_theirs(serve):
    client = serve().connect()
    assert client.get("/none").answer().status == 404
    answer = client.get("/nothing").answer()
    assert answer.status == 204 and "content-length" not in answer.headers
    client.send("PROPFIND /info HTTP/1.1\r\nHost: t\r\n\r\n")
    assert client.answer().json()["method"] == "PROPFIND"
    assert client.send("OPTIONS * HTTP/1.1\r\nHost: t\r\n\r\n").answer().status == 404
    answer = client.get("/split").answer()
    assert answer.status == 500 and "set-cookie" not in answer.headers


def test_chunked_bodies(serve):
    client = serve().connect()
    client.send(HEAD + "Transfer-Encoding: Chunked\r\n\r\n5\r\nhello\r\n6\r\n world\r\n0\r\n\r\n"
                + SMUGGLED)
    assert client.answer().json()["body"] == "hello world"
    assert client.answer().body == b"ok\n"
    request = HEAD + "Transfer-Encoding: chunked\r\n\r\n1\r\na\r\n00a\r\n0123456789\r\n0\r\n\r\n"
    for byte in request:
        client.send(byte)
    assert client.answer().json()["body"] == "a0123456789"


def test_a_request_in_single_bytes(serve):
    client = serve().connect()
    for byte in HEAD + "Content-Length: 3\r\n\r\nabc":
        client.send(byte)
    assert client.answer().json()["body"] == "abc"


def test_expect_continue(serve):
    server = serve(body_max=1000)
    client = server.connect().send(HEAD + "Expect: 100-continue\r\nContent-Length: 3\r\n\r\n")
    assert client.answer().status == 100
    assert client.send("abc").answer().json()["body"] == "abc"
    client.send(HEAD + "Expect: 100-continue\r\nTransfer-Encoding: chunked\r\n\r\n")
    assert client.answer().status == 100
    assert client.send("3\r\nabc\r\n0\r\n\r\n").answer().json()["body"] == "abc"
    # Who does not wait needs no permission; who sends nothing neither.
    client.send(HEAD + "Expect: 100-continue\r\nContent-Length: 3\r\n\r\nabc")
    assert client.answer().status == 200
    client.send(HEAD + "Expect: 100-continue\r\nContent-Length: 0\r\n\r\n")
    assert client.answer().status == 200
    client.send(HEAD + "Expect: 100-continue\r\nContent-Length: 1001\r\n\r\n")
    assert client.answer().status == 413
    assert client.ended() == b""
    client = server.connect().send(HEAD + "Expect: tea\r\nContent-Length: 3\r\n\r\n")
    assert client.answer().status == 417


def test_expect_continue_waits_for_its_turn(serve):
    server = serve()
    client = server.connect().get("/hold/a").send(
        HEAD + "Expect: 100-continue\r\nContent-Length: 3\r\n\r\n")
    server.wait_held(1)
    server.ask("/release/a")
    assert client.answer().body == b"/hold/a"
    assert client.answer().status == 100
    assert client.send("abc").answer().json()["body"] == "abc"

# ---- Pipelining and deferred answers -------------------------------------------------------------


def test_pipelined_answers_keep_their_order(serve):
    server = serve()
    client = server.connect()
    client.get("/hold/a").get("/hold/b").get("/healthz").get("/defer").get("/hold/c")
    server.wait_held(3)
    for name in "cba":
        assert server.ask(f"/release/{name}").body == b"1"
    bodies = [client.answer().body for _ in range(5)]
    assert bodies == [b"/hold/a", b"/hold/b", b"ok\n", b"/defer", b"/hold/c"]


def test_many_pipelined_in_one_piece(serve):
    client = serve().connect()
    paths = ["/healthz", "/defer", "/info"] * 300
    client.send("".join(f"GET {path} HTTP/1.1\r\nHost: t\r\n\r\n" for path in paths))
    for path in paths:
        answer = client.answer()
        assert answer.status == 200
        assert {"/healthz": b"ok", "/defer": b"/d", "/info": b'{"'}[path] == answer.body[:2]


def test_a_full_pipeline_holds_back_the_client(serve):
    server = serve(pipeline_max=4, threads=1)
    client = server.connect()
    client.send("".join(f"GET /hold/{i} HTTP/1.1\r\nHost: t\r\n\r\n" for i in range(10)))
    server.wait_held(4)
    for i in range(10):
        assert int(server.ask("/held").body) == min(4, 10 - i)
        assert server.ask(f"/release/{i}").body == b"1"
        assert client.answer().body == f"/hold/{i}".encode()


def test_one_that_asks_for_much_does_not_keep_the_others_waiting(serve):
    """All that it had sent was done before anybody else was looked at."""
    server = serve(threads=1)
    spin = "GET /spin?4000 HTTP/1.1\r\nHost: t\r\n\r\n"
    greedy = [server.connect().send(spin * 100) for _ in range(3)]
    for _ in range(3):
        before = server.counters()["responses"]
        assert server.ask("/healthz").status == 200
        assert before < 150, "its answer came behind half of theirs"
    for client in greedy:
        for _ in range(100):
            assert client.answer().body == b"spun\n"


def test_wakeups_are_shared(serve):
    server = serve(threads=1, pipeline_max=1000)
    client = server.connect()
    client.send("GET /hold/x HTTP/1.1\r\nHost: t\r\n\r\n" * 500)
    server.wait_held(500)
    before = server.counters()["wakeups"]
    assert server.ask("/release/x").body == b"500"
    for _ in range(500):
        assert client.answer().status == 200
    assert server.counters()["wakeups"] - before < 250


def test_half_closed_clients_get_their_answers(serve):
    server = serve()
    client = server.connect().get("/hold/a").get("/healthz").shut()
    server.wait_held(1)
    server.ask("/release/a")
    assert client.answer().body == b"/hold/a"
    assert client.answer().body == b"ok\n"
    assert client.ended() == b""

# ---- Limits --------------------------------------------------------------------------------------


def test_head_limits_are_exact(serve):
    server = serve(head_max=1000, target_max=500, headers_max=10)
    head = "GET /healthz HTTP/1.1\r\nHost: t\r\nX: \r\n\r\n"
    fits = head.replace("X: ", "X: " + "x" * (1000 - len(head)))
    assert server.connect().send(fits).answer().status == 200
    assert refusal(server.connect().send(fits.replace("X: ", "X: x"))) == (431, "header_too_large")
    many = "GET / HTTP/1.1\r\n" + "X: y\r\n" * 200
    assert refusal(server.connect().send(many)) == (431, "header_too_large")
    assert refusal(server.connect().get("/", *["X: y"] * 10)) == (431, "header_too_large")
    assert server.connect().get("/" + "x" * 499).answer().status == 404
    assert refusal(server.connect().get("/" + "x" * 500)) == (414, "target_too_long")
    assert refusal(server.connect().send("GET /" + "x" * 5000)) == (414, "target_too_long")
    assert server.counters()["header_too_large"] == 3


def test_body_limits_are_exact(serve):
    server = serve(body_max=1000)
    body = "x" * 1000
    client = server.connect().send(HEAD + f"Content-Length: 1000\r\n\r\n{body}")
    assert client.answer().json()["body"] == body
    client.send(HEAD + f"Transfer-Encoding: chunked\r\n\r\n3e8\r\n{body}\r\n0\r\n\r\n")
    assert client.answer().json()["body"] == body
    assert refusal(client.send(HEAD + f"Content-Length: 1001\r\n\r\n{body}y"))[0] == 413
    client = server.connect().send(HEAD + f"Transfer-Encoding: chunked\r\n\r\n3e9\r\n{body}")
    assert refusal(client)[0] == 413
    client = server.connect().send(
        HEAD + "Transfer-Encoding: chunked\r\n\r\n" + "1\r\nx\r\n" * 1001)
    assert refusal(client)[0] == 413


def test_a_refused_upload_still_gets_its_answer(serve):
    """A server that closes with input unread resets the connection, and the answer may be lost."""
    server = serve()
    for _ in range(20):
        client = server.connect().send(HEAD + "Content-Length: 3000000\r\n\r\n")
        try:
            client.send("x" * 3000000)
        except ConnectionError:
            pass
        assert client.answer().status == 413


@pytest.mark.parametrize("sent", ["G", "GET / HTTP/1.1\r\nHost: t\r\n", "\r\n\r\nGET /"])
def test_a_slow_head_times_out(serve, sent):
    server = serve(head_timeout_ms=300)
    assert refusal(server.connect().send(sent)) == (408, "request_timeout")
    assert server.counters()["head"] == 1


def test_a_slow_head_is_not_saved_by_trickling(serve):
    client = serve(head_timeout_ms=500).connect().send("GET / HTTP/1.1\r\nX: ")
    while not select.select([client.sock], [], [], 0.02)[0]:
        client.send("x")
    assert client.answer().status == 408


def test_a_silent_connection_is_closed_without_a_word(serve):
    server = serve(head_timeout_ms=300)
    assert server.connect().ended() == b""
    client = serve(idle_timeout_ms=300).connect().get("/healthz")
    assert client.answer().status == 200
    assert client.ended() == b""


@pytest.mark.parametrize("framing", ["Content-Length: 5\r\n\r\nabc",
                                     "Transfer-Encoding: chunked\r\n\r\n5\r\nabc"])
def test_a_slow_body_times_out(serve, framing):
    server = serve(body_timeout_ms=300)
    assert refusal(server.connect().send(HEAD + framing)) == (408, "request_timeout")
    assert server.counters()["body"] == 1


def test_held_requests_do_not_time_out(serve):
    server = serve(head_timeout_ms=200, body_timeout_ms=200, idle_timeout_ms=200,
                   write_timeout_ms=200)
    client = server.connect().get("/hold/a")
    server.wait_held(1)
    silent = server.connect()
    assert silent.ended() == b""  # by now the clocks have run out for those they run for
    server.ask("/release/a")
    assert client.answer().body == b"/hold/a"


def test_connections_in_all_are_limited(serve):
    server = serve(connections_max=3, threads=1)
    clients = [server.connect().get("/healthz") for _ in range(3)]
    assert [client.answer().status for client in clients] == [200] * 3
    late = server.connect()
    assert late.answer().status == 503
    assert late.ended() == b""
    clients[0].close()
    while True:
        client = server.connect()
        try:
            client.get("/counters")
            answer = client.answer()
        except (AssertionError, ConnectionError):
            continue
        if answer.status == 200:
            break
    assert answer.json()["full_server"] >= 1


def test_connections_of_one_address_are_limited(serve):
    server = serve(connections_per_address=2)
    clients = [server.connect(source="127.0.0.2").get("/healthz") for _ in range(2)]
    assert [client.answer().status for client in clients] == [200] * 2
    assert server.connect(source="127.0.0.2").ended() == b""
    assert server.connect(source="127.0.0.3").get("/healthz").answer().status == 200
    clients[0].close()
    server.wait_for(lambda c: c["open"] == 3)  # this one, that one, and the one that asks
    assert server.connect(source="127.0.0.2").get("/healthz").answer().status == 200


def test_ipv6(serve):
    try:
        socket.create_server(("::1", 0), family=socket.AF_INET6).close()
    except OSError:
        pytest.skip("no IPv6 here")
    server = serve(host="[::1]", connections_per_address=5)
    assert server.connect().get("/healthz").answer().status == 200

# ---- Aborts --------------------------------------------------------------------------------------

POST = "POST /hold/x HTTP/1.1\r\nHost: t\r\nContent-Length: 10\r\n\r\n0123456789"
CHUNKED = ("POST /hold/x HTTP/1.1\r\nHost: t\r\nTransfer-Encoding: chunked\r\n\r\n"
           "5\r\n01234\r\n0\r\n\r\n")


@pytest.mark.parametrize("request_", [POST, CHUNKED])
@pytest.mark.parametrize("how", ["close", "reset"])
def test_clients_may_leave_at_every_byte(serve, request_, how):
    server = serve()
    for n in range(len(request_) + 1):
        client = server.connect().send(request_[:n])
        getattr(client, how)()
    # A client that only closed its side is owed an answer, so the last one stays until it has it.
    server.wait_for(lambda c: server.ask("/release/x") and c["open"] == 1
                    and c["accepted"] > len(request_))
    server.wait_held(0)
    assert server.connect().get("/healthz").answer().status == 200


def test_a_request_outlives_its_client(serve):
    server = serve()
    clients = [server.connect().get("/hold/x").get("/hold/x") for _ in range(10)]
    server.wait_held(20)
    for client in clients:
        client.reset()
    server.wait_for(lambda c: c["open"] == 1)
    assert server.ask("/release/x").body == b"20"
    server.wait_for(lambda c: c["aborted"] == 20)


def test_clients_may_leave_while_they_are_answered(serve):
    server = serve(output_max=100000000)
    for _ in range(10):
        client = server.connect(rcvbuf=4096).get("/big?5000000")
        client.exactly(1000)
        client.reset()
    server.wait_for(lambda c: c["open"] == 1)


def test_trickling_clients_do_not_hinder_good_ones(serve):
    server = serve(head_timeout_ms=4000)
    slow = [server.connect().send("GET /") for _ in range(2000)]
    done = threading.Event()
    cut = []

    def trickle():
        while not done.is_set():
            for client in slow:
                try:
                    client.send("x")
                except OSError:
                    cut.append(client)

    thread = threading.Thread(target=trickle)
    thread.start()
    try:
        good = server.connect()
        for _ in range(500):
            assert good.get("/healthz").answer().status == 200
            assert server.ask("/defer").status == 200
    finally:
        done.set()
        thread.join()
    for client in slow:
        assert not client.ended() or client.input.startswith(b"HTTP/1.1 408 ")
    assert server.counters()["head"] == 2000
