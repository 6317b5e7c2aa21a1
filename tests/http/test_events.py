"""SPEC 10: events, for services and admins."""
from support.events import tail


def newest(server):
    rows = tail(server.service(), 0)
    return rows[-1]["event_id"] if rows else 0


def brief(rows, *users):
    return [(row["type"], row["actor_user_id"], row["target_type"], row["target_id"], row["action"], row["delta"],
             row["author_id"]) for row in rows if row["actor_user_id"] in users]


def test_every_change_writes_its_event_in_order(make_server):
    server = make_server()
    service, admin = server.service(), server.admin()
    ann, bob = server.users(2)
    ann.expect(200, "PUT", "/v1/users/me", {"name": "Ann"})
    ann.follow(bob)
    post, other = bob.publish()["id"], bob.publish()["id"]
    bob.expect(200, "PATCH", f"/v1/posts/{post}", {"title": "New"})
    ann.open(post)
    ann.mark_read(up_to=ann.get("/inbox")["as_of"])
    bob.delete(post)
    admin.delete(other)
    ann.unfollow(bob)
    ann.unfollow(bob, purge_inbox=True)
    rows = tail(service, 0)
    assert brief(rows, ann.id, bob.id, admin.id) == [
        ("ProfileChanged", ann.id, "user", ann.id, "profile", 0, None),
        ("FollowCreated", ann.id, "user", bob.id, "follow", 1, None),
        ("PostPublished", bob.id, "post", post, "publish", 1, bob.id),
        ("PostPublished", bob.id, "post", other, "publish", 1, bob.id),
        ("PostEdited", bob.id, "post", post, "edit", 0, bob.id),
        ("PostDeleted", bob.id, "post", post, "delete", -1, bob.id),
        ("PostDeleted", admin.id, "post", other, "delete", -1, bob.id),
        ("FollowCanceled", ann.id, "user", bob.id, "unfollow", -1, None),
        ("InboxPurged", ann.id, "user", bob.id, "purge", -2, None),
    ]
    assert [row["event_id"] for row in rows] == sorted({row["event_id"] for row in rows})
    assert [row["happened_at"] for row in rows] == sorted(row["happened_at"] for row in rows)
    assert tail(admin, 0, limit=1) == tail(service, 0, limit=3) == rows


def test_what_changes_nothing_writes_nothing(server):
    service = server.service()
    ann, bob = server.users(2)
    ann.follow(bob)
    post = bob.publish("Same", "same")["id"]
    before = newest(server)
    ann.follow(bob)
    bob.unfollow(ann)
    bob.expect(200, "PATCH", f"/v1/posts/{post}", {"title": "Same"})
    ann.refused(403, "forbidden", "DELETE", f"/v1/posts/{post}")
    ann.refused(400, "invalid", "POST", "/v1/relation/follow", {"user_id": ann.id})
    ann.open(post)
    assert brief(tail(service, before), ann.id, bob.id) == []


def test_reading_events_are_a_setting(make_server):
    server = make_server(settings={"read_events": 1})
    ann, bob = server.users(2)
    ann.follow(bob)
    posts = [bob.publish()["id"] for _ in range(3)]
    after = newest(server)
    ann.open(posts[0])
    ann.open(posts[0])
    ann.mark_read(up_to=ann.get("/inbox")["as_of"])
    ann.post("/inbox/mark-unread", {"post_ids": [posts[0]]})
    kinds = [row["type"] for row in tail(server.service(), after)]
    assert kinds[0] == "PostRead" and kinds[-1] == "PostUnread" and kinds.count("PostRead") == 1


def test_positions(server):
    service = server.service()
    server.user().publish()
    first = service.get("/events", limit=1)["items"][0]
    assert service.get("/events", after=first["event_id"] - 1, limit=1)["items"][0] == first
    far = service.get("/events", after=2 ** 53 - 1)
    assert far == {"items": [], "next_after": 2 ** 53 - 1}
    for bad in ("-1", "x", "", "01", "1.0", str(2 ** 53), "9" * 40):
        service.refused(400, "invalid", "GET", f"/v1/events?after={bad}", field="after")
    for bad in ("0", "101", "-1", "x", ""):
        service.refused(400, "invalid", "GET", f"/v1/events?limit={bad}", field="limit")
    service.refused(400, "invalid", "GET", "/v1/events?cursor=abc", field="cursor")


def test_events_survive_a_restart(make_server):
    server = make_server()
    ann = server.user()
    ann.publish()
    service = server.service()
    before = tail(service, 0)
    server.restart()
    assert tail(service, 0) == before
