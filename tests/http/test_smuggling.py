"""Requests that two servers would read differently are refused by the real program, and the
connection is closed: nothing behind them is ever looked at."""
import pytest

from support.client import connect, exchange, read_answers
from support.contract import contract

SECOND = b"GET /healthz HTTP/1.1\r\nHost: t\r\n\r\n"  # the smuggled one: must never be answered


def post(server, *lines, body=b"", path=b"/v1/posts"):
    bearer = server.bearer.encode()
    head = [b"POST " + path + b" HTTP/1.1", b"Host: t", b"Authorization: Bearer " + bearer, *lines]
    return b"\r\n".join(head) + b"\r\n\r\n" + body


GOOD = b'{"kind":"note","title":"t"}'
CHUNKED = b"Transfer-Encoding: chunked"
LENGTH = b"Content-Length: %d" % len(GOOD)
ONE = b"1b\r\n" + GOOD + b"\r\n0\r\n\r\n"

FRAMING = {
    "CL and TE": ([LENGTH, CHUNKED], ONE),
    "TE and CL": ([CHUNKED, b"Content-Length: 4"], ONE),
    "CL 0 and TE": ([b"Content-Length: 0", CHUNKED], ONE),
    "two CL": ([LENGTH, LENGTH], GOOD),
    "two different CL": ([LENGTH, b"Content-Length: 0"], GOOD),
    "CL list": ([b"Content-Length: 27, 27"], GOOD),
    "CL +": ([b"Content-Length: +27"], GOOD),
    "CL -": ([b"Content-Length: -27"], GOOD),
    "CL hex": ([b"Content-Length: 0x1b"], GOOD),
    "CL float": ([b"Content-Length: 27.0"], GOOD),
    "CL empty": ([b"Content-Length:"], GOOD),
    "CL spaces": ([b"Content-Length: 2 7"], GOOD),
    "CL huge": ([b"Content-Length: 18446744073709551643"], GOOD),
    "CL text": ([b"Content-Length: abc"], GOOD),
    "CL under_score": ([b"Content_Length: 27", b"Content-Length: 27x"], GOOD),
    "TE twice": ([CHUNKED, CHUNKED], ONE),
    "TE list": ([b"Transfer-Encoding: chunked, chunked"], ONE),
    "TE identity": ([b"Transfer-Encoding: identity"], GOOD),
    "TE gzip chunked": ([b"Transfer-Encoding: gzip, chunked"], ONE),
    "TE chunked gzip": ([b"Transfer-Encoding: chunked, gzip"], ONE),
    "TE xchunked": ([b"Transfer-Encoding: xchunked"], ONE),
    "TE quoted": ([b"Transfer-Encoding: \"chunked\""], ONE),
    "TE empty": ([b"Transfer-Encoding:"], ONE),
    "TE space before colon": ([b"Transfer-Encoding : chunked"], ONE),
    "CL space before colon": ([b"Content-Length : 27"], GOOD),
    "TE tab before colon": ([b"Transfer-Encoding\t: chunked"], ONE),
    "TE folded": ([b"Transfer-Encoding:\r\n chunked"], ONE),
    "folded": ([LENGTH, b"X-Folded: a\r\n b"], GOOD),
    "folded with tab": ([LENGTH, b"X-Folded: a\r\n\tb"], GOOD),
    "folded first": ([b" X: y", LENGTH], GOOD),
    "bare LF in a header": ([b"X: a\nTransfer-Encoding: chunked", LENGTH], GOOD),
    "bare CR in a header": ([b"X: a\rTransfer-Encoding: chunked", LENGTH], GOOD),
    "NUL in a header": ([b"X: a\0b", LENGTH], GOOD),
    "control in a header": ([b"X: a\x01b", LENGTH], GOOD),
    "no colon": ([b"Transfer-Encoding chunked", LENGTH], GOOD),
    "empty name": ([b": x", LENGTH], GOOD),
    "name with a space": ([b"X Y: z", LENGTH], GOOD),
    "chunk size +": ([CHUNKED], b"+1b\r\n" + GOOD + b"\r\n0\r\n\r\n"),
    "chunk size -": ([CHUNKED], b"-1b\r\n" + GOOD + b"\r\n0\r\n\r\n"),
    "chunk size 0x": ([CHUNKED], b"0x1b\r\n" + GOOD + b"\r\n0\r\n\r\n"),
    "chunk size huge": ([CHUNKED], b"FFFFFFFFFFFFFFFF\r\n" + GOOD + b"\r\n0\r\n\r\n"),
    "chunk size wraps": ([CHUNKED], b"1000000000000001b\r\n" + GOOD + b"\r\n0\r\n\r\n"),
    "chunk size empty": ([CHUNKED], b"\r\n" + GOOD + b"\r\n0\r\n\r\n"),
    "chunk size spaced": ([CHUNKED], b" 1b\r\n" + GOOD + b"\r\n0\r\n\r\n"),
    "chunk bare LF": ([CHUNKED], b"1b\n" + GOOD + b"\r\n0\r\n\r\n"),
    "chunk end bare LF": ([CHUNKED], b"1b\r\n" + GOOD + b"\n0\r\n\r\n"),
    "chunk too long": ([CHUNKED], b"1a\r\n" + GOOD + b"\r\n0\r\n\r\n"),
    "chunk too short": ([CHUNKED], b"1c\r\n" + GOOD + b"\r\n0\r\n\r\n"),
    "chunk extension with LF": ([CHUNKED], b"1b;x=\n\r\n" + GOOD + b"\r\n0\r\n\r\n"),
    "chunk extension with CR": ([CHUNKED], b"1b;x=\r1\r\n" + GOOD + b"\r\n0\r\n\r\n"),
    "chunk extension with NUL": ([CHUNKED], b"1b;x=\0\r\n" + GOOD + b"\r\n0\r\n\r\n"),
    "chunk extension with no end": ([CHUNKED], b"1b;" + b"x" * 20000 + b"\r\n" + GOOD + b"\r\n0\r\n\r\n"),
    "chunk extension without semicolon": ([CHUNKED], b"1b x=1\r\n" + GOOD + b"\r\n0\r\n\r\n"),
    "trailers with no end": ([CHUNKED], b"1b\r\n" + GOOD + b"\r\n0\r\n" + b"X: y\r\n" * 5000 + b"\r\n"),
    "trailer with a length": ([CHUNKED], b"1b\r\n" + GOOD + b"\r\n0\r\nContent-Length: 5\r\n\r\n"),
    "trailer with a coding": ([CHUNKED], b"1b\r\n" + GOOD + b"\r\n0\r\ntransfer-encoding: chunked\r\n\r\n"),
    "trailer without colon": ([CHUNKED], b"1b\r\n" + GOOD + b"\r\n0\r\nGET / HTTP/1.1\r\n\r\n"),
    "folded trailer": ([CHUNKED], b"1b\r\n" + GOOD + b"\r\n0\r\nX: y\r\n z\r\n\r\n"),
    "zeros in front": ([CHUNKED], b"0" * 40 + b"1b\r\n" + GOOD + b"\r\n0\r\n\r\n"),
    "trailer bare LF": ([CHUNKED], b"1b\r\n" + GOOD + b"\r\n0\r\nX: y\n\r\n"),
}

LINES = {
    "no version": b"GET /healthz\r\nHost: t\r\n\r\n",
    "HTTP/0.9": b"GET /healthz HTTP/0.9\r\nHost: t\r\n\r\n",
    "HTTP/1.2": b"GET /healthz HTTP/1.2\r\nHost: t\r\n\r\n",
    "HTTP/2.0": b"GET /healthz HTTP/2.0\r\nHost: t\r\n\r\n",
    "preface of HTTP/2": b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    "lower case": b"get /healthz HTTP/1.1\r\nHost: t\r\n\r\n",
    "two spaces": b"GET  /healthz HTTP/1.1\r\nHost: t\r\n\r\n",
    "tab": b"GET\t/healthz HTTP/1.1\r\nHost: t\r\n\r\n",
    "space in target": b"GET /heal thz HTTP/1.1\r\nHost: t\r\n\r\n",
    "trailing space": b"GET /healthz HTTP/1.1 \r\nHost: t\r\n\r\n",
    "bare LF": b"GET /healthz HTTP/1.1\nHost: t\n\n",
    "no host": b"GET /healthz HTTP/1.1\r\n\r\n",
    "two hosts": b"GET /healthz HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",
    "bad host": b"GET /healthz HTTP/1.1\r\nHost: a b\r\n\r\n",
    "bad port": b"GET /healthz HTTP/1.1\r\nHost: a:b\r\n\r\n",
    "huge port": b"GET /healthz HTTP/1.1\r\nHost: a:65536\r\n\r\n",
    "two ports": b"GET /healthz HTTP/1.1\r\nHost: a:80:81\r\n\r\n",
    "bad port in target": b"GET http://a:b/healthz HTTP/1.1\r\nHost: a\r\n\r\n",
    "control in target": b"GET /heal\x01thz HTTP/1.1\r\nHost: t\r\n\r\n",
    "high bytes in target": b"GET /\xe6\x9e\x97 HTTP/1.1\r\nHost: t\r\n\r\n",
    "NUL in target": b"GET /healthz\0 HTTP/1.1\r\nHost: t\r\n\r\n",
    "fragment": b"GET /healthz#x HTTP/1.1\r\nHost: t\r\n\r\n",
    "CONNECT": b"CONNECT example.org:443 HTTP/1.1\r\nHost: t\r\n\r\n",
    "TLS": b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + b"\xaa" * 50 + b"\r\n\r\n",
    "binary": bytes(range(256)) + b"\r\n\r\n",
    "garbage": b"garbage\r\n\r\n",
}


@pytest.mark.parametrize("name", FRAMING)
def test_ambiguous_framing_is_refused_and_the_connection_closed(server, name):
    lines, body = FRAMING[name]
    ann = server.user()
    answers = exchange(server, post(ann, *lines, body=body) + SECOND)
    assert len(answers) == 1, f"something behind it was answered: {answers}"
    assert answers[0].status in (400, 413, 431, 501), answers
    assert answers[0].headers["connection"] == "close"
    contract.check("POST", "/v1/posts", answers[0])
    assert ann.get("/relation/counter")["posts"] == 0, "and nothing was done"


@pytest.mark.parametrize("name", LINES)
def test_bad_request_lines_are_refused(server, name):
    answers = exchange(server, LINES[name] + SECOND)
    assert len(answers) == 1 and answers[0].status in (400, 501, 505), answers
    assert answers[0].headers["connection"] == "close"
    contract.check_refusal(answers[0], name)


@pytest.mark.parametrize("lines, body", [([LENGTH], GOOD), ([CHUNKED], ONE), ([b"transfer-encoding: Chunked"], ONE),
                                         ([CHUNKED], b"1B\r\n" + GOOD + b"\r\n00\r\n\r\n"),
                                         ([CHUNKED], b"1b;x=1;y=\"z\"\r\n" + GOOD + b"\r\n0\r\n\r\n"),
                                         ([CHUNKED], b"1b ; x\r\n" + GOOD + b"\r\n0;last\r\n\r\n"),
                                         ([CHUNKED], b"1b\r\n" + GOOD + b"\r\n0\r\nX: y\r\nZ:\r\n\r\n"),
                                         ([LENGTH, b"Connection: Upgrade, HTTP2-Settings", b"Upgrade: h2c",
                                           b"HTTP2-Settings: AAEAAEAAAAIAAAAB"], GOOD)])
def test_what_is_unambiguous_works_and_the_next_request_too(server, lines, body):
    ann = server.user()
    stop = b"GET /healthz HTTP/1.1\r\nHost: t\r\nConnection: close\r\n\r\n"
    answers = exchange(server, post(ann, *lines, body=body) + stop)
    assert [answer.status for answer in answers] == [201, 200]
    contract.check("POST", "/v1/posts", answers[0])


def test_byte_by_byte_is_the_same_request(server):
    ann = server.user()
    request = post(ann, CHUNKED, b"Connection: close", body=ONE)
    with connect(server) as sock:
        for i in range(len(request)):
            sock.sendall(request[i:i + 1])
        assert [answer.status for answer in read_answers(sock)] == [201]


def test_pipelined_requests_are_answered_in_order(server):
    ann = server.user()
    requests = [post(ann, LENGTH, body=GOOD)] * 10
    requests.append(post(ann, LENGTH, b"Connection: close", body=GOOD))
    answers = exchange(server, b"".join(requests))
    assert [answer.status for answer in answers] == [201] * 11
    ids = [answer.json["id"] for answer in answers]
    assert ids == sorted(ids)


@pytest.mark.parametrize("behind", [b"", b"Connection: close"], ids=["goes on", "closes too"])
@pytest.mark.parametrize("pieces", ["whole", "two"])
def test_what_stands_behind_a_close_is_not_done(server, pieces, behind):
    """Two pipelined posts, the first with Connection: close, were two posts with one answer."""
    ann = server.user()
    first = post(ann, LENGTH, b"Connection: close", body=GOOD)
    second = post(ann, LENGTH, *filter(None, [behind]), body=GOOD)
    with connect(server) as sock:
        for piece in [first + second] if pieces == "whole" else [first + second[:50], second[50:]]:
            sock.sendall(piece)
        answers = read_answers(sock)
    assert [answer.status for answer in answers] == [201]
    assert answers[0].headers["connection"] == "close"
    assert ann.get("/relation/counter")["posts"] == 1, "what will not be answered was done"


def test_an_upgrade_is_ignored(server):
    for offer in (b"Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: x",
                  b"Connection: Upgrade\r\nUpgrade: websocket"):
        answers = exchange(server, b"GET /healthz HTTP/1.1\r\nHost: t\r\n" + offer + b"\r\n\r\n"
                           b"GET /healthz HTTP/1.1\r\nHost: t\r\nConnection: close\r\n\r\n")
        assert [answer.status for answer in answers] == [200, 200]


def test_an_absolute_target_without_a_path_is_the_console(server):
    stop = b" HTTP/1.1\r\nHost: t\r\nConnection: close\r\n\r\n"
    plain, = exchange(server, b"GET /" + stop)
    for target in (b"http://t", b"http://t:80", b"http://t?x=/y"):
        answers = exchange(server, b"GET " + target + stop)
        assert [(answer.status, answer.body) for answer in answers] == [(200, plain.body)]
