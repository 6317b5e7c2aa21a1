"""SPEC 9: subscriptions, notifications, settings, and the stream's part in it."""
import signal
import time

import pytest

from support.events import tail
from support.sse import Stream
from test_users_and_posts import CHINESE


@pytest.fixture
def listen():
    opened = []

    def make(actor, **how):
        opened.append(Stream(actor.server, actor.bearer, **how))
        return opened[-1]

    yield make
    for stream in opened:
        stream.close()


def mark(actor, **what):
    return actor.post("/notifications/mark-read", what)


def switch(actor, on):
    return actor.expect(200, "PUT", "/v1/settings", {"story_updates": on})


# ---- Subscriptions ------------------------------------------------------------------------------

def test_subscribe_and_unsubscribe(server):
    ann, bob = server.users(2)
    story = bob.story("The story")
    before = int(time.time() * 1000)
    assert ann.unsubscribe(story) == {"changed": False, "subscribed": False}
    assert ann.subscribe(story) == {"changed": True, "subscribed": True}
    assert ann.subscribe(story) == {"changed": False, "subscribed": True}
    row, = ann.rows("/subscriptions")
    assert row == {"story_id": story, "author_id": bob.id, "title": "The story", "since": row["since"],
                   "is_deleted": False}
    assert before - 1000 <= row["since"] <= time.time() * 1000 + 1000
    assert bob.rows("/subscriptions") == []
    assert ann.unsubscribe(story) == {"changed": True, "subscribed": False}
    assert ann.rows("/subscriptions") == []


def test_the_list_is_latest_first_and_pages(server):
    ann, bob = server.users(2)
    stories = [bob.story() for _ in range(5)]
    for story in stories:
        ann.subscribe(story)
    for limit in (1, 2, 5, 100):
        assert [row["story_id"] for row in ann.rows("/subscriptions", limit)] == stories[::-1]
    ann.unsubscribe(stories[0])
    ann.subscribe(stories[0])
    assert [row["story_id"] for row in ann.rows("/subscriptions", 2)] == [stories[0], *stories[:0:-1]]


def test_only_stories_that_are_there(server):
    ann, bob = server.users(2)
    note, story = bob.publish()["id"], bob.story("The story")
    for nothing in (note, 5, 2 ** 53 - 1):
        ann.refused(404, "not_found", "PUT", f"/v1/stories/{nothing}/subscription")
    ann.subscribe(story)
    bob.delete(story)
    cem = server.user()
    problem = cem.refused(410, "deleted", "PUT", f"/v1/stories/{story}/subscription")
    assert (problem["post_title"], problem["notice"]) == ("The story", CHINESE)
    assert [row["is_deleted"] for row in ann.rows("/subscriptions")] == [True]
    assert ann.unsubscribe(story)["changed"], "leaving is possible"
    assert ann.rows("/subscriptions") == []


def test_the_number_of_subscriptions_has_a_limit(make_server):
    server = make_server(settings={"subscriptions_max": 2})
    ann, bob = server.users(2)
    stories = [bob.story() for _ in range(3)]
    for story in stories[:2]:
        ann.subscribe(story)
    ann.refused(403, "subscription_limit", "PUT", f"/v1/stories/{stories[2]}/subscription")
    assert ann.subscribe(stories[0])["changed"] is False
    ann.unsubscribe(stories[0])
    assert ann.subscribe(stories[2])["changed"]


# ---- Notifications ------------------------------------------------------------------------------

def test_a_scene_notifies_its_subscribers_and_nobody_else(server):
    bob = server.user()
    early, late, former, stranger = server.users(4)
    story = bob.story("The story 林")
    early.subscribe(story)
    former.subscribe(story)
    former.unsubscribe(story)
    scene = bob.scene(story, "Scene 🐈")
    late.subscribe(story)
    page = early.get("/notifications")
    assert page["items"] == [{
        "id": scene["id"], "type": "scene", "story_id": story, "scene_id": scene["id"], "author_id": bob.id,
        "story_title": "The story 林", "scene_title": "Scene 🐈", "created_at": scene["created_at"], "is_read": False}]
    assert page["unread"] == 1 and page["next_cursor"] is None
    for other in (late, former, stranger, bob):
        assert other.get("/notifications")["unread"] == 0 and other.notifications() == []
    assert early.badge() == 0, "the inbox is another matter"


def test_they_are_newest_first_across_stories_and_page(server):
    ann, bob = server.users(2)
    stories = [bob.story() for _ in range(3)]
    for story in stories:
        ann.subscribe(story)
    scenes = [bob.scene(stories[i % 3])["id"] for i in range(8)]
    for limit in (1, 3, 8, 100):
        assert [row["id"] for row in ann.notifications(limit)] == scenes[::-1]
    assert ann.unread() == 8


def test_mark_read_by_ids(server):
    ann, bob = server.users(2)
    story, foreign = bob.story(), bob.story()
    ann.subscribe(story)
    scenes = [bob.scene(story)["id"] for _ in range(4)]
    assert mark(ann, ids=scenes[:2]) == {"marked": 2, "unread": 2}
    assert mark(ann, ids=scenes[1:3]) == {"marked": 1, "unread": 1}, "again changes nothing"
    assert mark(ann, ids=[scenes[0]] * 3) == {"marked": 0, "unread": 1}
    other = bob.scene(foreign)["id"]
    for stray in (other, 5, story):
        ann.refused(404, "not_found", "POST", "/v1/notifications/mark-read", {"ids": [scenes[3], stray]})
    assert ann.unread() == 1, "all or nothing"
    assert [row["is_read"] for row in ann.notifications()] == [False, True, True, True]


def test_mark_read_up_to_swallows_nothing_new(server):
    ann, bob = server.users(2)
    stories = [bob.story(), bob.story()]
    for story in stories:
        ann.subscribe(story)
        bob.scene(story)
    as_of = ann.get("/notifications")["as_of"]
    new = bob.scene(stories[0])["id"]
    assert mark(ann, up_to=as_of) == {"marked": 2, "unread": 1}
    assert [row["id"] for row in ann.notifications() if not row["is_read"]] == [new]
    assert mark(ann, up_to=as_of) == {"marked": 0, "unread": 1}
    assert mark(ann, up_to=ann.get("/notifications")["as_of"]) == {"marked": 1, "unread": 0}


@pytest.mark.parametrize("body, field", [
    ({}, "ids"), ({"ids": None}, "ids"), ({"ids": []}, "ids"), ({"ids": 5}, "ids"), ({"ids": ["5"]}, "ids"),
    ({"ids": [0]}, "ids"), ({"ids": [-1]}, "ids"), ({"ids": [2 ** 53]}, "ids"), ({"ids": [5] * 501}, "ids"),
    ({"up_to": "x"}, "up_to"), ({"up_to": ""}, "up_to"), ({"up_to": 5}, "up_to"), ({"post_ids": [5]}, "post_ids"),
    ({"author_id": 5, "up_to": "x"}, "author_id"),
])
def test_mark_read_refuses(server, body, field):
    server.user().refused(400, "invalid", "POST", "/v1/notifications/mark-read", body, field=field)


def test_ids_and_up_to_together_are_refused(server):
    ann, bob = server.users(2)
    story = bob.story()
    ann.subscribe(story)
    scene = bob.scene(story)["id"]
    body = {"ids": [scene], "up_to": ann.get("/notifications")["as_of"]}
    ann.refused(400, "invalid", "POST", "/v1/notifications/mark-read", body, field="up_to")
    assert ann.unread() == 1


def test_500_at_once(server):
    ann, bob = server.users(2)
    story = bob.story()
    ann.subscribe(story)
    scene = bob.scene(story)["id"]
    assert mark(ann, ids=[scene] * 500) == {"marked": 1, "unread": 0}


def test_deleted_scenes_and_stories_are_unread_for_nobody(server):
    ann, bob = server.users(2)
    story, doomed = bob.story(), bob.story()
    for one in (story, doomed):
        ann.subscribe(one)
    scenes = [bob.scene(story)["id"] for _ in range(3)]
    bob.scene(doomed)
    assert ann.unread() == 4
    bob.expect(204, "DELETE", f"/v1/scenes/{scenes[1]}")
    assert ann.unread() == 3
    bob.delete(doomed)
    assert ann.unread() == 2
    assert [row["id"] for row in ann.notifications() if not row["is_read"]] == [scenes[2], scenes[0]]


def test_unsubscribing_keeps_what_was_told(server):
    ann, bob = server.users(2)
    story = bob.story()
    ann.subscribe(story)
    told = [bob.scene(story)["id"]]
    ann.unsubscribe(story)
    bob.scene(story)
    assert [row["id"] for row in ann.notifications()] == told and ann.unread() == 1
    ann.subscribe(story)
    told.append(bob.scene(story)["id"])
    assert [row["id"] for row in ann.notifications()] == told[::-1] and ann.unread() == 2


# ---- Settings -----------------------------------------------------------------------------------

def test_settings_are_on_until_turned_off(server):
    ann, bob = server.users(2)
    assert ann.get("/settings") == {"story_updates": True}
    assert switch(ann, False) == {"story_updates": False} == ann.get("/settings")
    assert bob.get("/settings") == {"story_updates": True}
    assert switch(ann, False) == {"story_updates": False}
    assert switch(ann, True) == {"story_updates": True} == ann.get("/settings")


def test_changes_of_the_settings_are_limited_together_with_follows(make_server):
    server = make_server(settings={"follow_burst": 3, "follow_refill_ms": 3_600_000})
    ann, bob = server.users(2)
    switch(ann, False)
    switch(ann, False)  # changes nothing and is free
    ann.follow(bob)
    switch(ann, True)
    answer = ann.send("PUT", "/v1/settings", {"story_updates": False})
    assert answer.status == 429 and answer.json["code"] == "rate_limited"
    assert 3500 < int(answer.headers["retry-after"]) <= 3600
    assert ann.get("/settings") == {"story_updates": True}, "nothing written"
    ann.refused(429, "rate_limited", "POST", "/v1/relation/follow", {"user_id": bob.id})
    switch(bob, False)  # its own bucket


@pytest.mark.parametrize("body, field", [({}, "story_updates"), ({"story_updates": None}, "story_updates"),
                                         ({"story_updates": 1}, "story_updates"),
                                         ({"story_updates": "true"}, "story_updates"),
                                         ({"story_updates": True, "push": True}, "push")])
def test_settings_refuse(server, body, field):
    ann = server.user()
    ann.refused(400, "invalid", "PUT", "/v1/settings", body, field=field)
    assert ann.get("/settings") == {"story_updates": True}


def test_those_who_turned_it_off_are_not_told(server):
    ann, bob = server.users(2)
    story = bob.story()
    ann.subscribe(story)
    before = bob.scene(story)["id"]
    switch(ann, False)
    bob.scene(story)
    switch(ann, True)
    after = bob.scene(story)["id"]
    assert [row["id"] for row in ann.notifications()] == [after, before] and ann.unread() == 2
    assert [row["story_id"] for row in ann.rows("/subscriptions")] == [story], "still subscribed"


# ---- Tags ---------------------------------------------------------------------------------------

def test_subscribers_of_a_tag(server):
    bob = server.user()
    story = bob.story()
    users = server.users(5)
    for user in users:
        user.subscribe(story)
    users[0].expect(200, "PUT", "/v1/users/me", {"name": "Ann", "avatar": "https://example.org/a.png"})
    switch(users[1], False)
    users[2].unsubscribe(story)
    for reader in (server.service(), server.admin()):
        for limit in (1, 2, 100):
            rows = reader.rows(f"/tags/story:{story}/subscribers", limit)
            assert sorted(row["user_id"] for row in rows) == sorted(u.id for u in (users[0], users[3], users[4]))
    row, = [row for row in rows if row["user_id"] == users[0].id]
    assert row == {"user_id": users[0].id, "name": "Ann", "avatar": "https://example.org/a.png", "since": row["since"]}
    assert reader.rows(f"/tags/story%3A{story}/subscribers") == rows, "a colon may be encoded"
    switch(users[1], True)
    assert len(reader.rows(f"/tags/story:{story}/subscribers")) == 4


def test_tags_that_are_none(server):
    service, bob = server.service(), server.user()
    note, story = bob.publish()["id"], bob.story()
    for bad in ("story", "story:", "story:0", "story:x", "story:01", "story:-1", f"story:{2 ** 53}", "Story:5",
                "author:5", f"{story}", f"story:{story}:", f"story::{story}", f"story%3a%3a{story}"):
        service.refused(400, "invalid", "GET", f"/v1/tags/{bad}/subscribers", field="tag")
    for nothing in (5, note):
        service.refused(404, "not_found", "GET", f"/v1/tags/story:{nothing}/subscribers")
    bob.refused(403, "forbidden", "GET", f"/v1/tags/story:{story}/subscribers")
    assert service.rows(f"/tags/story:{story}/subscribers") == []


# ---- The stream ---------------------------------------------------------------------------------

def test_the_stream_tells_subscribers_of_a_scene(server, listen, measure):
    ann, bob, eve = server.users(3)
    story = bob.story("The story")
    ann.subscribe(story)
    heard, silent = listen(ann), listen(eve)
    heard.until("badge", total=0)
    silent.until("badge", total=0)
    worst = 0
    for i in range(1, 4):
        start = time.monotonic()
        scene = bob.scene(story, f"s{i}")
        event = heard.next()
        worst = max(worst, event.at - start)
        assert event.name == "notification" and event.data == {
            "id": scene["id"], "type": "scene", "story_id": story, "scene_id": scene["id"], "author_id": bob.id,
            "story_title": "The story", "scene_title": f"s{i}", "created_at": scene["created_at"], "unread": i}
    measure(f"scene to notification, worst of 3: {worst * 1000:.1f} ms")
    assert worst < 1
    eve.subscribe(story)
    last = bob.scene(story, "for all")
    assert silent.next().data["id"] == last["id"], "nothing before it"


def test_the_stream_knows_settings_and_unsubscribing(server, listen):
    ann, bob, eve = server.users(3)
    story = bob.story()
    for user in (ann, eve):
        user.subscribe(story)
    streams = [listen(ann), listen(eve)]
    for stream in streams:
        stream.until("badge", total=0)
    switch(ann, False)
    eve.unsubscribe(story)
    bob.scene(story, "unheard")
    switch(ann, True)
    eve.subscribe(story)
    bob.scene(story, "heard")
    for stream in streams:
        event = stream.until("notification")
        assert event.data["scene_title"] == "heard" and event.data["unread"] == 1


def test_marking_on_one_device_moves_the_number_on_the_others(server, listen):
    ann, bob = server.users(2)
    story = bob.story()
    ann.subscribe(story)
    phone, tablet = listen(ann), listen(ann)
    for stream in (phone, tablet):
        stream.until("badge", total=0)
    scenes = [bob.scene(story)["id"] for _ in range(2)]
    for stream in (phone, tablet):  # of several servers each tells its own at once, so in any order
        told = [stream.until("notification") for _ in scenes]
        assert {event.data["id"] for event in told} == set(scenes) and told[-1].data["unread"] == 2
    mark(ann, ids=scenes[:1])
    for stream in (phone, tablet):
        stream.until("unread", notifications=1)
    mark(ann, up_to=ann.get("/notifications")["as_of"])
    for stream in (phone, tablet):
        stream.until("unread", notifications=0)


def test_deleting_a_scene_moves_the_number_back(server, listen):
    """Nothing was sent, and the number stayed wrong until something else happened."""
    ann, bob, eve, dan = server.users(4)
    story = bob.story()
    for user in (ann, eve):
        user.subscribe(story)
    streams = {user: listen(user) for user in (ann, eve, dan)}
    scenes = [bob.scene(story)["id"] for _ in range(3)]
    for user in (ann, eve):
        streams[user].until("notification", id=scenes[2], unread=3)
    eve.unsubscribe(story)  # and keeps what was told
    mark(ann, ids=scenes[:1])
    streams[ann].until("unread", notifications=2)

    bob.expect(204, "DELETE", f"/v1/scenes/{scenes[0]}")
    streams[eve].until("unread", notifications=2)
    bob.expect(204, "DELETE", f"/v1/scenes/{scenes[1]}")
    streams[eve].until("unread", notifications=1)
    event = streams[ann].next()  # of the first, which was read, nothing
    assert (event.name, event.data) == ("unread", {"notifications": 1})
    bob.delete(story)
    for user in (ann, eve):
        streams[user].until("unread", notifications=0)
        assert user.get("/notifications")["unread"] == 0
    dan.follow(ann)
    ann.publish()
    names = []
    while "post" not in names:
        names.append(streams[dan].next().name)
    assert "unread" not in names, "who was never told hears nothing"


def test_a_repeat_with_the_key_tells_nobody_again(server, listen):
    ann, bob = server.users(2)
    story = bob.story()
    ann.subscribe(story)
    stream = listen(ann)
    stream.until("badge", total=0)
    headers = {"Idempotency-Key": "told once"}
    first = bob.scene(story, headers=headers)
    bob.scene(story, headers=headers)
    last = bob.scene(story)
    told = [stream.next().data["id"] for _ in range(2)]
    assert sorted(told) == sorted([first["id"], last["id"]]), "of several servers each tells its own at once"


def test_whoever_comes_back_hears_what_was_missed(server, listen):
    ann, bob = server.users(2)
    story = bob.story()
    ann.subscribe(story)
    bob.scene(story, "before")
    stream = listen(ann)
    first = stream.next()
    stream.close()
    read, missed = bob.scene(story, "read meanwhile")["id"], bob.scene(story, "missed")["id"]
    mark(ann, ids=[read])
    again = listen(ann, last_event_id=first.id)
    event = again.next()
    assert (event.name, event.data["id"], event.data["unread"]) == ("notification", missed, 2)
    assert again.next().name == "badge"


def test_a_small_page_is_replayed_all_the_same(make_server, listen):
    """Replays asked for 100 rows, which a smaller page_max refused: nothing came."""
    server = make_server(settings={"page_max": 2, "page_default": 1})
    ann, bob = server.users(2)
    story = bob.story()
    ann.subscribe(story)
    ann.follow(bob)
    stream = listen(ann)
    first = stream.next()
    stream.close()
    post, scene = bob.publish()["id"], bob.scene(story)["id"]
    again = listen(ann, last_event_id=first.id)
    assert again.next().data["post_id"] == post
    assert again.next().data["id"] == scene


def test_many_subscribers_hear_it_once_each(make_server, listen, measure):
    """More than one turn of the loop tells of."""
    server = make_server(settings={"threads": 1, "http_connections_per_address": 0})
    bob = server.user()
    story = bob.story()
    users = server.users(1500)
    for user in users:
        user.subscribe(story)
        user.close()
    streams = [listen(user) for user in users]
    for stream in streams:
        stream.until("badge", total=0)
    start = time.monotonic()
    scene = bob.scene(story)
    worst = max(stream.until("notification", id=scene["id"], unread=1).at - start for stream in streams)
    measure(f"scene to the last of 1500 subscribers: {worst * 1000:.1f} ms")
    for stream in streams:
        assert stream.events_so_far() == [], "each hears it once"


# ---- For good -----------------------------------------------------------------------------------

def test_events_of_subscribing(server):
    ann, bob = server.users(2)
    story = bob.story()
    ann.subscribe(story)
    ann.subscribe(story)
    switch(ann, False)
    ann.unsubscribe(story)
    rows = tail(server.service(), 0)
    assert [(row["type"], row["target_type"], row["target_id"], row["action"], row["delta"])
            for row in rows if row["actor_user_id"] == ann.id] == [
        ("SubscriptionCreated", "post", story, "subscribe", 1),
        ("PreferencesChanged", "user", ann.id, "settings", 0),
        ("SubscriptionDeleted", "post", story, "unsubscribe", -1)]


def test_all_of_it_survives_kill_9(make_server):
    server = make_server()
    ann, bob = server.users(2)
    story = bob.story()
    ann.subscribe(story)
    scenes = [bob.scene(story)["id"] for _ in range(3)]
    mark(ann, ids=scenes[:1])
    switch(bob, False)
    before = ann.get("/notifications")["items"], ann.rows("/subscriptions")
    as_of = ann.get("/notifications")["as_of"]
    server.restart(signal.SIGKILL)
    assert (ann.get("/notifications")["items"], ann.rows("/subscriptions")) == before
    assert ann.unread() == 2 and bob.get("/settings") == {"story_updates": False}
    bob.scene(story)
    assert mark(ann, up_to=as_of) == {"marked": 2, "unread": 1}
    server.stop()
    server.verify()
