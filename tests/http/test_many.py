"""SPEC 14: many at once, in the order asked, each as the single call answers it."""
import pytest

from support.client import new_user_id
from support.metrics import scrape

QUERIES = [("/users", "ids"), ("/relation/status", "user_ids"), ("/relation/counter", "user_ids"), ("/posts", "ids"),
           ("/posts/stats", "ids")]


def joined(ids):
    return ",".join(map(str, ids))


def test_profiles(server):
    ann, bob = server.users(2)
    bob.expect(200, "PUT", "/v1/users/me", {"name": "Bob", "avatar": "https://example.org/b.png"})
    ids = [bob.id, new_user_id(), ann.id, bob.id]
    items = ann.get("/users", ids=joined(ids))["items"]
    assert [item.pop("found") for item in items] == [True, False, False, True]
    assert items == [ann.get(f"/users/{user}") for user in ids]


def test_statuses(server):
    ann, bob, cid = server.users(3)
    ann.follow(bob), bob.follow(ann), cid.follow(ann)
    ids = [cid.id, bob.id, new_user_id(), ann.id]
    assert ann.get("/relation/status", user_ids=joined(ids))["items"] == [
        {"user_id": user, **ann.get("/relation/status", user_id=user)} for user in ids]
    assert ann.get("/relation/status", user_ids=bob.id)["items"][0]["mutual"] is True


def test_counters(server):
    ann, bob = server.users(2)
    ann.follow(bob)
    bob.publish()
    ids = [bob.id, ann.id, new_user_id()]
    items = ann.get("/relation/counter", user_ids=joined(ids))["items"]
    assert items == [{"user_id": user, **ann.get("/relation/counter", user_id=user)} for user in ids]
    assert [item["posts"] for item in items] == [1, 0, 0]


def test_posts_and_their_stats(server):
    ann, bob = server.users(2)
    first, gone, last = (bob.publish(title=f"Post {i}")["id"] for i in range(3))
    ann.react(f"/posts/{first}/like")
    bob.delete(gone)
    ids = [last, gone, first, 5, first]
    posts = ann.get("/posts", ids=joined(ids))["items"]
    assert posts[1] == {"id": gone, "found": False, "is_deleted": True}
    assert posts[3] == {"id": 5, "found": False, "is_deleted": False}
    for i in (0, 2, 4):
        assert posts[i] == {**ann.get(f"/posts/{ids[i]}"), "found": True}
    stats = ann.get("/posts/stats", ids=joined(ids))["items"]
    assert stats[1] == {"post_id": gone, "found": False, "is_deleted": True}
    assert stats[3] == {"post_id": 5, "found": False, "is_deleted": False}
    for i in (0, 2, 4):
        assert stats[i] == {**ann.get(f"/posts/{ids[i]}/stats"), "post_id": ids[i], "found": True}
    assert [posts[i]["liked"] for i in (0, 2)] == [False, True]
    # As with one: what is deleted only admins may still count.
    assert server.admin().get("/posts/stats", ids=gone)["items"][0]["found"] is True


def test_an_answer_that_would_be_too_large_is_refused(server):
    ann = server.user()
    long = ann.publish(body="x" * 65536)["id"]
    assert len(ann.get("/posts", ids=joined([long] * 31))["items"]) == 31
    for n in (32, 100):
        problem = ann.refused(400, "invalid", "GET", f"/v1/posts?ids={joined([long] * n)}", field="ids")
        assert "4 MiB" in problem["detail"]


@pytest.mark.parametrize("path, name", QUERIES)
def test_lists_of_ids_are_strict(server, path, name):
    ann = server.user()
    most = list(range(1, 101))
    assert len(ann.get(path, **{name: joined(most)})["items"]) == 100
    for bad in ("", ",", "1,", ",1", "1,,2", "0", "1,0", "01", "-1", "1, 2", "1;2", "x", 2 ** 53, joined([*most, 101])):
        problem = ann.refused(400, "invalid", "GET", f"/v1{path}?{name}={bad}".replace(" ", "%20"), field=name)
        assert problem["detail"] == f"{name}: 1 to 100 ids, separated by commas"
    if name == "user_ids":
        ann.refused(400, "invalid", "GET", f"/v1{path}?user_ids=1&user_id=1", field="user_id")
    else:
        ann.refused(400, "invalid", "GET", f"/v1{path}", field=name)


def test_badges(server):
    gateway, author = server.service(), server.user()
    fans = server.users(3)
    for fan in fans:
        fan.follow(author)
        author.publish()
    ids = [fans[2].id, fans[0].id, new_user_id(), fans[0].id, fans[1].id]
    assert gateway.post("/inbox/badges", {"user_ids": ids}) == {"items": [
        {"user_id": user, "total": total} for user, total in zip(ids, (1, 3, 0, 3, 2))]}
    author.refused(403, "forbidden", "POST", "/v1/inbox/badges", {"user_ids": ids})
    for bad in ([], [0], [2 ** 53], ["1"], None, list(range(1, 1002))):
        gateway.refused(400, "invalid", "POST", "/v1/inbox/badges", {"user_ids": bad}, field="user_ids")
    # It only reads: a key does not keep it from being asked anew.
    key = {"Idempotency-Key": "k"}
    body = {"user_ids": [fans[0].id]}
    before = gateway.send("POST", "/v1/inbox/badges", body, headers=key).json
    author.publish()
    assert gateway.send("POST", "/v1/inbox/badges", body, headers=key).json["items"][0]["total"] == 4 != before


def server_seconds(server):
    """Spent on badges so far, from the whole request to its answer."""
    return scrape(server).get("tidings_request_seconds_sum", operation="listBadges")


def test_a_thousand_badges_in_one_call(server, measure):
    gateway, author = server.service(), server.user()
    fans = [new_user_id() for _ in range(1000)]
    for fan in fans:
        gateway.send("POST", "/v1/relation/follow", {"user_id": author.id}, headers={"X-User-Id": str(fan)})
    author.publish()
    body, best = {"user_ids": fans}, float("inf")
    for _ in range(20):
        before = server_seconds(server)
        answer = gateway.post("/inbox/badges", body)
        best = min(best, server_seconds(server) - before)
    assert [item["total"] for item in answer["items"]] == [1] * 1000
    measure(f"1,000 badges in one call: {best * 1e6 / 1000:.2f} µs each on the server")
