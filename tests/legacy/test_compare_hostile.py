"""Whoever is at the server's address may send anything: `tidings compare` says that it cannot look, soon, and never that all agrees."""
import http.server
import json
import threading
import time

import pytest
from bridging import nodes_of
from support.server import tidings

TOKEN = "a.token.of.the.tests"
ITEM = {"post_id": 5, "author_id": 9, "read_at": None, "is_deleted": False, "created_at": 1, "is_read": False}
GOOD = {
    "/v1/users/ids": lambda query: {"user_ids": [1] if "after=0" in query else [], "next_after": None},
    "/v1/inbox": {"items": [ITEM], "next_cursor": None},
    "/v1/history": {"items": [], "next_cursor": None},
    "/v1/inbox/unread": {"total": 1, "authors": [{"user_id": 9, "unread": 1, "following": True}]},
    "/v1/posts": {"items": [{"id": 5}]},
}


class Stub:
    """Answers as it is told, and notes what was asked."""

    def __init__(self):
        self.answers, self.asked = dict(GOOD), []
        stub = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            wbufsize = 1 << 20  # an answer is one packet

            def do_GET(self):
                path, _, query = self.path.partition("?")
                stub.asked.append((path, query, dict(self.headers)))
                answer = stub.answers[path]
                answer = answer(query) if callable(answer) else answer
                status, body = answer if isinstance(answer, tuple) else (200, answer)
                body = body if isinstance(body, bytes) else json.dumps(body).encode()
                self.send_response(status)
                self.send_header("Content-Length", str(len(body)))
                if status == 302:
                    self.send_header("Location", "/v1/history")
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def compare(self, redis):
        return tidings("compare", "--server", f"http://127.0.0.1:{self.server.server_port}/", "--old-redis", nodes_of(redis), "--share", "100%",
                       "--patience", "0", TIDINGS_TOKEN=TOKEN)


@pytest.fixture
def stub():
    made = Stub()
    yield made
    made.server.shutdown()
    made.server.server_close()


def test_questions_are_exact_and_for_the_user(stub, redis):
    assert stub.compare(redis).returncode == 1  # there are no keys
    for path, _, headers in stub.asked:
        assert headers["Authorization"] == f"Bearer {TOKEN}" and headers["Tidings-Freshness"] == "exact"
        assert headers.get("X-User-Id") == (None if path in ("/v1/users/ids", "/v1/posts") else "1")


@pytest.mark.parametrize(("path", "answer"), [
    ("/v1/users/ids", {"user_ids": [0], "next_after": None}),
    ("/v1/users/ids", {"user_ids": [3, 2], "next_after": None}),
    ("/v1/users/ids", {"user_ids": list(range(1, 5000)), "next_after": None}),
    ("/v1/users/ids", {"user_ids": ["1"], "next_after": None}),
    ("/v1/users/ids", {"user_ids": [2**53], "next_after": None}),
    ("/v1/users/ids", {"next_after": None}),
    ("/v1/inbox", {"items": [ITEM]}),
    ("/v1/inbox", {"items": [ITEM], "next_cursor": ""}),
    ("/v1/inbox", {"items": [ITEM], "next_cursor": 7}),
    ("/v1/inbox", {"items": [ITEM], "next_cursor": "the same"}),
    ("/v1/inbox", {"items": [ITEM], "next_cursor": "x" * 2000}),
    ("/v1/inbox", {"items": [ITEM] * 101, "next_cursor": None}),
    ("/v1/inbox", {"items": [{**ITEM, "post_id": -1}], "next_cursor": None}),
    ("/v1/inbox", {"items": [{**ITEM, "is_deleted": 1}], "next_cursor": None}),
    ("/v1/inbox", {"items": [{**ITEM, "created_at": 1.5}], "next_cursor": None}),
    ("/v1/inbox", {"items": [3], "next_cursor": None}),
    ("/v1/inbox", []),
    ("/v1/inbox", b""),
    ("/v1/inbox", b"{"),
    ("/v1/inbox", b'{"items": [], "items": [], "next_cursor": null}'),
    ("/v1/inbox", b'{"a":' * 3000 + b"1" + b"}" * 3000),
    ("/v1/inbox", b" " * (33 << 20)),
    ("/v1/inbox", (302, {})),
    ("/v1/inbox", (500, {})),
    ("/v1/inbox", (400, {})),
    ("/v1/history", {"items": [{**ITEM, "author_id": 0}], "next_cursor": None}),
    ("/v1/inbox/unread", {"total": -1, "authors": []}),
    ("/v1/inbox/unread", {"total": 1, "authors": [{"user_id": 9, "unread": 1}]}),
    ("/v1/posts", {"items": []}),
    ("/v1/posts", {"items": [{"id": 6}]}),
    ("/v1/posts", (400, {})),
])
def test_an_answer_that_makes_no_sense_is_no_agreement(stub, redis, path, answer):
    stub.answers[path] = answer
    begun = time.monotonic()
    done = stub.compare(redis)
    assert done.returncode == 3 and "http://127.0.0.1:" in done.stderr, (done.stdout, done.stderr)
    assert TOKEN not in done.stderr and time.monotonic() - begun < 30


def test_a_list_without_end_ends(stub, redis):
    """Each page has another cursor, and posts that nobody has."""
    def page(query):
        at = int(query.partition("cursor=")[2].partition("&")[0]) if "cursor=" in query else 1
        return {"items": [{**ITEM, "post_id": at * 100 + i} for i in range(100)], "next_cursor": str(at + 1)}

    stub.answers["/v1/inbox"] = page
    stub.answers["/v1/posts"] = lambda query: {"items": [{"id": int(post)} for post in query.partition("ids=")[2].split(",")]}
    done = stub.compare(redis)
    assert done.returncode == 1
    assert sum(path == "/v1/inbox" for path, _, _ in stub.asked) == 1000


def test_a_server_that_is_busy_is_asked_again(stub, redis):
    tries = iter([503, 429])
    stub.answers["/v1/inbox"] = lambda query: (next(tries, 200), GOOD["/v1/inbox"])
    assert stub.compare(redis).returncode == 1
    assert sum(path == "/v1/inbox" for path, _, _ in stub.asked) == 3
