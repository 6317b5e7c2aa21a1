"""SPEC 12: whatever a request says wrongly is refused with the field named, and changes nothing."""
import json
import re

import pytest

from support.client import exchange, new_user_id
from support.contract import contract
from support.server import routes

WITH_BODY = [("POST", "/v1/relation/follow", {"user_id": 5}), ("POST", "/v1/relation/unfollow", {"user_id": 5}),
             ("PUT", "/v1/users/me", {"name": "n"}), ("POST", "/v1/posts", {"kind": "note", "title": "t"}),
             ("PATCH", "/v1/posts/POST", {"title": "t"}), ("POST", "/v1/inbox/mark-read", {"post_ids": [5]}),
             ("POST", "/v1/inbox/mark-unread", {"post_ids": [5]}), ("POST", "/v1/admin/verify", {"repair": False}),
             ("POST", "/v1/posts/POST/comments", {"body": "c"}),
             ("POST", "/v1/stories/STORY/scenes", {"title": "t", "messages": []}),
             ("PATCH", "/v1/scenes/SCENE", {"title": "t"}), ("PUT", "/v1/reading/STORY", {"scene_id": 5}),
             ("POST", "/v1/notifications/mark-read", {"ids": [5]}), ("PUT", "/v1/settings", {"story_updates": True})]

MALFORMED = [
    b"", b" ", b"{", b"}", b"{}}", b"[]", b"null", b"true", b"7", b"\"text\"", b"{\"a\":}", b"{\"a\" 1}", b"{'a':1}",
    b"{\"a\":1,}", b"{a:1}", b"{\"a\":01}", b"{\"a\":+1}", b"{\"a\":.5}", b"{\"a\":1.}", b"{\"a\":NaN}",
    b"{\"a\":Infinity}", b"{\"a\":\"\t\"}", b"{\"a\":\"\\x41\"}", b"{\"a\":\"\\u12\"}", b"{\"a\":\"\\ud800\"}",
    b"{\"a\":\"\\udc00\\ud800\"}", b"{\"a\":\"unclosed", b"{\"a\":tru}", b"// comment\n{}", b"{}{}", b"{} x",
    b"\xef\xbb\xbf{}", b"{\"\\u0000\":1}", b"{\"a\":\"\\u0000\"}", b"\x00{}", b"{}\x00",
    b"<xml/>", b"user_id=5", "{“user_id”:5}".encode(),
    b"{\"a\":" * 3000 + b"1" + b"}" * 3000, b"[" * 100000, b"{\"a\":" + b"[" * 60000 + b"]" * 60000 + b"}",
    b"9" * 30, b"[9223372036854775808]", b"[\"a\",{\"b\":1e999}]",
]
BAD_UTF8 = [b"\xff", b"\xc0\xaf", b"\xc3", b"\xe2\x82", b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"\xf8\x88\x80\x80\x80",
            b"\x80", b"\xe0\x80\xaf"]
DUPLICATES = [b"{\"user_id\":5,\"user_id\":6}", b"{\"user_id\":5,\"user\\u005fid\":6}"]


def actor_for(server, path):
    return server.admin() if "/admin/" in path else server.user()


def target(server, actor, path):
    if "STORY" in path:
        path = path.replace("STORY", str(actor.story()))
    if "SCENE" in path:
        path = path.replace("SCENE", str(actor.scene(actor.story())["id"]))
    return path.replace("POST", str(actor.publish()["id"])) if "POST" in path else path


@pytest.mark.parametrize("method, path, good", WITH_BODY)
def test_malformed_json_is_refused_everywhere(server, method, path, good):
    actor = actor_for(server, path)
    path = target(server, actor, path)
    for text in MALFORMED:
        if text == b"" and path == "/v1/admin/verify":
            continue
        actor.refused(400, "invalid", method, path, text, field="body")


HUGE = [b"9223372036854775808", b"-9223372036854775809", b"18446744073709551616", b"9" * 30000, b"1e999999",
        b"[1, 9223372036854775808]", b"{\"x\": {\"y\": 99999999999999999999}}"]


@pytest.mark.parametrize("value", HUGE)
def test_huge_numbers_are_refused_by_name(server, value):
    """They were "The request's body must be a JSON object"."""
    ann = server.user()
    for text, field in ((b"{\"user_id\": %s}", "user_id"), (b"{\"user\\u005fid\":%s,\"a\":1}", "user_id"),
                        (b"{\"purge_inbox\":{\"z\":[\":\\\"}\"]},\"user_id\" :%s}", "user_id"),
                        (b" {\"\xe5\x90\x8d\":%s", "名")):
        ann.refused(400, "invalid", "POST", "/v1/relation/follow", text % value, field=field)


def test_malformed_json_with_real_fields(server):
    ann = server.user()
    for text in DUPLICATES:
        ann.refused(400, "invalid", "POST", "/v1/relation/follow", text, field="body")
    for piece in BAD_UTF8:
        ann.refused(400, "invalid", "POST", "/v1/posts", b"{\"kind\":\"note\",\"title\":\"a" + piece + b"b\"}",
                    field="body")
        ann.refused(400, "invalid", "PUT", "/v1/users/me", b"{\"name\":\"" + piece + b"\"}", field="body")
    assert ann.get("/relation/counter")["posts"] == 0


@pytest.mark.parametrize("method, path, good", WITH_BODY)
def test_unknown_fields_are_refused_by_name(server, method, path, good):
    actor = actor_for(server, path)
    path = target(server, actor, path)
    for name in ("unknown", "User_id", "user_id ", "", "名", "a" * 5000, "\n\"\\", "role", "x-user-id"):
        problem = actor.refused(400, "invalid", method, path, {**good, name: 1})
        assert problem["field"] == name


@pytest.mark.parametrize("value", [0, -1, 2 ** 53, 2 ** 63 - 1, 1.0, 1.5, 1e3, "5", True, None, [], {}, [5]])
@pytest.mark.parametrize("path", ["follow", "unfollow"])
def test_ids_in_bodies(server, path, value):
    server.user().refused(400, "invalid", "POST", f"/v1/relation/{path}", {"user_id": value}, field="user_id")


@pytest.mark.parametrize("path", ["follow", "unfollow"])
def test_missing_id(server, path):
    server.user().refused(400, "invalid", "POST", f"/v1/relation/{path}", {}, field="user_id")


def test_the_largest_id_is_fine(server):
    ann = server.user()
    ann.follow(2 ** 53 - 1)
    assert ann.get(f"/users/{2 ** 53 - 1}")["user_id"] == 2 ** 53 - 1


@pytest.mark.parametrize("value", ["true", 1, 0, [], {}])
def test_purge_must_be_a_boolean(server, value):
    server.user().refused(400, "invalid", "POST", "/v1/relation/unfollow", {"user_id": 5, "purge_inbox": value},
                          field="purge_inbox")


@pytest.mark.parametrize("body, field", [
    ({"title": "t"}, "kind"), ({"kind": "blog", "title": "t"}, "kind"), ({"kind": "Note", "title": "t"}, "kind"),
    ({"kind": 1, "title": "t"}, "kind"), ({"kind": None, "title": "t"}, "kind"), ({"kind": "", "title": "t"}, "kind"),
    ({"kind": "note"}, "title"), ({"kind": "note", "title": None}, "title"), ({"kind": "note", "title": 7}, "title"),
    ({"kind": "note", "title": ["t"]}, "title"), ({"kind": "note", "title": "t", "body": 7}, "body"),
    ({"kind": "note", "title": "t", "body": {}}, "body"), ({"kind": "note", "title": "t", "author_id": 7}, "author_id"),
    ({"kind": "note", "title": "t", "id": 7}, "id"), ({"kind": "note", "title": "t", "created_at": 7}, "created_at"),
])
def test_publish_refuses(server, body, field):
    ann = server.user()
    ann.refused(400, "invalid", "POST", "/v1/posts", body, field=field)
    assert ann.get("/relation/counter")["posts"] == 0


# ---- Paths and queries --------------------------------------------------------------------------

BAD_IDS = ["0", "-1", "+1", "01", "1.0", "1e3", "x", "9007199254740992", "9" * 30, "1%20", "%31", "mex",
           "1;2", "0x10", "%EF%BC%91", "null"]


@pytest.mark.parametrize("route", [r for r in routes() if "id}" in r["path"]], ids=lambda r: r["operation"])
def test_ids_in_paths(server, route):
    ann = server.user()
    field = route["path"].split("{")[1].split("}")[0]
    body = {"title": "t"} if route["method"] == "PATCH" else None
    for bad in BAD_IDS:
        path = route["path"].replace("{" + field + "}", bad)
        ann.refused(400, "invalid", route["method"], path, body, field=field)


@pytest.mark.parametrize("path", ["/v1/relation/status", "/v1/relation/following", "/v1/relation/followers",
                                  "/v1/relation/counter"])
def test_user_id_in_queries(server, path):
    ann = server.user()
    for bad in ("0", "-1", "x", "", "01", "1.5", str(2 ** 53), "9" * 30, "%ff", "%01"):
        ann.refused(400, "invalid", "GET", f"{path}?user_id={bad}", field="user_id")


def test_status_needs_a_user(server):
    server.user().refused(400, "invalid", "GET", "/v1/relation/status", field="user_id")


LISTS = ["/v1/relation/following", "/v1/relation/followers", "/v1/users/5/posts", "/v1/inbox", "/v1/history",
         "/v1/posts/POST/likes", "/v1/posts/POST/comments", "/v1/me/likes", "/v1/me/favs", "/v1/hot",
         "/v1/stories/STORY/scenes", "/v1/subscriptions", "/v1/reading", "/v1/notifications"]


@pytest.mark.parametrize("path", LISTS)
def test_limit_bounds(server, path):
    ann = server.user()
    path = target(server, ann, path)
    for good in (1, 100):
        ann.expect(200, "GET", f"{path}?limit={good}")
    for bad in ("0", "101", "-1", "1.0", "x", "", "4294967296", "4294967297", "9" * 30, "1 ", "0x10"):
        ann.refused(400, "invalid", "GET", f"{path}?limit={bad.replace(' ', '%20')}", field="limit")


@pytest.mark.parametrize("path, name", [
    ("/v1/inbox", "filter"), ("/v1/users/5/posts", "read_status"), ("/v1/me/likes", "target"), ("/v1/hot", "kind"),
    ("/v1/posts/POST/comments", "sort"), ("/v1/posts/POST/comments", "include_hidden"),
    ("/v1/posts/POST/stats", "explain")])
def test_unknown_words(server, path, name):
    ann = server.user()
    path = target(server, ann, path)
    for bad in ("", "ALL", "unread%20", "all,read", "%E6%9E%97", "allx"):
        ann.refused(400, "invalid", "GET", f"{path}?{name}={bad}", field=name)


def test_inbox_author_id(server):
    ann = server.user()
    for bad in ("0", "x", "", "-5", str(2 ** 53)):
        ann.refused(400, "invalid", "GET", f"/v1/inbox?author_id={bad}", field="author_id")


@pytest.mark.parametrize("query", ["a=%", "a=%g1", "a=%1", "limit=1&limit=2", "limit=5&limit=5", "a=%00",
                                   "&".join(f"p{i}=1" for i in range(40))])
def test_malformed_queries(server, query):
    problem = server.user().refused(400, "invalid", "GET", f"/v1/inbox?{query}")
    assert problem["field"]


def test_strange_paths_are_not_found(server):
    ann = server.user()
    for path in ("/v1", "/v1/", "/v2/inbox", "/v1/inbox/", "/v1//inbox", "/V1/inbox", "/v1/inbox%2Fbadge",
                 "/v1/../healthz", "/./healthz", "/v1/posts/", "/v1/posts/5/", "/v1/posts//open", "/healthz/x",
                 "/v1/posts/5/open/x", "/docs/", "/favicon.ico", "/v1/" + "x" * 3000):
        assert ann.send("GET", path).status == 404, path


def test_wrong_methods_are_told_the_right_ones(server):
    ann = server.user()
    for path in sorted({route["path"] for route in routes()}):
        right = {route["method"] for route in routes() if route["path"] == path}
        concrete = re.sub(r"\{\w+\}", "5", path)
        if concrete == "/v1/users/me":
            right.add("GET")  # "me" stands where an id would
        if concrete in ("/v1/posts/stats", "/v1/posts/by-key"):
            right |= {"PATCH", "DELETE"}  # so do these
        if "GET" in right:
            right.add("HEAD")
        for method in {"GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "PROPFIND"} - right:
            answer = ann.send(method, concrete)
            assert answer.status == 405 and answer.json["code"] == "method_not_allowed", (method, concrete, answer)
            assert set(answer.headers["allow"].split(", ")) == right, (method, concrete)


def test_head_is_get_without_a_body(server):
    ann = server.user()
    for path in ("/v1/inbox", "/v1/inbox/badge", "/healthz", "/metrics", "/docs", "/v1/openapi.json"):
        answer = ann.send("HEAD", path)
        assert answer.status == 200 and not answer.body and int(answer.headers["content-length"]) > 0
    assert ann.send("HEAD", "/v1/posts/5").status == 404
    assert ann.send("HEAD", "/v1/relation/follow").status == 405


# ---- Sizes --------------------------------------------------------------------------------------

def test_a_body_of_exactly_the_limit_is_read_and_one_more_is_413(server):
    ann = server.user()
    text = b"{\"kind\":\"note\",\"title\":\"t\"" + b" " * 131072
    ann.expect(201, "POST", "/v1/posts", text[:131071] + b"}")
    ann.refused(413, "body_too_large", "POST", "/v1/posts", text[:131072] + b"}")
    assert ann.get("/relation/counter")["posts"] == 1, "and the server goes on"


def test_413_for_chunked_bodies_and_announced_ones(server):
    bearer = server.user().bearer
    head = f"POST /v1/posts HTTP/1.1\r\nHost: t\r\nAuthorization: Bearer {bearer}\r\n".encode()
    chunks = b"10000\r\n" + b"x" * 65536 + b"\r\n"
    for request in (head + b"Transfer-Encoding: chunked\r\n\r\n" + chunks * 3 + b"0\r\n\r\n",
                    head + b"Content-Length: 131073\r\n\r\n", head + b"Content-Length: 99999999999\r\n\r\n",
                    head + b"Content-Length: 131073\r\nExpect: 100-continue\r\n\r\n"):
        answers = exchange(server, request)
        assert [a.status for a in answers] == [413]
        contract.check("POST", "/v1/posts", answers[0])


def test_heads_and_targets_too_long(server):
    ann = server.user()
    assert ann.send("GET", "/v1/inbox?x=" + "y" * 4096).status == 414
    assert ann.send("GET", "/v1/inbox", headers={"X-Long": "y" * 8192}).status == 431
    assert ann.send("GET", "/v1/inbox", headers={f"X-{i}": "y" for i in range(70)}).status == 431


def test_expectations_and_encodings_not_known(server):
    ann = server.user()
    assert ann.send("POST", "/v1/posts", b"{}", {"Expect": "magic"}).status == 417
    answers = exchange(server, b"POST /v1/posts HTTP/1.1\r\nHost: t\r\nTransfer-Encoding: gzip, chunked\r\n\r\n")
    assert [a.status for a in answers] == [501]
    contract.check("POST", "/v1/posts", answers[0])


def test_no_internal_detail_in_errors(server):
    """A problem says its fixed text: no file name, no function, no echo of values."""
    ann = server.user()
    secret = "do-not-echo-me"
    for method, path, body in (("POST", "/v1/posts", {"kind": secret, "title": "t"}),
                               ("GET", f"/v1/posts/{secret}", None), ("GET", f"/v1/{secret}", None),
                               ("GET", f"/v1/inbox?cursor={secret}", None), ("GET", f"/v1/inbox?filter={secret}", None)):
        text = json.dumps(ann.send(method, path, body).json)
        assert secret not in text and ".c" not in text and "lmdb" not in text.lower(), text


def test_bodies_where_none_belongs_change_nothing(server):
    ann = server.user()
    post = ann.publish()["id"]
    assert ann.send("GET", "/v1/inbox", b"{\"x\":").status == 200
    assert ann.send("POST", f"/v1/posts/{post}/open", b"not json").status in (200, 400)
    assert ann.send("DELETE", f"/v1/posts/{post}", b"{}").status in (204, 400)


def test_other_content_types_are_read_as_json_or_refused(server):
    ann = server.user()
    answer = ann.send("POST", "/v1/relation/follow", b"{\"user_id\": %d}" % new_user_id(),
                      {"Content-Type": "text/plain"})
    assert answer.status in (200, 415)


# ---- What is not known, and what is too much ----------------------------------------------------


@pytest.mark.parametrize("route", [r for r in routes() if r["access"] != "public"], ids=lambda r: r["operation"])
def test_unknown_parameters_are_refused_by_name(server, route):
    actor = server.admin()
    path = re.sub(r"\{(\w+)\}", lambda m: "story:5" if m[1] == "tag" else "5", route["path"])
    for query, field in (("unknown=1", "unknown"), ("Limit=1", "Limit"), ("limit%20=1", "limit "), ("=1", ""),
                         ("%E5%90%8D", "名"), ("%FF=1", "query"), ("a%22b", 'a"b')):
        problem = actor.refused(400, "invalid", route["method"], f"{path}?{query}", field=field)
        assert problem["detail"] == f"{field}: there is no such parameter"


def test_pages_that_people_open_take_any_parameter(server):
    with server.client() as client:
        for path in ("/", "/docs", "/healthz", "/readyz"):
            assert client.request("GET", path + "?from=mail").status == 200


def test_a_refusal_for_a_bound_names_the_bound(server):
    ann = server.user()
    post = ann.publish()["id"]
    story = ann.story()
    for method, path, body, detail in (
            ("GET", "/v1/inbox?limit=101", None, "limit: 1 to 100"),
            ("GET", "/v1/inbox?limit=0", None, "limit: 1 to 100"),
            ("GET", "/v1/inbox?limit=x", None, "limit: 1 to 100"),
            ("GET", "/v1/inbox?author_id=0", None, "author_id: a whole number from 1 to 9007199254740991"),
            ("POST", "/v1/relation/follow", {"user_id": 0}, "user_id: a whole number from 1 to 9007199254740991"),
            ("POST", "/v1/posts", {"kind": "note", "title": ""}, "title: 1 to 200 characters"),
            ("POST", "/v1/posts", {"kind": "note", "title": "t", "body": "b" * 65537}, "body: at most 65536 bytes"),
            ("POST", f"/v1/posts/{post}/comments", {"body": ""}, "body: 1 to 4000 characters"),
            ("PUT", "/v1/users/me", {"name": "n" * 65}, "name: at most 64 characters"),
            ("PUT", "/v1/users/me", {"avatar": "https://a/" + "n" * 503},
             "avatar: a URL of http or https of at most 512 bytes, or empty"),
            ("PUT", "/v1/users/me", {"avatar": "javascript:alert(1)"},
             "avatar: a URL of http or https of at most 512 bytes, or empty"),
            ("GET", "/v1/users/search?prefix=a&limit=101", None, "limit: 1 to 100"),
            ("GET", "/v1/users/search?prefix=", None, "prefix: 1 to 64 characters"),
            ("POST", "/v1/inbox/mark-read", {"post_ids": [1] * 501}, "post_ids: 1 to 500 ids"),
            ("POST", "/v1/notifications/mark-read", {"ids": []}, "ids: 1 to 500 ids"),
            ("POST", f"/v1/stories/{story}/scenes", {"title": "t", "messages": [""]},
             "messages: at most 1000, each of 1 to 4000 characters"),
            ("POST", "/v1/posts", {"kind": "blog", "title": "t"}, "kind: one of note, activity, story"),
            ("POST", "/v1/posts", {"title": "t"}, "kind: one of note, activity, story"),
            ("POST", "/v1/posts", {"kind": "note"}, "title: missing"),
            ("POST", "/v1/posts", {"kind": "note", "title": 7}, "title: a string"),
            ("GET", "/v1/hot?kind=blog", None, "kind: one of note, activity, story"),
            ("POST", "/v1/relation/follow", {"user_id": ann.id}, "user_id: your own id: nobody follows oneself"),
            ("POST", "/v1/relation/unfollow", {"user_id": ann.id}, "user_id: your own id: nobody follows oneself"),
            ("POST", "/v1/relation/follow", {"user_id": 2 ** 53},
             "user_id: a whole number from 1 to 9007199254740991"),
            ("POST", "/v1/relation/unfollow", {"user_id": 5, "purge_inbox": 1}, "purge_inbox: true or false")):
        problem = ann.refused(400, "invalid", method, path, body)
        assert problem["detail"] == detail and problem["field"] == detail.split(":")[0]


@pytest.mark.parametrize("text, where", [
    (b"", "the request needs a JSON object"), (b"[]", "the request needs a JSON object"),
    (b"{\"kind\": note}", "line 1, column 13 of the request: not JSON"),
    (b"{\n\"kind\": \"note\",\n}", "line 3, column 1 of the request: not JSON"),
    (b"{\"kind\": \"note\"", "line 1, column 15 of the request: it ends too early"),
    (b"{\"a\":1,\n\"a\":2}", "line 2, column 3 of the request: a name is there twice"),
    (b"{} x", "line 1, column 4 of the request: something follows the object"),
    (b"{\"a\":\"\xff\"}", "line 1, column 6 of the request: not UTF-8"),
])
def test_broken_json_says_where(server, text, where):
    problem = server.user().refused(400, "invalid", "POST", "/v1/posts", text, field="body")
    assert problem["detail"] == "body: " + where


def test_a_refusal_says_who_may(server):
    ann, bob = server.users(2)
    post, story = ann.publish()["id"], ann.story()
    scene = ann.scene(story)["id"]
    comment = ann.expect(201, "POST", f"/v1/posts/{post}/comments", {"body": "c"})["id"]
    for actor, method, path, body, who in (
            (bob, "PATCH", f"/v1/posts/{post}", {"title": "t"}, "Only the post's author may"),
            (bob, "DELETE", f"/v1/posts/{post}", None, "Only the post's author or an admin may"),
            (bob, "DELETE", f"/v1/comments/{comment}", None, "Only the comment's author or an admin may"),
            (bob, "POST", f"/v1/stories/{story}/scenes", {"title": "t", "messages": []}, "Only the story's author may"),
            (bob, "PATCH", f"/v1/scenes/{scene}", {"title": "t"}, "Only the story's author may"),
            (bob, "DELETE", f"/v1/scenes/{scene}", None, "Only the story's author or an admin may"),
            (bob, "GET", "/v1/events", None, "Only a token of role service or admin may"),
            (bob, "GET", "/v1/admin/status", None, "Only a token of role admin may"),
            (server.service(), "GET", "/v1/admin/status", None, "Only a token of role admin may")):
        problem = actor.refused(403, "forbidden", method, path, body)
        assert problem["detail"].startswith(who), path


def test_json_ends_with_a_newline(server):
    ann = server.user()
    path, body, key = "/v1/posts", {"kind": "note", "title": "t"}, {"Idempotency-Key": "newline"}
    answers = [ann.send("GET", "/v1/inbox"), ann.send("GET", "/v1/nowhere"), ann.send("GET", "/v1/inbox?limit=0"),
               ann.send("GET", "/healthz"), ann.send("GET", "/readyz"), server.admin().send("GET", "/v1/admin/status"),
               server.admin().send("POST", "/v1/admin/verify"), ann.send("POST", path, body, key),
               ann.send("POST", path, body, key), ann.send("GET", "/v1/openapi.json"),
               ann.send("POST", path, b"x" * (1 << 18)), exchange(server, b"GET / HTTP/1.1\r\n\r\n")[0]]
    for answer in answers:
        assert answer.body.endswith(b"}\n") and not answer.body.endswith(b"\n\n"), answer
        assert int(answer.headers["content-length"]) == len(answer.body)
    assert answers[7].body == answers[8].body
    assert ann.send("DELETE", "/v1/history").body == b""
