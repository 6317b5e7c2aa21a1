"""RateLimit and RateLimit-Policy: what is left of a bucket, told by whatever asked it."""
import re

import pytest

NEVER = 3_600_000  # milliseconds until a token comes back: not while a test runs


def limits(answer):
    """(name, q, w, r, t) of the two headers; None if there are none."""
    policy, limit = answer.headers.get("ratelimit-policy"), answer.headers.get("ratelimit")
    assert (policy is None) == (limit is None)
    if policy is None:
        return None
    name, q, w = re.fullmatch(r'"([a-z]+)";q=(\d+);w=(\d+)', policy).groups()
    same, r, t = re.fullmatch(r'"([a-z]+)";r=(\d+);t=(\d+)', limit).groups()
    assert same == name
    return name, int(q), int(w), int(r), int(t)


def calls(server, viewer):
    """For each bucket a call that asks it and does not fail."""
    author = server.user()
    post = author.publish()["id"]
    return {
        "follow": ("POST", "/v1/relation/follow", {"user_id": author.id}),
        "react": ("PUT", f"/v1/posts/{post}/like", None),
        "comment": ("POST", f"/v1/posts/{post}/comments", {"body": "b"}),
        "publish": ("POST", "/v1/posts", {"kind": "note", "title": "t", "body": "b"}),
    }


@pytest.mark.parametrize("name", ["follow", "react", "comment", "publish"])
def test_a_bucket_counts_down_to_429(make_server, name):
    server = make_server(settings={f"{name}_burst": 3, f"{name}_refill_ms": NEVER})
    viewer = server.user()
    call = calls(server, viewer)[name]
    for left in (2, 1, 0):
        answer = viewer.send(*call)
        assert answer.status in (200, 201)
        told = limits(answer)
        assert told[:4] == (name, 3, 3 * 3600, left) and 3590 <= told[4] <= 3600
    refused = viewer.send(*call)
    told = limits(refused)
    assert refused.status == 429 and told[:4] == (name, 3, 3 * 3600, 0)
    assert told[4] == int(refused.headers["retry-after"])
    other = server.user()
    assert limits(other.send(*call))[3] == 2
    assert limits(server.service(acting_for=other.id).send(*call)) is None


def test_defaults_as_the_specification_has_them(make_server):
    server = make_server(settings={"publish_burst": 60})
    viewer = server.user()
    told = {name: limits(viewer.send(*call)) for name, call in calls(server, viewer).items()}
    assert told["follow"][:3] == ("follow", 100, 100) and told["react"][:3] == ("react", 600, 60)
    assert told["comment"][:3] == ("comment", 60, 60) and told["publish"][:3] == ("publish", 60, 60)


def test_only_what_asks_a_bucket_tells_of_one(server):
    viewer, author = server.users(2)
    assert limits(viewer.send("GET", "/v1/inbox/badge")) is None
    assert limits(viewer.send("PUT", "/v1/users/me", {"name": "n"})) is None
    assert limits(viewer.send("POST", "/v1/posts", {"kind": "note"})) is None  # 400: it was not asked
    missing = viewer.send("PUT", "/v1/posts/9007199254740991/like")
    assert missing.status == 404 and limits(missing) is None  # and nothing was spent
    assert limits(viewer.send("POST", "/v1/relation/unfollow", {"user_id": author.id}))[0] == "follow"
    settings = viewer.send("PUT", "/v1/settings", {"story_updates": False})
    assert limits(settings)[0] == "follow"
    assert limits(viewer.send("PUT", "/v1/settings", {"story_updates": False})) is None  # no change


def test_a_repeat_by_key_asks_none(server):
    viewer = server.user()
    call = ("POST", "/v1/posts", {"kind": "note", "title": "t", "body": "b"}, {"Idempotency-Key": "once"})
    first, again = viewer.send(*call), viewer.send(*call)
    assert first.json == again.json
    assert limits(first)[0] == "publish" and limits(again) is None
