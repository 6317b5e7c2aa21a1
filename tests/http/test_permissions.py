"""Every route x everybody, generated from the table of routes."""
import json
import re

import pytest

from support.client import Client, new_user_id
from support.server import routes
from support.tokens import token

BODIES = {
    "replayTarget": lambda w: {"after": 1},
    "follow": lambda w: {"user_id": w["author"].id},
    "unfollow": lambda w: {"user_id": w["author"].id},
    "setProfile": lambda w: {"name": "n"},
    "publish": lambda w: {"kind": "note", "title": "t"},
    "editPost": lambda w: {"title": "edited"},
    "markRead": lambda w: {"post_ids": [w["post"]]},
    "markUnread": lambda w: {"post_ids": [w["post"]]},
    "backup": lambda w: {"name": "b"},
    "createComment": lambda w: {"body": "c"},
    "publishScene": lambda w: {"title": "t", "messages": []},
    "editScene": lambda w: {"title": "edited"},
    "setReading": lambda w: {"scene_id": w["scene"]},
    "markNotifications": lambda w: {"ids": [w["scene"]]},
    "setSettings": lambda w: {"story_updates": True},
    "setWebhook": lambda w: WEBHOOK,
    "listBadges": lambda w: {"user_ids": [w["reader"].id]},
}
WEBHOOK = {"url": "https://push.example.org/", "secret": "a secret of some length"}
QUERIES = {"relationStatus": "?user_id=5", "listProfiles": "?ids=5", "searchProfiles": "?prefix=a", "listPostsById": "?ids=5", "listPostStats": "?ids=5", "getPostByKey": "?key=a"}
HEADERS = {"createSession": {"Tidings-Session": "user"}, "deleteSession": {"Tidings-Session": "user"}}
WHO = ["no token", "bad token", "user", "other user", "service", "service for user", "admin", "user for other",
       "admin for other"]

# What a right token is still refused for, by the state of the world below: the author of the post
# and of the comment is `user`; the post is in the inbox of `reader`, whom the service acts for. So with the story.
OWNER_ONLY = {"editPost": {"user"}, "deletePost": {"user", "admin"}, "deleteComment": {"user", "admin"},
              "publishScene": {"user"}, "editScene": {"user"}, "deleteScene": {"user", "admin"}}
READER_ONLY = {"markRead", "markUnread", "markNotifications"}


def world(server):
    """A post of a user, delivered to a reader, with a comment; a story that the reader subscribes to, with a scene."""
    author, reader = server.user(), server.user()
    reader.follow(author)
    post = author.publish()["id"]
    story = author.story()
    reader.subscribe(story)
    return {"author": author, "reader": reader, "post": post, "comment": author.comment(post)["id"], "story": story,
            "scene": author.scene(story)["id"]}


def headers_of(who, w, server):
    def bearer(user, role=None):
        return {"Authorization": "Bearer " + token(server.secret, user, role)}

    return {
        "no token": {},
        "bad token": {"Authorization": "Bearer " + token("another secret, also of 32 bytes or more", w["author"].id)},
        "user": bearer(w["author"].id),
        "other user": bearer(new_user_id()),
        "service": bearer(new_user_id(), "service"),
        "service for user": {**bearer(new_user_id(), "service"), "X-User-Id": str(w["reader"].id)},
        "admin": bearer(new_user_id(), "admin"),
        "user for other": {**bearer(w["author"].id), "X-User-Id": str(w["reader"].id)},
        "admin for other": {**bearer(new_user_id(), "admin"), "X-User-Id": str(w["reader"].id)},
    }[who]


def expected(route, who):
    """The status that this caller must get."""
    name, access, good = route["operation"], route["access"], route["status"]
    role = {"service": "service", "service for user": "service", "admin": "admin",
            "admin for other": "admin"}.get(who, "user")
    if access == "public":
        return good
    if who in ("no token", "bad token"):
        return 401
    if access == "service" and role == "user" or access == "admin" and role != "admin":
        return 403
    if who in ("user for other", "admin for other"):
        return 403
    if name in OWNER_ONLY and who not in OWNER_ONLY[name]:
        return 403
    if name in READER_ONLY and who != "service for user":
        return 404
    if name in ("follow", "unfollow") and who == "user":
        return 400  # oneself
    if name == "getPostByKey":
        return 404  # nothing was imported
    if name in ("rebuildTarget", "reconcileTarget"):
        return 501  # not what a webhook can do
    if name == "backup":
        return 409  # there is nowhere to write to
    return good


@pytest.mark.parametrize("who", WHO)
@pytest.mark.parametrize("route", routes(), ids=lambda r: r["operation"])
def test_matrix(server, route, who):
    name = route["operation"]
    w = world(server)
    path = route["path"].format(user_id=w["author"].id, post_id=w["post"], comment_id=w["comment"],
                                story_id=w["story"], scene_id=w["scene"], tag=f"story:{w['story']}",
                                name="webhook:matrix" if "/targets/" in route["path"] else "matrix")
    if name == "getAsset":
        page = w["reader"].send("GET", "/").body.decode()
        path = re.search(r'"(/assets/[^"]+[.]js)"', page).group(1)
    elif "{name}" in route["path"]:
        server.admin().expect(200, "PUT", "/v1/admin/webhooks/matrix", WEBHOOK)
    path += QUERIES.get(name, "")
    headers = {**headers_of(who, w, server), **HEADERS.get(name, {})}
    if name == "stream" and expected(route, who) == 200:
        method = "HEAD"  # a stream has no end; HEAD answers all the same
    else:
        method = route["method"]
    if name == "follow" and who == "user":
        body = {"user_id": w["author"].id}
    else:
        body = BODIES[name](w) if name in BODIES else None
    actor = w["reader"]
    with Client(server) as client:
        raw = json.dumps(body).encode() if body is not None else None
        answer = client.request(method, path, raw, headers)
    assert answer.status == expected(route, who), answer
    if answer.status in (401, 403) and method != "HEAD":
        wanted = "token_missing" if who == "no token" else "token_signature"
        assert answer.json["code"] == {401: wanted, 403: "forbidden"}[answer.status]
        post = actor.get(f"/posts/{w['post']}")
        assert post["title"] == "A title", "refused, and nothing done"
        assert post["stats"] == {"like_count": 0, "fav_count": 0, "comment_count": 1, "hot_score": 5}
        scenes = actor.get(f"/stories/{w['story']}/scenes")["items"]
        assert [scene["title"] for scene in scenes] == ["A scene"] and actor.unread() == 1


def test_service_acts_for_exactly_the_user_named(server):
    ann, bob = server.users(2)
    service = server.service(acting_for=ann.id)
    service.follow(bob)
    assert ann.get("/relation/counter")["following"] == 1
    assert server.user(service.id).get("/relation/counter")["following"] == 0
    post = service.publish()
    assert post["author_id"] == ann.id
    service.expect(200, "PUT", "/v1/users/me", {"name": "Ann"})
    assert bob.get(f"/users/{ann.id}")["name"] == "Ann"


@pytest.mark.parametrize("value", ["", "0", "-1", "x", "1 2", "1,2", "01", "9007199254740992", "9" * 40])
def test_bad_acting_users(server, value):
    service = server.service()
    service.refused(400, "invalid", "GET", "/v1/inbox", headers={"X-User-Id": value}, field="X-User-Id")


def test_acting_user_given_twice(server):
    service = server.service()
    with Client(server) as client:
        headers = [("Authorization", "Bearer " + service.bearer), ("X-User-Id", "5"), ("X-User-Id", "6")]
        answer = client.request("GET", "/v1/inbox/badge", headers=headers)
    assert answer.status == 400 and answer.json["field"] == "X-User-Id"


def test_users_see_only_their_own(server):
    ann, bob, author = server.users(3)
    ann.follow(author)
    post = author.publish()["id"]
    ann.open(post)
    assert bob.inbox() == [] and bob.rows("/history") == [] and bob.badge() == 0
    assert bob.get("/inbox/unread")["authors"] == []
    assert [row["is_read"] for row in bob.rows(f"/users/{author.id}/posts")] == [False]
