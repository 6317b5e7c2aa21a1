"""Sessions of the console: a token in a cookie, which authorises nothing that a page of another origin wants."""
import pytest

from support.client import Client, connect
from support.tokens import token

USER = {"Tidings-Session": "user"}


def send(server, method, path, headers, body=None):
    with Client(server) as client:
        return client.request(method, path, body, headers)


def bearer(server, user, role=None):
    return {"Authorization": "Bearer " + token(server.secret, user, role)}


def cookies_of(answer):
    return [value for name, value in answer.fields if name.lower() == "set-cookie"]


def sign_in(server, user=7, role=None, name="user", **headers):
    """What the browser keeps, as it would send it."""
    answer = send(server, "POST", "/v1/session", {**bearer(server, user, role), "Tidings-Session": name, **headers})
    assert answer.status == 201, answer
    cookie, = cookies_of(answer)
    return cookie.split(";")[0]


def badge(server, headers):
    return send(server, "GET", "/v1/inbox/badge", headers)


def test_the_token_becomes_a_cookie_that_no_script_reads_and_no_other_site_sends(server):
    made = token(server.secret, 7)
    answer = send(server, "POST", "/v1/session", {"Authorization": "Bearer " + made, **USER})
    assert answer.status == 201 and answer.json["user_id"] == 7 and answer.json["role"] == "user"
    cookie, = cookies_of(answer)
    value, *attributes = cookie.split("; ")
    assert value == "tidings-user=" + made
    assert sorted(attributes) == ["HttpOnly", "Path=/v1", "SameSite=Strict"], "and it ends with the browser"
    assert answer.headers["cache-control"] == "no-store"


def test_over_https_it_is_secure_and_this_hosts_alone(server):
    answer = send(server, "POST", "/v1/session", {**bearer(server, 7), **USER, "Origin": "https://t.example"})
    value, *attributes = cookies_of(answer)[0].split("; ")
    assert value.startswith("__Host-tidings-user=")
    assert sorted(attributes) == ["HttpOnly", "Path=/", "SameSite=Strict", "Secure"]
    assert badge(server, {**USER, "Cookie": value}).status == 200


def test_the_cookie_counts_beside_the_header(server):
    ann, bob = server.users(2)
    ann.follow(bob)
    bob.publish()
    cookie = sign_in(server, ann.id)
    answer = badge(server, {**USER, "Cookie": f"theme=dark; {cookie}; x=y"})
    assert answer.status == 200 and answer.json["total"] == 1
    who = send(server, "GET", "/v1/session", {**USER, "Cookie": cookie})
    assert who.json["user_id"] == ann.id


@pytest.mark.parametrize("headers", [
    {}, {"Tidings-Session": ""}, {"Tidings-Session": "User"}, {"Tidings-Session": "admin"}, {"Tidings-Session": "user, admin"},
    {**USER, "Sec-Fetch-Site": "cross-site"}, {**USER, "Sec-Fetch-Site": "same-site"}, {**USER, "Sec-Fetch-Site": "none"}])
def test_a_cookie_alone_or_from_elsewhere_authorises_nothing(server, headers):
    ann = server.user()
    cookie = {"Cookie": sign_in(server, ann.id)}
    assert badge(server, {**USER, **cookie, "Sec-Fetch-Site": "same-origin"}).status == 200
    for method, path, body in (("GET", "/v1/inbox/badge", None), ("GET", "/v1/stream", None), ("POST", "/v1/posts", b'{"kind":"note","title":"x"}'),
                               ("DELETE", "/v1/history", None), ("POST", "/v1/session", None)):
        answer = send(server, method, path, {**cookie, **headers}, body)
        assert answer.status == 401 and answer.json["code"] == "token_missing", (method, path)
    assert ann.get(f"/users/{ann.id}/posts")["items"] == []


def test_a_page_of_an_allowed_origin_is_not_allowed_the_header(make_server):
    server = make_server(settings={"cors_origins": "https://app.example"})
    answer = send(server, "OPTIONS", "/v1/posts", {
        "Origin": "https://app.example", "Access-Control-Request-Method": "POST",
        "Access-Control-Request-Headers": "tidings-session"})
    assert answer.status == 204
    assert "tidings-session" not in answer.headers["access-control-allow-headers"].lower()


def test_what_is_ambiguous_is_nothing(server):
    mine, other = sign_in(server, 7), sign_in(server, 8)
    assert badge(server, {**USER, "Cookie": f"{mine}; {other}"}).status == 401
    assert badge(server, [("Cookie", mine), ("Cookie", "a=b"), *USER.items()]).status == 401
    assert badge(server, [("Cookie", mine), ("Tidings-Session", "user"), ("Tidings-Session", "user")]).status == 401
    for cookie in (";;; ;", "tidings-user", "tidings-user=", "tidings-userx=1", " =", "=" * 2000, "x" + mine, mine.replace("=", " =")):
        assert badge(server, {**USER, "Cookie": cookie}).status == 401, cookie


def test_a_bearer_token_goes_first(server):
    cookie = sign_in(server, 7)
    answer = send(server, "GET", "/v1/session", {**bearer(server, 8), **USER, "Cookie": cookie})
    assert answer.json["user_id"] == 8
    answer = send(server, "GET", "/v1/session", {"Authorization": "Bearer x", **USER, "Cookie": cookie})
    assert answer.status == 401 and answer.json["code"] == "token_malformed"


def test_a_second_token_with_more_rights_is_kept_apart(server):
    both = "; ".join([sign_in(server, 7), sign_in(server, 1, "admin", "admin")])
    status = "/v1/admin/status"
    assert send(server, "GET", status, {**USER, "Cookie": both}).status == 403
    assert send(server, "GET", status, {"Tidings-Session": "admin", "Cookie": both}).status == 200
    service = sign_in(server, 5, "service")
    answer = send(server, "GET", "/v1/session", {**USER, "Cookie": service, "X-User-Id": "9"})
    assert answer.status == 200 and answer.json == {**answer.json, "user_id": 5, "role": "service"}


def test_what_the_token_is_refused_for_is_told_and_nothing_is_kept(server):
    for headers, code in (({"Authorization": "Bearer abc"}, "token_malformed"), ({}, "token_missing"),
                          ({"Authorization": "Bearer " + token("another secret, also of 32 bytes or more", 7)}, "token_signature"),
                          ({"Authorization": "Bearer " + token(server.secret, 7, ttl=-3600)}, "token_expired")):
        answer = send(server, "POST", "/v1/session", {**headers, **USER})
        assert answer.status == 401 and answer.json["code"] == code and not cookies_of(answer)
    for headers in ({}, {"Tidings-Session": "root"}):
        answer = send(server, "POST", "/v1/session", {**bearer(server, 7), **headers})
        assert answer.status == 400 and answer.json["field"] == "Tidings-Session" and not cookies_of(answer)


def test_a_token_that_no_cookie_holds_is_refused(server):
    long = token(server.secret, 7, padding="x" * 2400)
    assert 3072 < len(long) <= 4096
    headers = {"Authorization": "Bearer " + long}
    assert badge(server, headers).status == 200
    answer = send(server, "POST", "/v1/session", {**headers, **USER})
    assert answer.status == 400 and answer.json["field"] == "Authorization" and not cookies_of(answer)


def test_signing_out_forgets_all_of_it_but_not_for_others(server):
    cookie = sign_in(server, 7)
    for headers in ({"Cookie": cookie}, {"Cookie": cookie, "Tidings-Session": "x"}):
        answer = send(server, "DELETE", "/v1/session", headers)
        assert answer.status == 400 and not cookies_of(answer)
    answer = send(server, "DELETE", "/v1/session", USER)
    assert answer.status == 204 and not answer.body
    assert sorted(one.split("=")[0] for one in cookies_of(answer)) == [
        "__Host-tidings-admin", "__Host-tidings-user", "tidings-admin", "tidings-user"]
    assert all("=; Max-Age=0; Path=/" in one and "HttpOnly; SameSite=Strict" in one for one in cookies_of(answer))


def test_a_stream_can_be_read_with_it(server):
    cookie = sign_in(server, 7)
    with connect(server) as sock:
        sock.sendall(f"GET /v1/stream HTTP/1.1\r\nHost: x\r\nCookie: {cookie}\r\nTidings-Session: user\r\n\r\n".encode())
        got = b""
        while b"event: badge" not in got:
            more = sock.recv(65536)
            assert more, got
            got += more
    assert got.startswith(b"HTTP/1.1 200 ")
