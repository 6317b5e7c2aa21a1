"""SPEC 2: who follows whom."""
import itertools

import pytest

from support.client import new_user_id

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
