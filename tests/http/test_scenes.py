"""SPEC 3: stories with scenes, in order, and messages, in order, each with an id."""
import signal
import time

import pytest

from support.client import new_user_id
from support.events import tail
from test_users_and_posts import CHINESE, ENGLISH


def scene_path(scene):
    return f"/v1/scenes/{scene['id'] if isinstance(scene, dict) else scene}"


def texts(scene):
    return [message["text"] for message in scene["messages"]]


def ids(scene):
    return [message["id"] for message in scene["messages"]]


# ---- Publishing and reading ---------------------------------------------------------------------

def test_publish_and_get(server):
    ann, bob = server.users(2)
    story = ann.story()
    before = int(time.time() * 1000)
    scene = ann.scene(story, "First", ["one", "two [img]https://example.org/p.jpg[/img]"])
    first, second = ids(scene)
    assert scene == {
        "id": scene["id"], "story_id": story, "author_id": ann.id, "number": 1, "title": "First", "message_count": 2,
        "created_at": scene["created_at"], "edited_at": None, "status": 1,
        "messages": [{"id": first, "text": "one", "parts": [{"text": "one"}]},
                     {"id": second, "text": "two [img]https://example.org/p.jpg[/img]",
                      "parts": [{"text": "two "}, {"img": "https://example.org/p.jpg"}]}]}
    assert story < scene["id"] and first < second < 2 ** 53
    assert before - 1000 <= scene["created_at"] <= time.time() * 1000 + 1000
    assert bob.get(f"/scenes/{scene['id']}") == scene, "anybody may read it"


def test_a_list_has_no_messages_but_their_number(server):
    ann, bob = server.users(2)
    story = ann.story()
    assert ann.get(f"/stories/{story}/scenes") == {"items": [], "next_cursor": None}
    made = [ann.scene(story, f"s{i}", ["m"] * i) for i in range(7)]
    for scene in made:
        del scene["messages"]
    for limit in (1, 2, 7, 100):
        assert bob.rows(f"/stories/{story}/scenes", limit) == made
    assert [scene["message_count"] for scene in made] == list(range(7))
    assert [scene["number"] for scene in made] == list(range(1, 8))


def test_scenes_added_while_paging_are_neither_skipped_nor_repeated(server):
    ann = server.user()
    story = ann.story()
    made = [ann.scene(story)["id"] for _ in range(4)]
    page = ann.get(f"/stories/{story}/scenes", limit=2)
    made.append(ann.scene(story)["id"])
    seen = [row["id"] for row in page["items"]]
    while page["next_cursor"]:
        page = ann.get(f"/stories/{story}/scenes", limit=2, cursor=page["next_cursor"])
        seen += [row["id"] for row in page["items"]]
    assert seen == made


@pytest.mark.parametrize("text, parts", [
    ("plain", [{"text": "plain"}]),
    ("[img]http://a[/img]", [{"img": "http://a"}]),
    ("x[img]http://a[/img]y[img]http://b[/img]z", [{"text": "x"}, {"img": "http://a"}, {"text": "y"}, {"img": "http://b"}, {"text": "z"}]),
    ("[img]unclosed", [{"text": "[img]unclosed"}]),
    ("closed[/img]", [{"text": "closed[/img]"}]),
    ("[img][/img]", [{"text": "[img][/img]"}]),
    ("[img][/img][img]http://a[/img]", [{"text": "[img][/img]"}, {"img": "http://a"}]),
    ("[img]a [img]http://b[/img] c[/img]", [{"text": "[img]a "}, {"img": "http://b"}, {"text": " c[/img]"}]),
    ("[IMG]a[/IMG]", [{"text": "[IMG]a[/IMG]"}]),
    ("林[img]https://例え.jp/猫.png[/img]🐈", [{"text": "林"}, {"img": "https://例え.jp/猫.png"}, {"text": "🐈"}]),
    ("\"quotes\" \\ \n\t </script> \u2028 \x7f \x01", [{"text": "\"quotes\" \\ \n\t </script> \u2028 \x7f \x01"}]),
])
def test_parts_of_a_message(server, text, parts):
    ann = server.user()
    scene = ann.scene(ann.story(), messages=[text])
    assert texts(scene) == [text] and scene["messages"][0]["parts"] == parts
    assert ann.get(f"/scenes/{scene['id']}") == scene


@pytest.mark.parametrize("title, messages, field", [
    ("t" * 200, ["m" * 4000], None), ("林" * 200, ["林" * 4000, "𝒳" * 4000], None), ("t", ["m"] * 1000, None),
    ("t", [], None), ("t" * 201, [], "title"), ("", [], "title"), ("t", [""], "messages"),
    ("t", ["m" * 4001], "messages"), ("t", ["林" * 4001], "messages"), ("t", ["m"] * 1001, "messages"),
    ("t", ["m"] * 10001, "messages"), ("t", ["m"] * 25000, "messages"), ("t", ["fine", "", "fine"], "messages"),
])
def test_bounds(server, title, messages, field):
    ann = server.user()
    story = ann.story()
    body = {"title": title, "messages": messages}
    if field:
        ann.refused(400, "invalid", "POST", f"/v1/stories/{story}/scenes", body, field=field)
        assert ann.get(f"/stories/{story}/scenes")["items"] == []
    else:
        scene = ann.post(f"/stories/{story}/scenes", body, 201)
        assert scene["title"] == title and texts(scene) == messages
        assert ann.get(f"/scenes/{scene['id']}") == scene


@pytest.mark.parametrize("text", ["[img]" + "x" * 3983 + "[/img]", "\x7f" * 3994, "\x7f[img]\x7f[/img]" * 305])
def test_a_scene_as_long_as_a_request_may_be(server, text):
    """The limits fit together: what passes the limit for bodies is stored and read, the next message is 413. In an
    answer a text stands twice, and some characters take six times the room."""
    ann = server.user()
    story = ann.story()
    room = 131072 - len('{"title": "t", "messages": [' + ']}')
    messages = [text] * (room // (len(text) + 4))
    scene = ann.scene(story, "t", messages)
    assert texts(ann.get(f"/scenes/{scene['id']}")) == messages
    headers = {"Idempotency-Key": f"long {story}"}
    assert texts(ann.scene(story, "t", messages, headers)) == messages, "kept answers have room for it, too"
    ann.refused(413, "body_too_large", "POST", f"/v1/stories/{story}/scenes",
                {"title": "t", "messages": [*messages, "y" * 4000]})
    assert len(ann.get(f"/stories/{story}/scenes")["items"]) == 2


@pytest.mark.parametrize("body, field", [
    ({"messages": []}, "title"), ({"title": None, "messages": []}, "title"), ({"title": 7, "messages": []}, "title"),
    ({"title": "t"}, "messages"), ({"title": "t", "messages": None}, "messages"),
    ({"title": "t", "messages": "text"}, "messages"), ({"title": "t", "messages": {}}, "messages"),
    ({"title": "t", "messages": [7]}, "messages"), ({"title": "t", "messages": [None]}, "messages"),
    ({"title": "t", "messages": [["m"]]}, "messages"), ({"title": "t", "messages": [{"text": "m"}]}, "messages"),
    ({"title": "t", "messages": [{"id": 5, "text": "m"}]}, "messages"),
    ({"title": "t", "messages": [], "number": 1}, "number"), ({"title": "t", "messages": [], "id": 5}, "id"),
])
def test_publish_refuses(server, body, field):
    ann = server.user()
    story = ann.story()
    ann.refused(400, "invalid", "POST", f"/v1/stories/{story}/scenes", body, field=field)
    assert ann.get(f"/stories/{story}/scenes")["items"] == []


def test_there_must_be_such_a_story_and_it_must_be_ones_own(server):
    ann, bob = server.users(2)
    good = {"title": "t", "messages": ["m"]}
    note = ann.publish()["id"]
    for story in (note, 5, 2 ** 53 - 1):
        ann.refused(404, "not_found", "POST", f"/v1/stories/{story}/scenes", good)
        ann.refused(404, "not_found", "GET", f"/v1/stories/{story}/scenes")
    story = ann.story()
    bob.refused(403, "forbidden", "POST", f"/v1/stories/{story}/scenes", good)
    server.admin().refused(403, "forbidden", "POST", f"/v1/stories/{story}/scenes", good)
    service = server.service(acting_for=ann.id)
    assert service.scene(story)["author_id"] == ann.id
    for scene in (story, note, 5):
        ann.refused(404, "not_found", "GET", scene_path(scene))
        ann.refused(404, "not_found", "PATCH", scene_path(scene), {"title": "t"})
        ann.refused(404, "not_found", "DELETE", scene_path(scene))


def test_the_number_of_scenes_has_a_limit(make_server):
    server = make_server(settings={"scenes_max": 2, "messages_max": 3, "message_max": 5})
    ann = server.user()
    story = ann.story()
    made = [ann.scene(story)["id"] for _ in range(2)]
    ann.refused(403, "story_limit", "POST", f"/v1/stories/{story}/scenes", {"title": "t", "messages": []})
    assert [row["id"] for row in ann.rows(f"/stories/{story}/scenes")] == made
    ann.refused(400, "invalid", "PATCH", scene_path(made[0]), {"messages": ["m"] * 4}, field="messages")
    ann.refused(400, "invalid", "PATCH", scene_path(made[0]), {"messages": ["123456"]}, field="messages")


# ---- Editing ------------------------------------------------------------------------------------

def test_edit_the_title(server):
    ann = server.user()
    scene = ann.scene(ann.story())
    edited = ann.expect(200, "PATCH", scene_path(scene), {"title": "New 林"})
    assert edited["edited_at"] >= scene["created_at"]
    assert edited == {**scene, "title": "New 林", "edited_at": edited["edited_at"]}
    assert ann.get(f"/scenes/{scene['id']}") == edited
    again = ann.expect(200, "PATCH", scene_path(scene), {"title": "Newer", "messages": None})
    assert again["messages"] == scene["messages"], "null is as if left out"


def test_edit_messages_keeps_changes_moves_adds_and_removes(server):
    ann = server.user()
    scene = ann.scene(ann.story(), messages=["a", "b", "c"])
    a, b, c = ids(scene)
    edited = ann.expect(200, "PATCH", scene_path(scene), {"messages": [
        {"id": c, "text": "c"}, "new", {"id": a, "text": "a, changed [img]http://x[/img]"}]})
    assert texts(edited) == ["c", "new", "a, changed [img]http://x[/img]"]
    assert ids(edited)[0] == c and ids(edited)[2] == a
    assert ids(edited)[1] > c and edited["message_count"] == 3 and edited["title"] == scene["title"]
    assert edited["messages"][2]["parts"] == [{"text": "a, changed "}, {"img": "http://x"}]
    assert ann.get(f"/scenes/{scene['id']}") == edited
    emptied = ann.expect(200, "PATCH", scene_path(scene), {"messages": []})
    assert emptied["messages"] == [] and emptied["message_count"] == 0


def test_edit_refuses(server):
    ann, bob = server.users(2)
    story = ann.story()
    scene, other = ann.scene(story), ann.scene(story)
    mine = ids(scene)[0]
    for body, field in (({}, "title"), ({"title": None}, "title"), ({"title": ""}, "title"), ({"title": 5}, "title"),
                        ({"messages": "m"}, "messages"), ({"messages": [5]}, "messages"),
                        ({"messages": [{"id": mine}]}, "messages"), ({"messages": [{"text": "m"}]}, "messages"),
                        ({"messages": [{"id": "5", "text": "m"}]}, "messages"),
                        ({"messages": [{"id": 0, "text": "m"}]}, "messages"),
                        ({"messages": [{"id": -5, "text": "m"}]}, "messages"),
                        ({"messages": [{"id": 2 ** 53, "text": "m"}]}, "messages"),
                        ({"messages": [{"id": mine, "text": ""}]}, "messages"),
                        ({"messages": [{"id": mine, "text": None}]}, "messages"),
                        ({"messages": [{"id": mine, "text": "m", "x": 1}]}, "messages"),
                        ({"messages": [{"id": mine, "txt": "m"}]}, "messages"),
                        ({"title": "t", "story_id": story}, "story_id")):
        ann.refused(400, "invalid", "PATCH", scene_path(scene), body, field=field)
    for foreign in ([{"id": ids(other)[0], "text": "m"}], [{"id": 5, "text": "m"}],
                    [{"id": mine, "text": "m"}, {"id": mine, "text": "twice"}]):
        answer = ann.send("PATCH", scene_path(scene), {"messages": foreign})
        assert answer.status in (400, 404), answer
    for stranger in (bob, server.admin()):
        stranger.refused(403, "forbidden", "PATCH", scene_path(scene), {"title": "t"})
    assert ann.get(f"/scenes/{scene['id']}") == scene, "and nothing has changed"


# ---- Deleting -----------------------------------------------------------------------------------

def gone(actor, method, path, title, body=None):
    problem = actor.refused(410, "deleted", method, path, body, {"Accept-Language": "en"})
    assert (problem["post_title"], problem["notice"]) == (title, ENGLISH)
    assert actor.refused(410, "deleted", method, path, body)["notice"] == CHINESE


def test_a_deleted_scene(server):
    ann, bob = server.users(2)
    story = ann.story("The story")
    made = [ann.scene(story, f"s{i}") for i in range(3)]
    path = scene_path(made[1])
    bob.refused(403, "forbidden", "DELETE", path)
    ann.expect(204, "DELETE", path)
    for method, body in (("GET", None), ("PATCH", {"title": "t"}), ("DELETE", None)):
        gone(ann, method, path, "s1", body)
    assert [(row["title"], row["number"]) for row in bob.rows(f"/stories/{story}/scenes")] == [("s0", 1), ("s2", 3)]
    assert ann.scene(story)["number"] == 4, "a number is not given twice"
    server.admin().expect(204, "DELETE", scene_path(made[2]))


def test_a_deleted_story_takes_its_scenes_with_it(server):
    ann, bob = server.users(2)
    story = ann.story("The story")
    scene = ann.scene(story, "The scene")
    ann.delete(story)
    gone(bob, "GET", f"/v1/stories/{story}/scenes", "The story")
    gone(ann, "POST", f"/v1/stories/{story}/scenes", "The story", {"title": "t", "messages": []})
    for method, body in (("GET", None), ("PATCH", {"title": "t"}), ("DELETE", None)):
        gone(ann, method, scene_path(scene), "The story", body)


# ---- Once, and for good -------------------------------------------------------------------------

def test_a_repeat_with_the_key_makes_no_second_scene(server):
    ann = server.user()
    story = ann.story()
    headers = {"Idempotency-Key": f"scene-{new_user_id()}"}
    first = ann.scene(story, headers=headers)
    assert ann.scene(story, headers=headers) == first
    ann.refused(422, "key_reused", "POST", f"/v1/stories/{story}/scenes", {"title": "another", "messages": []}, headers)
    assert [row["id"] for row in ann.rows(f"/stories/{story}/scenes")] == [first["id"]]


def test_events(server):
    ann = server.user()
    service = server.service()
    story = ann.story()
    scene = ann.scene(story)["id"]
    ann.expect(200, "PATCH", scene_path(scene), {"title": "t"})
    ann.expect(204, "DELETE", scene_path(scene))
    rows = tail(service, 0)
    assert [(row["type"], row["actor_user_id"], row["target_type"], row["target_id"], row["action"], row["delta"],
             row["author_id"], row["post_id"]) for row in rows if row["actor_user_id"] == ann.id][-3:] == [
        ("ScenePublished", ann.id, "scene", scene, "publish", 1, ann.id, story),
        ("SceneEdited", ann.id, "scene", scene, "edit", 0, ann.id, story),
        ("SceneDeleted", ann.id, "scene", scene, "delete", -1, ann.id, story)]


def test_all_of_it_survives_kill_9(make_server):
    server = make_server()
    ann = server.user()
    story = ann.story()
    kept, lost = ann.scene(story, "kept", ["林", "🐈"]), ann.scene(story, "lost")
    edited = ann.expect(200, "PATCH", scene_path(kept), {"messages": ["new", *kept["messages"][:0]]})
    ann.expect(204, "DELETE", scene_path(lost))
    server.restart(signal.SIGKILL)
    assert ann.get(f"/scenes/{kept['id']}") == edited
    gone(ann, "GET", scene_path(lost), "lost")
    assert ann.scene(story)["number"] == 3
    server.stop()
    server.verify()
