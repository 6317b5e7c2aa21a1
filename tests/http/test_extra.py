"""Own data of posts and profiles: kept byte for byte, given back where the rest is."""
import json

import pytest

MOST = 4096
ODD = (b'{ "b" :1.50,"a":[1e2 , -0.0,\t"\\u00e9 \xc3\xa9 \\/ \\"}],{"], \r\n"\\ud83d\\ude00":{"deep":[[],{},null,true,false]},'
       b'"9007199254740993":9007199254740993}')


def raw_extra(answer, behind=b'"extra":'):
    """What stands behind "extra", up to the end of the object."""
    text = answer.body.split(behind, 1)[1].decode()
    _, end = json.JSONDecoder().raw_decode(text)
    return text[:end].encode()


def send(actor, method, path, status, fields, extra):
    """The body is put together here: json.dumps would write it anew."""
    body = json.dumps(fields).encode()[:-1] + (b", " if fields else b"") + b'"extra" :  ' + extra + b" }"
    answer = actor.send(method, path, body)
    assert answer.status == status, answer
    return answer


def test_a_post_keeps_it_byte_for_byte(make_server):
    server = make_server()
    ann, bob = server.users(2)
    bob.follow(ann)
    made = send(ann, "POST", "/v1/posts", 201, {"kind": "note", "title": "t"}, ODD)
    post = made.json["id"]
    assert raw_extra(made) == ODD and made.json["extra"] == json.loads(ODD)

    def everywhere():
        return [ann.send("GET", f"/v1/posts/{post}"), bob.send("GET", f"/v1/posts?ids={post}"),
                bob.send("POST", f"/v1/posts/{post}/open")]

    assert [raw_extra(answer) for answer in everywhere()] == [ODD] * 3
    # What is left out, or null, stays as it is.
    for body in ({"title": "u"}, {"body": "b", "extra": None}):
        assert raw_extra(ann.send("PATCH", f"/v1/posts/{post}", body)) == ODD
    edited = send(ann, "PATCH", f"/v1/posts/{post}", 200, {}, b"{ }")
    assert raw_extra(edited) == b"{ }" and edited.json["title"] == "u" and edited.json["edited_at"]
    for actor in server.actors:
        actor.close()
    server.restart(how=9)
    assert [raw_extra(answer) for answer in everywhere()] == [b"{ }"] * 3
    # Lists have excerpts, and no such thing.
    for path in ("/v1/inbox", f"/v1/users/{ann.id}/posts", "/v1/hot?kind=note", "/v1/history"):
        assert "extra" not in bob.send("GET", path).json["items"][0]
    ann.delete(post)
    assert b"extra" not in ann.send("GET", f"/v1/posts/{post}").body
    for actor in server.actors:
        actor.close()
    server.stop()
    server.verify()


def test_a_profile_keeps_it_byte_for_byte(server):
    ann = server.user()
    assert ann.get(f"/users/{ann.id}")["extra"] is None
    assert raw_extra(send(ann, "PUT", "/v1/users/me", 200, {}, ODD)) == ODD
    row, = ann.get("/users", ids=ann.id)["items"]
    assert row == {"user_id": ann.id, "name": "", "avatar": "", "extra": json.loads(ODD), "found": True}
    assert raw_extra(ann.send("PUT", "/v1/users/me", {"name": "Ann", "extra": None})) == ODD
    for path in (f"/v1/users/{ann.id}", f"/v1/users?ids={ann.id}"):
        assert raw_extra(ann.send("GET", path)) == ODD
    assert raw_extra(send(ann, "PUT", "/v1/users/me", 200, {"avatar": "https://a"}, b"{}")) == b"{}"


def test_the_same_again_changes_nothing(server):
    ann = server.user()
    post = send(ann, "POST", "/v1/posts", 201, {"kind": "note", "title": "t"}, b'{"a":1}').json["id"]
    assert send(ann, "PATCH", f"/v1/posts/{post}", 200, {}, b'{"a":1}').json["edited_at"] is None
    assert send(ann, "PATCH", f"/v1/posts/{post}", 200, {}, b'{"a": 1}').json["edited_at"], "another text is another"


def test_a_repeat_with_a_key_gets_it_too(server):
    ann = server.user()
    body = b'{"kind":"note","title":"t","extra":' + ODD + b"}"
    answers = [ann.send("POST", "/v1/posts", body, {"Idempotency-Key": "extra"}) for _ in range(2)]
    assert answers[0].body == answers[1].body and raw_extra(answers[1]) == ODD


def test_its_name_may_be_written_with_escapes(server):
    ann = server.user()
    body = b'{"\\u0065xtra" : {"extra":{"x":"}"}} ,"title":"\\"extra\\":1","kind":"note"}'
    assert raw_extra(ann.send("POST", "/v1/posts", body)) == b'{"extra":{"x":"}"}}'


def test_how_long_and_how_deep_it_may_be(server):
    ann = server.user()
    longest = b'{"a":"' + b"x" * (MOST - 8) + b'"}'
    assert raw_extra(send(ann, "POST", "/v1/posts", 201, {"kind": "note", "title": "t"}, longest)) == longest
    deepest = b'{"a":' + b"[" * 31 + b"]" * 31 + b"}"
    assert raw_extra(send(ann, "PUT", "/v1/users/me", 200, {}, deepest)) == deepest
    for wrong in (longest.replace(b"x", b"xx", 1), longest[:-1] + b" }", deepest.replace(b"[", b"[[", 1).replace(b"]", b"]]", 1)):
        for method, path, fields in (("POST", "/v1/posts", {"kind": "note", "title": "t"}), ("PUT", "/v1/users/me", {})):
            problem = send(ann, method, path, 400, fields, wrong).json
            assert problem["field"] == "extra"
            assert problem["detail"] == "extra: a JSON object of at most 4096 bytes, 32 levels deep"


@pytest.mark.parametrize("wrong", ["[]", '"{}"', "1", "true", '""'])
def test_what_is_no_object(server, wrong):
    ann = server.user()
    for method, path, fields in (("POST", "/v1/posts", {"kind": "note", "title": "t"}), ("PUT", "/v1/users/me", {"name": "n"})):
        assert send(ann, method, path, 400, fields, wrong.encode()).json["field"] == "extra"


@pytest.mark.parametrize("wrong", ['{"a":1,"a":2}', '{"a":1,}', '{"a":\udcff}', '{"a":"\\ud800"}', "{"])
def test_what_makes_the_whole_body_no_json(server, wrong):
    ann = server.user()
    body = b'{"kind":"note","title":"t","extra":' + wrong.encode("utf-8", "surrogateescape") + b"}"
    assert ann.send("POST", "/v1/posts", body).status == 400


def test_a_number_too_large_for_anybody_is_its_fault(server):
    body = b'{"kind":"note","title":"t","extra":{"n":123456789012345678901234567890}}'
    server.user().refused(400, "invalid", "POST", "/v1/posts", body, field="extra")
