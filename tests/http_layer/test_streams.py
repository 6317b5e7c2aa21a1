# SPDX-License-Identifier: MIT
"""The HTTP layer over real sockets: streams, and stopping."""

import threading

from conftest import HEAD, SMUGGLED

# ---- Streams -------------------------------------------------------------------------------------


def stream(client):
    client.get("/stream")
    status, headers = client.head()
    assert (status, headers["content-type"]) == (200, "text/event-stream")
    assert headers["connection"] == "close"
    assert "content-length" not in headers
    assert client.until(b"\n\n") == b"data: hello\n\n"
    return client


def publish(server, text):
    client = server.connect().send(
        f"POST /publish HTTP/1.1\r\nHost: t\r\nContent-Length: {len(text)}\r\n\r\n{text}")
    assert client.answer().body == b"published\n"
    client.close()


def test_streams_get_what_is_published(serve):
    server = serve()
    streams = [stream(server.connect()) for _ in range(50)]
    assert server.counters()["streams_open"] == 50
    for i in range(3):
        publish(server, f"data: {i}\n\n")
    for client in streams:
        for i in range(3):
            assert client.until(b"\n\n") == f"data: {i}\n\n".encode()
    for client in streams[:25]:
        client.close()
    server.wait_for(lambda c: c["streams_open"] == 25)
    assert server.connect().get("/endstreams").answer().status == 200
    for client in streams[25:]:
        assert client.ended() == b""
    assert server.counters()["streams_open"] == 0


def test_streams_beat_while_nothing_happens(serve):
    server = serve(heartbeat_ms=300, idle_timeout_ms=300, head_timeout_ms=300,
                   linger_timeout_ms=300)
    client = stream(server.connect())
    for _ in range(4):
        assert client.until(b"\n\n") == b":\n\n"
    publish(server, "data: x\n\n")
    client.until(b"data: x\n\n")


def test_a_stream_nobody_reads_is_cut(serve):
    server = serve(stream_output_max=65536)
    client = stream(server.connect(rcvbuf=4096))
    good = stream(server.connect())
    event = "data: " + "x" * 50000 + "\n\n"
    published = 0
    while server.counters()["streams_slow"] == 0:
        publish(server, event)
        published += 1
        assert published < 2000
        assert len(good.until(b"\n\n")) == len(event)
    client.ended()
    assert server.counters()["streams_open"] == 1


def test_a_stream_waits_for_its_turn(serve):
    server = serve()
    client = server.connect().get("/hold/a").get("/stream").get("/healthz")
    server.wait_held(1)
    server.wait_for(lambda c: c["streams_open"] == 1)
    publish(server, "data: early\n\n")
    server.ask("/release/a")
    assert client.answer().body == b"/hold/a"
    client.head()
    assert client.until(b"early\n\n") == b"data: hello\n\ndata: early\n\n"
    publish(server, "data: late\n\n")
    assert client.until(b"\n\n") == b"data: late\n\n"
    client = server.connect().get("/hold/a").get("/stream")
    server.wait_held(1)
    client.reset()
    server.wait_for(lambda c: c["streams_open"] == 1)
    server.ask("/release/a")


def test_what_comes_behind_a_stream_is_ignored(serve):
    server = serve()
    client = stream(server.connect())
    before = server.counters()["requests"]
    client.send(SMUGGLED * 100)
    publish(server, "data: x\n\n")
    assert client.until(b"\n\n") == b"data: x\n\n"
    assert server.counters()["requests"] - before == 2  # to publish, and to count


def test_head_of_a_stream_ends(serve):
    client = serve().connect().send("HEAD /stream HTTP/1.1\r\nHost: t\r\n\r\n")
    assert client.head()[0] == 200
    assert client.ended() == b""

# ---- Stopping ------------------------------------------------------------------------------------


def test_stopping_answers_what_is_under_way(serve):
    server = serve(threads=1)
    idle = server.connect().get("/healthz")
    assert idle.answer().status == 200
    held = [server.connect().get("/hold/x") for _ in range(20)]
    server.wait_held(20)
    begun = server.connect().send("GET /release/x HTTP/1.1\r\nHost: t\r\n")
    streams = [stream(server.connect()) for _ in range(5)]
    server.ask("/held")  # one loop: what was sent before has been read when this is answered
    server.signal_stop()
    assert idle.ended() == b""
    for client in streams:
        assert client.ended() == b""
    assert begun.send("\r\n").answer().body == b"20"
    for client in held:
        answer = client.answer()
        assert (answer.body, answer.headers["connection"]) == (b"/hold/x", "close")
        assert client.ended() == b""
    assert server.wait_stop() == 0


def test_stopping_answers_every_pipelined_request(serve):
    server = serve(threads=1)
    idle = server.connect().get("/healthz")
    assert idle.answer().status == 200
    client = server.connect().get("/hold/a").get("/hold/b").get("/hold/c")
    server.wait_held(3)
    begun = [server.connect().send(f"GET /release/{name} HTTP/1.1\r\nHost: t\r\n")
             for name in "bac"]
    server.ask("/held")  # one loop: what was sent before has been read when this is answered
    server.signal_stop()
    assert idle.ended() == b""
    for other in begun:
        assert other.send("\r\n").answer().body == b"1"
    answers = [client.answer() for _ in range(3)]
    assert [answer.body for answer in answers] == [b"/hold/a", b"/hold/b", b"/hold/c"]
    assert ["connection" in answer.headers for answer in answers] == [False, False, True]
    assert server.wait_stop() == 0


def test_stopping_has_a_deadline(serve):
    server = serve(stop_ms=300)
    held = [server.connect().get("/hold/x") for _ in range(7)]
    server.wait_held(7)
    slow = server.connect().send("GET /")
    server.signal_stop()
    assert server.wait_stop() == 7
    for client in held + [slow]:
        assert client.ended() == b""


def test_stopping_under_load_cuts_no_answer_in_two(serve):
    server = serve()
    counts = []
    failures = []

    def load(path):
        done = 0
        try:
            client = server.connect()
            while True:
                try:
                    client.get(path)
                except ConnectionError:
                    break
                if not client.input and not client.more():
                    break  # closed between two answers: the client would ask again elsewhere
                answer = client.answer()
                assert answer.status == 200
                done += 1
                if "connection" in answer.headers:
                    assert client.ended() == b""
                    break
        except BaseException as failure:
            failures.append(failure)
        counts.append(done)

    threads = [threading.Thread(target=load, args=(path,))
               for path in ["/healthz", "/defer", "/big?70000"] * 8]
    for thread in threads:
        thread.start()
    server.wait_for(lambda c: c["responses"] > 2000)
    server.signal_stop()
    for thread in threads:
        thread.join()
    assert not failures
    assert server.wait_stop() == 0
    assert sum(counts) > 1000  # the others were questions for the counters
