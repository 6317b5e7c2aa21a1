"""Pages of other origins: which may call, and what a browser is told. A real browser is in tests/console/origins."""
import pytest

from support.client import connect, exchange
from support.server import tidings

APP, OTHER, STRANGER = "https://app.example", "http://localhost:5173", "https://app.example.evil"
EXPOSED = {"allow", "content-encoding", "date", "etag", "ratelimit", "ratelimit-policy", "retry-after",
           "tidings-age", "tidings-seen", "www-authenticate", "x-request-id"}


@pytest.fixture(scope="module")
def shared():
    """One server for the tests here, that two origins may call."""
    from support.server import Server
    made = Server(settings={"cors_origins": f"{APP}, {OTHER}", "follow_burst": 1, "follow_refill_ms": 3_600_000}).start()
    yield made
    made.close()


def words(text):
    return {word.strip().lower() for word in text.split(",")}


def preflight(server, path, method, origin=APP, **more):
    headers = {"Origin": origin, "Access-Control-Request-Method": method, **more}
    return server.client().request("OPTIONS", path, None, headers)


def assert_allows(answer, origin=APP):
    assert answer.headers["access-control-allow-origin"] == origin, answer.fields
    assert answer.headers["access-control-allow-credentials"] == "true"
    assert words(answer.headers["access-control-expose-headers"]) == EXPOSED
    assert "Origin" in [value for name, value in answer.fields if name.lower() == "vary"]


def assert_says_nothing(answer):
    assert not [name for name, _ in answer.fields if name.lower().startswith("access-control")], answer.fields


def test_a_preflight_needs_no_token_and_tells_the_methods_of_its_path(shared):
    for path, methods in (("/v1/inbox/badge", "GET, HEAD"), ("/v1/posts", "GET, HEAD, POST"),
                          ("/v1/posts/7", "GET, HEAD, PATCH, DELETE"), ("/v1/posts/stats", "GET, HEAD, PATCH, DELETE"),
                          ("/v1/admin/webhooks/push", "GET, HEAD, PUT, DELETE"), ("/v1/stream", "GET, HEAD")):
        for origin in (APP, OTHER):
            answer = preflight(shared, path, "GET", origin, **{"Access-Control-Request-Headers": "authorization"})
            assert answer.status == 204 and not answer.body, path
            assert_allows(answer, origin)
            assert answer.headers["access-control-allow-methods"] == methods
            assert {"authorization", "content-type", "idempotency-key", "if-none-match", "x-user-id",
                    "tidings-freshness"} <= words(answer.headers["access-control-allow-headers"])
            assert int(answer.headers["access-control-max-age"]) == 7200


def test_options_that_is_no_preflight_is_refused_as_before(shared):
    plain = shared.client().request("OPTIONS", "/v1/posts", None, {"Origin": APP})
    assert plain.status == 405 and plain.headers["allow"] == "GET, HEAD, POST"
    assert_allows(plain)
    for origin in (STRANGER, "null", "https://APP.example", APP + "/", ""):
        answer = preflight(shared, "/v1/posts", "POST", origin)
        assert answer.status == 405, origin
        assert_says_nothing(answer)
    nowhere = preflight(shared, "/v1/nothing", "GET")
    assert nowhere.status == 404
    assert_allows(nowhere)
    twice = shared.client().request("OPTIONS", "/v1/posts", None, [
        ("Origin", APP), ("Origin", APP), ("Access-Control-Request-Method", "POST")])
    assert twice.status == 405
    assert_says_nothing(twice)


def test_every_answer_to_an_allowed_origin_can_be_read(shared):
    ann, bob = shared.users(2)
    origin = {"Origin": APP}
    answers = [
        (200, ann.send("GET", "/v1/inbox/badge", headers=origin)),
        (401, shared.client().request("GET", "/v1/inbox/badge", None, origin)),
        (404, ann.send("GET", "/v1/posts/999", headers=origin)),
        (404, ann.send("GET", "/v1/nothing", headers=origin)),
        (400, ann.send("POST", "/v1/posts", {"kind": "note"}, headers=origin)),
        (413, ann.send("POST", "/v1/posts", b"x" * (1 << 18), headers=origin)),
        (200, ann.send("POST", "/v1/relation/follow", {"user_id": bob.id}, headers=origin)),
        (429, ann.send("POST", "/v1/relation/unfollow", {"user_id": bob.id}, headers=origin)),
        (200, shared.client().request("GET", "/v1/openapi.json", None, origin)),
        (200, shared.client().request("GET", "/healthz", None, origin)),
    ]
    for status, answer in answers:
        assert answer.status == status
        assert_allows(answer)
    told = {name for _, answer in answers for name in answer.headers}
    assert {"ratelimit", "retry-after", "etag", "www-authenticate", "x-request-id"} <= told & EXPOSED
    # Refused before the head was read to its end: what had come by then says where it came from.
    refused, = exchange(shared, f"GET / HTTP/1.1\r\nOrigin: {APP}\r\nHost: a b\r\n\r\n".encode())
    assert refused.status == 400
    assert_allows(refused)


def test_streams_can_be_read_too(shared):
    ann = shared.user()
    with connect(shared) as sock:
        sock.sendall(f"GET /v1/stream HTTP/1.1\r\nHost: x\r\nOrigin: {APP}\r\n"
                     f"Authorization: Bearer {ann.bearer}\r\n\r\n".encode())
        got = b""
        while b"\r\n\r\n" not in got:
            got += sock.recv(65536)
    head = got.partition(b"\r\n\r\n")[0].decode()
    assert head.startswith("HTTP/1.1 200 ") and f"\r\nAccess-Control-Allow-Origin: {APP}" in head


def test_others_are_told_nothing_but_that_it_varies(shared):
    ann = shared.user()
    for headers in ({}, {"Origin": STRANGER}, {"Origin": "null"}):
        answer = ann.send("GET", "/v1/inbox/badge", headers=headers)
        assert answer.status == 200
        assert_says_nothing(answer)
        assert answer.headers["vary"] == "Origin"


def test_by_default_no_origin_is_told_anything(server):
    answer = server.user().send("GET", "/v1/inbox/badge", headers={"Origin": APP})
    assert answer.status == 200 and "vary" not in answer.headers
    assert_says_nothing(answer)
    answer = preflight(server, "/v1/posts", "POST")
    assert answer.status == 405
    assert_says_nothing(answer)


def test_a_star_is_anybody_without_credentials(make_server):
    server = make_server(settings={"cors_origins": "*"})
    for answer in (server.user().send("GET", "/v1/inbox/badge", headers={"Origin": STRANGER}),
                   preflight(server, "/v1/posts", "POST", "null")):
        assert answer.status in (200, 204)
        assert answer.headers["access-control-allow-origin"] == "*"
        assert "access-control-allow-credentials" not in answer.headers and "vary" not in answer.headers
    assert_says_nothing(server.user().send("GET", "/v1/inbox/badge"))


@pytest.mark.parametrize("origins, culprit, wrong", [
    ("app.example", "app.example", "scheme://host"),
    ("https://app.example/", "https://app.example/", "no slash"),
    ("https://app.example,http://b.example/path", "http://b.example/path", "no slash"),
    ("https://App.example", "https://App.example", "small letters"),
    ("https://app.example:443", "https://app.example:443", "own port"),
    ("http://app.example:80", "http://app.example:80", "own port"),
    ("https://app.example:0", "https://app.example:0", "port"),
    ("https://app.example:65536", "https://app.example:65536", "port"),
    ("https://app.example:", "https://app.example:", "port"),
    ("https://", "https://", "host"),
    ("https://[::1", "https://[::1", "host"),
    ("https://*.example", "https://*.example", "host"),
    ("https://user@app.example", "https://user@app.example", "port"),
    ("https://app.example, *", "*", "alone"),
    ("https://app.example,", "", "scheme://host"),
    ("null", "null", "scheme://host"),
])
def test_what_is_no_origin_is_refused_at_the_start(tmp_path, origins, culprit, wrong):
    done = tidings("serve", "--data", str(tmp_path / "data"), "--cors-origins", origins, TIDINGS_JWT_SECRET="x" * 32)
    assert done.returncode == 2, done.stderr
    assert done.stderr.startswith(f"tidings: cors_origins: '{culprit}': ") and wrong in done.stderr, done.stderr
    assert not (tmp_path / "data").exists()


def test_what_is_an_origin_is_taken(make_server):
    origins = ["https://[::1]:8443", "http://127.0.0.1:3000", "capacitor://localhost", "https://xn--bcher-kva.example"]
    server = make_server(settings={"cors_origins": ",".join(origins)})
    for origin in origins:
        assert_allows(server.user().send("GET", "/v1/inbox/badge", headers={"Origin": origin}), origin)
