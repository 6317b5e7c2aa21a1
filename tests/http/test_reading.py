"""SPEC 8: where a reader stopped, in step on several devices."""
import itertools
import signal
import time

import pytest

from support.server import wait_until
from test_users_and_posts import CHINESE

HOUR = 3600 * 1000


def now():
    return int(time.time() * 1000)


def tell(author, n_scenes=2, n_messages=3):
    """A story: its id, its scenes."""
    story = author.story("The story")
    return story, [author.scene(story, f"s{i}", ["m"] * n_messages) for i in range(n_scenes)]


def place(scene, message=None):
    """A position as a request has it."""
    made = {"scene_id": scene["id"]}
    if message is not None:
        made["message_id"] = scene["messages"][message]["id"]
    return made


def forget(device, story=None, modified_at=None):
    path = "/v1/reading" + (f"/{story}" if story else "") + (f"?modified_at={modified_at}" if modified_at else "")
    device.expect(204, "DELETE", path)


class Device:
    """What a device keeps: its records, and the version up to which it knows of changes."""

    def __init__(self, actor):
        self.actor = actor
        self.records = {}
        self.version = 0

    def sync(self, limit=100):
        while True:
            delta = self.actor.get("/reading", since=self.version, limit=limit)
            assert "next_cursor" not in delta and len(delta["items"]) + len(delta["deleted"]) <= limit
            assert delta["version"] >= self.version
            for story in delta["deleted"]:
                self.records.pop(story, None)
            for record in delta["items"]:
                self.records[record["story_id"]] = record
            self.version = delta["version"]
            if not delta["more"]:
                return self

    def check(self):
        """In step with the list, but for what belongs to the story: that may change without the record."""
        def own(rows):
            return {row["story_id"]: (row["scene_id"], row["message_id"], row["modified_at"]) for row in rows}

        assert own(self.sync().records.values()) == own(self.actor.rows("/reading"))


# ---- One device ---------------------------------------------------------------------------------

def test_enter_read_on_and_leave(server):
    ann, bob = server.users(2)
    story, (first, second) = tell(bob)
    before = now()
    entered = ann.read_to(story)
    record = {"story_id": story, "scene_id": None, "message_id": None, "modified_at": entered["modified_at"],
              "title": "The story", "is_deleted": False}
    assert entered == {"changed": True, **record}
    assert before - 1000 <= entered["modified_at"] <= now() + 1000
    page = ann.get("/reading")
    assert page == {"items": [record], "deleted": [], "version": page["version"], "next_cursor": None}
    on = ann.read_to(story, **place(first, 1))
    assert on["changed"] and (on["scene_id"], on["message_id"]) == (first["id"], first["messages"][1]["id"])
    left = ann.read_to(story, **place(second))
    assert left["changed"] and (left["scene_id"], left["message_id"]) == (second["id"], None)
    assert bob.get("/reading")["items"] == [], "everybody's own"


def test_opening_without_reading_on_changes_nothing(server):
    ann, bob = server.users(2)
    story, (first, _) = tell(bob)
    there = ann.read_to(story, **place(first, 2))
    version = ann.get("/reading")["version"]
    again = ann.read_to(story)
    assert again == {**there, "changed": False}
    delta = ann.get("/reading", since=version)
    assert delta == {"items": [], "deleted": [], "version": delta["version"], "more": False}


def test_the_list_is_latest_first_and_pages(server):
    ann, bob = server.users(2)
    stories = [tell(bob)[0] for _ in range(5)]
    start = now() - HOUR
    for i, story in enumerate(stories):
        ann.read_to(story, modified_at=start + i)
    assert [row["story_id"] for row in ann.rows("/reading", 2)] == stories[::-1]
    scene = bob.scene(stories[0])
    ann.read_to(stories[0], **place(scene), modified_at=start + 10)
    for limit in (1, 3, 5, 100):
        assert [row["story_id"] for row in ann.rows("/reading", limit)] == [stories[0], *stories[:0:-1]]


def test_a_deleted_story_keeps_its_record(server):
    ann, bob = server.users(2)
    story, (first, _) = tell(bob)
    ann.read_to(story, **place(first))
    bob.delete(story)
    row, = ann.get("/reading")["items"]
    assert row["is_deleted"] and row["title"] == "The story" and row["scene_id"] == first["id"]
    problem = ann.refused(410, "deleted", "PUT", f"/v1/reading/{story}", place(first, 1))
    assert (problem["post_title"], problem["notice"]) == ("The story", CHINESE)
    forget(ann, story)
    assert ann.get("/reading")["items"] == []


def test_delete_and_clear(server):
    ann, bob = server.users(2)
    stories = [tell(bob)[0] for _ in range(3)]
    start = now() - HOUR
    for story in stories:
        ann.read_to(story, modified_at=start)
    forget(ann, stories[1])
    assert {row["story_id"] for row in ann.rows("/reading")} == {stories[0], stories[2]}
    forget(ann, stories[1])
    forget(ann)
    assert ann.rows("/reading") == []
    forget(ann)
    wait_until(lambda: ann.read_to(stories[1])["changed"], "reading goes on after it, from the next millisecond")


def test_wrong_places_are_refused(server):
    ann, bob = server.users(2)
    story, (first, second) = tell(bob)
    other, (foreign, _) = tell(bob)
    path = f"/v1/reading/{story}"
    for body, field in (({"scene_id": 0}, "scene_id"), ({"scene_id": "5"}, "scene_id"), ({"scene_id": -1}, "scene_id"),
                        ({"scene_id": 2 ** 53}, "scene_id"), ({"message_id": 5}, "message_id"),
                        ({"scene_id": first["id"], "message_id": 0}, "message_id"),
                        ({"scene_id": first["id"], "message_id": [5]}, "message_id"),
                        ({"modified_at": 0}, "modified_at"), ({"modified_at": -5}, "modified_at"),
                        ({"modified_at": 1.5}, "modified_at"), ({"modified_at": "1"}, "modified_at"),
                        ({"modified_at": 2 ** 53}, "modified_at"), ({"story_id": story}, "story_id")):
        ann.refused(400, "invalid", "PUT", path, body, field=field)
    for body in ({"scene_id": 5}, {"scene_id": story}, place(foreign), {**place(first), "message_id": 5},
                 {**place(first), "message_id": second["messages"][0]["id"]}):
        ann.refused(404, "not_found", "PUT", path, body)
    note = bob.publish()["id"]
    for nothing in (5, note, first["id"]):
        ann.refused(404, "not_found", "PUT", f"/v1/reading/{nothing}", {})
    assert ann.get("/reading")["items"] == []


@pytest.mark.parametrize("query, field", [
    ("since=-1", "since"), ("since=x", "since"), ("since=", "since"), ("since=01", "since"), ("since=1.0", "since"),
    (f"since={2 ** 53}", "since"), ("since=0&limit=0", "limit"), ("since=0&limit=101", "limit")])
def test_wrong_queries(server, query, field):
    server.user().refused(400, "invalid", "GET", "/v1/reading?" + query, field=field)


def test_a_delta_has_no_cursor(server):
    ann, bob = server.users(2)
    for _ in range(2):
        ann.read_to(tell(bob)[0])
    cursor = ann.get("/reading", limit=1)["next_cursor"]
    ann.refused(400, "invalid", "GET", f"/v1/reading?since=0&cursor={cursor}", field="cursor")


@pytest.mark.parametrize("path", ["/v1/reading", "/v1/reading/5"])
def test_wrong_times_of_deletions(server, path):
    for bad in ("0", "-1", "x", "", "01", "1.5", str(2 ** 53)):
        server.user().refused(400, "invalid", "DELETE", f"{path}?modified_at={bad}", field="modified_at")


def test_the_number_of_records_has_a_limit(make_server):
    server = make_server(settings={"reading_max": 2})
    ann, bob = server.users(2)
    stories = [tell(bob)[0] for _ in range(3)]
    for story in stories[:2]:
        ann.read_to(story)
    ann.refused(403, "reading_limit", "PUT", f"/v1/reading/{stories[2]}", {})
    assert len(ann.rows("/reading")) == 2
    scene = bob.scene(stories[0])
    assert ann.read_to(stories[0], **place(scene))["changed"], "those that are there move on"


# ---- Several devices ----------------------------------------------------------------------------

def test_the_later_time_wins_whatever_comes_last(server):
    ann, bob = server.users(2)
    story, (first, second) = tell(bob)
    start = now() - HOUR
    assert ann.read_to(story, **place(second, 0), modified_at=start + 5)["changed"]
    late = ann.read_to(story, **place(first, 2), modified_at=start + 4)
    assert not late["changed"] and late["scene_id"] == second["id"] and late["modified_at"] == start + 5
    back = ann.read_to(story, **place(first, 0), modified_at=start + 6)
    assert back["changed"] and back["scene_id"] == first["id"], "later, though not as far"


def test_at_the_same_time_the_position_further_on_wins(server):
    ann, bob = server.users(2)
    story, (first, second) = tell(bob)
    at = now() - HOUR
    for where, changed in ((place(first, 1), True), (place(first, 0), False), (place(first, 2), True),
                           (place(first), False), (place(second), True), (place(first, 2), False),
                           (place(second, 0), True)):
        assert ann.read_to(story, **where, modified_at=at)["changed"] is changed, where
    assert ann.read_to(story, **place(second, 0), modified_at=at)["changed"] is False


def test_times_ahead_are_cut(server):
    ann, bob = server.users(2)
    story, (first, second) = tell(bob)
    cut = ann.read_to(story, **place(first), modified_at=now() + 1000 * HOUR)
    assert cut["changed"] and cut["modified_at"] <= now() + 1000
    assert ann.read_to(story, **place(second), modified_at=2 ** 53 - 1)["changed"], "and keep nobody out"


def test_older_writes_cannot_bring_a_record_back(server):
    ann, bob = server.users(2)
    story, (first, second) = tell(bob)
    unseen, (scene, _) = tell(bob)
    start = now() - HOUR
    ann.read_to(story, **place(first), modified_at=start)
    forget(ann, story, start + 10)
    nothing = ann.read_to(story, **place(second), modified_at=start + 9)
    assert nothing == {"changed": False, "story_id": story, "scene_id": None, "message_id": None, "modified_at": None,
                       "title": "", "is_deleted": False}
    assert ann.read_to(story, **place(second), modified_at=start + 11)["changed"]
    forget(ann, modified_at=start + 20)
    for one, where in ((story, place(second)), (unseen, place(scene))):
        late = ann.read_to(one, **where, modified_at=start + 19)
        assert not late["changed"] and late["modified_at"] is None, "also of a story the server had not seen"
    assert ann.rows("/reading") == []
    assert ann.read_to(unseen, **place(scene), modified_at=start + 21)["changed"]


def test_a_late_deletion_does_not_undo_what_came_after_it(server):
    ann, bob = server.users(2)
    story, (first, _) = tell(bob)
    start = now() - HOUR
    ann.read_to(story, **place(first), modified_at=start + 10)
    forget(ann, story, start + 5)
    forget(ann, modified_at=start + 6)
    row, = ann.rows("/reading")
    assert row["modified_at"] == start + 10


def test_any_order_of_delivery_ends_alike(server):
    """Writes, a deletion and a clearing of three devices, in every order."""
    bob = server.user()
    story, (first, second) = tell(bob)
    other, (third, _) = tell(bob)
    start = now() - HOUR
    steps = [
        lambda a: a.read_to(story, **place(first, 1), modified_at=start + 1),
        lambda a: a.read_to(story, **place(second), modified_at=start + 5),
        lambda a: forget(a, story, start + 3),
        lambda a: forget(a, modified_at=start + 4),
        lambda a: a.read_to(other, **place(third), modified_at=start + 4),
    ]
    ends = set()
    for order in itertools.permutations(steps):
        ann = server.user()
        for step in order:
            step(ann)
        ends.add(str(ann.rows("/reading")))
        ann.close()
    assert len(ends) == 1, ends


# ---- Deltas -------------------------------------------------------------------------------------

def test_devices_follow_by_deltas(server):
    ann, bob = server.users(2)
    phone, tablet, slow = Device(ann), Device(server.user(ann.id)), Device(server.user(ann.id))
    stories = [tell(bob) for _ in range(6)]
    for story, _ in stories:
        ann.read_to(story)
    phone.check()
    for story, (first, second) in stories[::2]:
        tablet.actor.read_to(story, **place(first, 0))
    tablet.check()
    phone.check()
    forget(ann, stories[3][0])
    bob.delete(stories[4][0])
    phone.check()
    tablet.check()
    forget(tablet.actor)
    assert tablet.sync().records == {}
    wait_until(lambda: ann.read_to(stories[0][0])["changed"], "a later millisecond")
    for device in (phone, tablet, slow):
        device.check()
        assert set(device.records) == {stories[0][0]}


def test_a_delta_in_small_pieces(server):
    ann, bob = server.users(2)
    stories = [tell(bob)[0] for _ in range(7)]
    for story in stories:
        ann.read_to(story)
    forget(ann, stories[2])
    device = Device(ann).sync(limit=2)
    assert set(device.records) == set(stories) - {stories[2]}
    for story in stories[3:]:
        forget(ann, story)
    assert set(device.sync(limit=1).records) == set(stories[:2])


def test_the_version_of_the_first_page_is_where_deltas_go_on(server):
    """A device pages through the list while another changes it."""
    ann, bob = server.users(2)
    stories = [tell(bob) for _ in range(4)]
    for story, _ in stories:
        ann.read_to(story)
    device = Device(ann)
    page = ann.get("/reading", limit=2)
    device.version = page["version"]
    ann.read_to(stories[0][0], **place(stories[0][1][0]))
    forget(ann, stories[2][0])
    while True:
        device.records.update({row["story_id"]: row for row in page["items"]})
        if not page["next_cursor"]:
            break
        page = ann.get("/reading", limit=2, cursor=page["next_cursor"])
    device.check()


def test_a_version_ahead_of_the_server_is_no_disaster(server):
    ann, bob = server.users(2)
    ann.read_to(tell(bob)[0])
    answer = ann.send("GET", f"/v1/reading?since={2 ** 53 - 1}")
    assert answer.status in (200, 400) and (answer.status == 400 or answer.json["items"] == [])


def test_records_and_marks_survive_kill_9(make_server):
    server = make_server()
    ann, bob = server.users(2)
    kept, (first, _) = tell(bob)
    gone, _ = tell(bob)
    start = now() - HOUR
    ann.read_to(kept, **place(first, 1), modified_at=start + 5)
    ann.read_to(gone, modified_at=start)
    device = Device(ann).sync()
    forget(ann, gone, start + 3)
    before = ann.rows("/reading")
    server.restart(signal.SIGKILL)
    assert ann.rows("/reading") == before
    device.check()
    assert set(device.records) == {kept}
    assert ann.read_to(gone, modified_at=start + 2)["changed"] is False, "the mark of the deletion is there, too"
    server.stop()
    server.verify()
