"""SPEC 2: who follows whom."""
import itertools

import pytest

from support.client import Client, new_user_id
from support.tokens import token

ZERO = {"following": 0, "followers": 0, "posts": 0, "liked_posts": 0, "faved_posts": 0, "likes_received": 0,
        "favs_received": 0}


def test_follow_is_idempotent(server):
    ann, bob = server.users(2)
    assert ann.follow(bob) == {"changed": True, "following": True, "mutual": False}
    assert ann.follow(bob) == {"changed": False, "following": True, "mutual": False}
    assert ann.get("/relation/counter")["following"] == 1
    assert bob.get("/relation/counter")["followers"] == 1


def test_unfollow_is_idempotent(server):
    ann, bob = server.users(2)
    assert ann.unfollow(bob) == {"changed": False, "following": False, "purged": 0}
    ann.follow(bob)
    assert ann.unfollow(bob) == {"changed": True, "following": False, "purged": 0}
    assert ann.unfollow(bob)["changed"] is False
    assert ann.get("/relation/counter") == ZERO
    assert bob.get("/relation/counter") == ZERO


def test_mutual_and_status_from_both_sides(server):
    ann, bob = server.users(2)
    ann.follow(bob)
    assert ann.get("/relation/status", user_id=bob.id) == {"following": True, "followed_by": False, "mutual": False}
    assert bob.get("/relation/status", user_id=ann.id) == {"following": False, "followed_by": True, "mutual": False}
    assert bob.follow(ann)["mutual"] is True
    assert ann.get("/relation/status", user_id=bob.id) == {"following": True, "followed_by": True, "mutual": True}
    ann.unfollow(bob)
    assert bob.get("/relation/status", user_id=ann.id) == {"following": True, "followed_by": False, "mutual": False}


def test_status_with_oneself_is_no_error(server):
    ann = server.user()
    assert ann.get("/relation/status", user_id=ann.id) == {"following": False, "followed_by": False, "mutual": False}


def test_following_oneself_is_refused(server):
    ann = server.user()
    ann.refused(400, "invalid", "POST", "/v1/relation/follow", {"user_id": ann.id}, field="user_id")
    ann.refused(400, "invalid", "POST", "/v1/relation/unfollow", {"user_id": ann.id}, field="user_id")
    assert ann.get("/relation/counter") == ZERO


def test_counters_of_another_and_of_nobody(server):
    ann, bob = server.users(2)
    bob.publish()
    assert ann.get("/relation/counter", user_id=bob.id) == {**ZERO, "posts": 1}
    assert ann.get("/relation/counter", user_id=new_user_id()) == ZERO


def test_lists_are_newest_first_with_profiles(server):
    ann, *others = server.users(4)
    others[1].expect(200, "PUT", "/v1/users/me", {"name": "Bea", "avatar": "https://example.org/b.png"})
    for other in others:
        ann.follow(other)
    rows = ann.get("/relation/following")["items"]
    assert [row["user_id"] for row in rows] == [other.id for other in reversed(others)]
    assert rows[1]["name"] == "Bea" and rows[1]["avatar"] == "https://example.org/b.png"
    assert rows[0]["name"] == rows[0]["avatar"] == ""
    assert [row["since"] for row in rows] == sorted((row["since"] for row in rows), reverse=True)
    back = others[0].get("/relation/followers")["items"]
    assert [row["user_id"] for row in back] == [ann.id]
    assert back[0]["since"] == rows[2]["since"]


def test_lists_of_another_user(server):
    ann, bob, cem = server.users(3)
    ann.follow(bob)
    assert [row["user_id"] for row in cem.rows("/relation/following", user_id=ann.id)] == [bob.id]
    assert [row["user_id"] for row in cem.rows("/relation/followers", user_id=bob.id)] == [ann.id]
    assert cem.rows("/relation/following") == []


def test_refollow_moves_to_the_top_of_both_lists(server):
    ann, bob, cem = server.users(3)
    ann.follow(bob)
    ann.follow(cem)
    cem.follow(bob)
    ann.unfollow(bob)
    assert ann.follow(bob)["changed"] is True
    assert [row["user_id"] for row in ann.rows("/relation/following")] == [bob.id, cem.id]
    assert [row["user_id"] for row in ann.rows("/relation/followers", user_id=bob.id)] == [ann.id, cem.id]


@pytest.mark.parametrize("limit", [1, 7, 20, 100])
def test_paging_of_many_in_one_millisecond_neither_skips_nor_repeats(server, limit):
    """60 follows sent as fast as they go share milliseconds; every page size sees each once."""
    star = server.user()
    fans = [new_user_id() for _ in range(60)]
    service = server.service()
    for fan in fans:
        service.acting_for = fan
        service.follow(star)
    rows = star.rows("/relation/followers", limit)
    assert [row["user_id"] for row in rows] == fans[::-1]
    service.acting_for = fan = new_user_id()
    for author in fans:
        service.follow(author)
    rows = star.rows("/relation/following", limit, user_id=fan)
    assert [row["user_id"] for row in rows] == fans[::-1]


@pytest.mark.parametrize("which", ["following", "followers"])
def test_paging_while_rows_are_added_and_removed(server, which):
    """Each page is followed by a change at the top; what was there at the start is seen once."""
    ann = server.user()
    service = server.service()

    def relate(other, follow=True):
        service.acting_for, to = (ann.id, other) if which == "following" else (other, ann.id)
        (service.follow if follow else service.unfollow)(to)

    first = [new_user_id() for _ in range(25)]
    for other in first:
        relate(other)
    seen, added = [], []
    for page in ann.pages(f"/relation/{which}", limit=4):
        seen += [row["user_id"] for row in page["items"]]
        added.append(new_user_id())
        relate(added[-1])
        if len(seen) == 8:
            relate(seen[0], follow=False)  # seen already: its going must not shift the rest
    assert seen == first[::-1]


def test_unfollow_keeps_the_inbox_and_purge_empties_it(server):
    ann, bob, cem = server.users(3)
    ann.follow(bob)
    ann.follow(cem)
    posts = [bob.publish()["id"] for _ in range(3)]
    other = cem.publish()["id"]
    ann.open(posts[0])
    assert ann.unfollow(bob) == {"changed": True, "following": False, "purged": 0}
    assert len(ann.inbox()) == 4 and ann.check_adds_up() == 3
    unread = {row["user_id"]: row for row in ann.get("/inbox/unread")["authors"]}
    assert unread[bob.id]["unread"] == 2 and unread[bob.id]["following"] is False
    assert unread[cem.id]["following"] is True

    assert ann.unfollow(bob, purge_inbox=True) == {"changed": False, "following": False, "purged": 3}
    assert [row["post_id"] for row in ann.inbox()] == [other]
    assert ann.check_adds_up() == 1
    assert bob.id not in {row["user_id"] for row in ann.get("/inbox/unread")["authors"]}
    assert ann.unfollow(bob, purge_inbox=True)["purged"] == 0

    read = ann.rows(f"/users/{bob.id}/posts", read_status="read")
    assert [row["post_id"] for row in read] == [posts[0]], "what was read stays read"
    assert [row["post_id"] for row in ann.rows("/history")] == [posts[0]]


def test_purge_at_once_and_following_again_begins_anew(server):
    ann, bob = server.users(2)
    ann.follow(bob)
    bob.publish()
    assert ann.unfollow(bob, purge_inbox=True) == {"changed": True, "following": False, "purged": 1}
    bob.publish()
    ann.follow(bob)
    assert ann.inbox() == [] and ann.check_adds_up() == 0
    later = bob.publish()["id"]
    assert [row["post_id"] for row in ann.inbox()] == [later]


def test_purge_false_and_null_are_no_purge(server):
    ann, bob = server.users(2)
    ann.follow(bob)
    bob.publish()
    for value in (False, None):
        assert ann.unfollow(bob, purge_inbox=value)["purged"] == 0
    assert ann.check_adds_up() == 1


def test_rate_limit_over_follow_and_unfollow_together(make_server):
    server = make_server(settings={"follow_burst": 5, "follow_refill_ms": 3_600_000})
    ann, bob, cem = server.users(3)
    ann.follow(bob)
    ann.follow(bob)  # a repeat spends a token, too
    ann.unfollow(bob)
    ann.follow(bob)
    ann.follow(cem)
    for path in ("follow", "unfollow"):
        answer = ann.send("POST", f"/v1/relation/{path}", {"user_id": bob.id})
        assert answer.status == 429 and answer.json["code"] == "rate_limited"
        assert 3500 < int(answer.headers["retry-after"]) <= 3600
    assert ann.get("/relation/counter")["following"] == 2, "nothing written"
    bob.follow(ann)  # its own bucket
    service = server.service(acting_for=ann.id)
    assert service.unfollow(bob)["changed"] is True, "services are free of it"
    admin = server.admin()
    for author in itertools.islice(iter(new_user_id, None), 8):
        admin.follow(author)
    server.restart()
    ann.refused(429, "rate_limited", "POST", "/v1/relation/follow", {"user_id": bob.id})


def test_rate_limit_gives_tokens_back_with_time(make_server):
    server = make_server(settings={"follow_burst": 2, "follow_refill_ms": 200})
    ann, bob = server.users(2)
    statuses = [ann.send("POST", "/v1/relation/follow", {"user_id": bob.id}).status for _ in range(20)]
    assert statuses[:2] == [200, 200] and 429 in statuses
    answer = ann.send("POST", "/v1/relation/follow", {"user_id": bob.id})
    while answer.status == 429:
        assert answer.headers["retry-after"] == "1"
        answer = ann.send("POST", "/v1/relation/follow", {"user_id": bob.id})
    assert answer.status == 200


def test_bad_arguments_spend_no_token(make_server):
    server = make_server(settings={"follow_burst": 1, "follow_refill_ms": 3_600_000})
    ann, bob = server.users(2)
    for _ in range(3):
        ann.refused(400, "invalid", "POST", "/v1/relation/follow", {"user_id": 0})
    ann.follow(bob)


def test_following_limit(make_server):
    server = make_server(settings={"following_max": 3})
    ann, bob = server.users(2)
    for author in (new_user_id(), new_user_id(), bob.id):
        ann.follow(author)
    last = new_user_id()
    problem = ann.refused(403, "following_limit", "POST", "/v1/relation/follow", {"user_id": last})
    assert "field" not in problem
    assert ann.follow(bob)["changed"] is False, "a repeat is not one more"
    ann.unfollow(bob)
    assert ann.follow(last)["changed"] is True


@pytest.mark.long
def test_the_5001st_follow_is_refused(server):
    service = server.service(acting_for=new_user_id())
    for _ in range(5000):
        service.follow(new_user_id())
    service.refused(403, "following_limit", "POST", "/v1/relation/follow", {"user_id": new_user_id()})
    assert service.get("/relation/counter")["following"] == 5000
    assert len(service.rows("/relation/following", 100)) == 5000
    assert len(service.get("/inbox/unread")["authors"]) == 5000


# ---- Paths without a version --------------------------------------------------------------------

def bare(actor, method, path, body=None, headers=None):
    return actor.send(method, "/relation" + path, body, headers)


def test_changes_are_the_same_without_a_version(server):
    for body in ({}, {"user_id": 0}, {"user_id": "7"}, {"user_id": 7, "more": 1}, None):
        for path in ("/follow", "/unfollow"):
            ann = server.user()
            with_version = ann.send("POST", "/v1/relation" + path, body).json
            assert with_version["status"] == 400 and bare(ann, "POST", path, body).json == with_version
    ann, bob, cem = server.users(3)
    for author, send in ((bob, lambda *what: ann.send(what[0], "/v1/relation" + what[1], what[2])), (cem, lambda *what: bare(ann, *what))):
        answers = [send("POST", path, {"user_id": author.id}).json for path in ("/follow", "/follow", "/unfollow", "/unfollow", "/follow")]
        assert [answer["changed"] for answer in answers] == [True, False, True, False, True]
        assert answers[0] == {"changed": True, "following": True, "mutual": False}
    assert {row["user_id"] for row in ann.get("/relation/following")["items"]} == {bob.id, cem.id}


@pytest.mark.parametrize("path", ["/status?user_id={bob}", "/status?user_ids={bob},{ann}", "/following?limit=1", "/followers?user_id={bob}",
                                  "/counter", "/counter?user_ids={bob},{ann}", "/status", "/following?limit=0", "/counter?more=1"])
def test_questions_are_the_same_without_a_version(server, path):
    ann, bob, cem = server.users(3)
    ann.follow(bob)
    ann.follow(cem)
    path = path.format(ann=ann.id, bob=bob.id)
    answer, other = ann.send("GET", "/v1/relation" + path), bare(ann, "GET", path)
    assert (other.status, other.json) == (answer.status, answer.json)
    if cursor := answer.json.get("next_cursor"):
        assert bare(ann, "GET", f"/following?cursor={cursor}").json == ann.get("/relation/following", cursor=cursor)


def test_only_relations_have_no_version(server):
    ann = server.user()
    for path in ("/relation", "/relation/", "/relation/follows", "/relation/follow/", "/relationship/follow", "/inbox", "/relation/inbox",
                 "/relation/v1/relation/follow", "/v1/v1/relation/follow", "//relation/follow"):
        ann.refused(404, "not_found", "GET", path)
    assert bare(ann, "GET", "/follow").headers["allow"] == ann.send("GET", "/v1/relation/follow").headers["allow"] == "POST"


def test_who_may_is_the_same_without_a_version(server):
    ann = server.user()
    with Client(server) as client:
        assert client.request("GET", "/relation/counter").json["code"] == "token_missing"
        bearer = {"Authorization": "Bearer " + token(server.secret, ann.id, scope="inbox:read relation:write")}
        for path in ("/v1/relation/counter", "/relation/counter"):
            answer = client.request("GET", path, headers=bearer)
            assert answer.status == 403 and answer.json["detail"] == "scope: the token lacks relation:read."


def test_an_idempotency_key_is_of_the_path_as_it_was_asked(server):
    ann, bob = server.users(2)
    key, body = {"Idempotency-Key": "one of ann's"}, {"user_id": bob.id}
    first = ann.send("POST", "/v1/relation/follow", body, key).json
    ann.unfollow(bob)
    again = bare(ann, "POST", "/follow", body, key).json
    assert first == again and again["changed"]
    assert ann.get("/relation/counter")["following"] == 1, "another path, so done again"
    ann.unfollow(bob)
    assert bare(ann, "POST", "/follow", body, key).json == again
    assert ann.get("/relation/counter")["following"] == 0, "a repeat of the same path does nothing"


def test_both_paths_are_one_bucket_and_one_metric(make_server):
    server = make_server(settings={"follow_burst": 3, "follow_refill_ms": 3_600_000})
    ann = server.user()
    for path in ("/v1/relation/follow", "/relation/follow", "/relation/unfollow"):
        assert ann.send("POST", path, {"user_id": new_user_id()}).status == 200
    assert ann.send("POST", "/v1/relation/follow", {"user_id": 7}).status == 429
    assert bare(ann, "POST", "/follow", {"user_id": 7}).status == 429
    with Client(server) as client:
        text = client.request("GET", "/metrics").body.decode()
    assert 'tidings_requests_total{operation="follow",status="200"} 2' in text
    assert 'tidings_requests_total{operation="none"' not in text
