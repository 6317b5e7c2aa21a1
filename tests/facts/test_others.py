"""Facts of other systems: each rule of docs/FACTS.md."""
import os
import random

import pytest
from facts import DAY, T0, export_facts, follow, import_facts, lines_of, of_type, post, read, unfollow, verified
from support.server import Server

WORLD = [
    {"type": "user", "user_id": 1, "name": "Robin"},
    follow(1, 2, T0 + 2 * DAY),
    post(2, "blog:1", T0 + DAY, body="before the follow"),
    post(2, "blog:2", T0 + 3 * DAY),
    post(2, "blog:3", T0 + 4 * DAY, deleted_at=T0 + 5 * DAY),
    unfollow(1, 2, T0 + 6 * DAY),
    post(2, "blog:4", T0 + 7 * DAY),
    follow(1, 2, T0 + 8 * DAY),
    post(2, "blog:5", T0 + 9 * DAY, kind="story"),
    read(1, "blog:1", T0 + 10 * DAY),
    read(1, "blog:2", T0 + 11 * DAY),
    {"type": "comment", "user_id": 3, "post_key": "blog:2", "key": "c:1", "body": "first", "at": T0 + 4 * DAY},
    {"type": "comment", "user_id": 1, "post_key": "blog:2", "parent_key": "c:1", "body": "reply", "at": T0 + 5 * DAY},
    {"type": "reaction", "user_id": 1, "post_key": "blog:2", "reaction": "like", "at": T0 + 5 * DAY},
    {"type": "reaction", "user_id": 1, "comment_key": "c:1", "reaction": "downvote", "at": T0 + 5 * DAY},
    {"type": "reaction", "user_id": 1, "comment_key": "c:1", "reaction": "like", "at": T0 + 6 * DAY},
    {"type": "scene", "story_key": "blog:5", "title": "One", "messages": ["a", {"text": "b"}], "at": T0 + 10 * DAY},
    {"type": "subscription", "user_id": 1, "story_key": "blog:5", "at": T0 + 9 * DAY + 1},
    {"type": "webhook", "name": "gate", "url": "https://example.org/hook", "secret": "s" * 32, "at": T0},
]


def answers(data):
    with_server = Server(data=os.fspath(data)).start()
    try:
        robin = with_server.user(1)
        return {
            "unread": robin.get("/inbox/unread")["authors"],
            "inbox": [item["title"] for item in robin.get("/inbox")["items"]],
            "history": [item["title"] for item in robin.get("/history")["items"]],
            "page": robin.get("/users/2/posts", read_status="read")["total"],
            "counter": robin.get("/relation/counter", user_id=2),
            "notified": robin.get("/notifications")["unread"],
            "stats": robin.get("/posts/by-key", key="blog:2")["stats"],
            "key": robin.get(f"/posts/{robin.get('/posts/by-key', key='blog:2')['id']}")["key"],
            "comment": robin.get(f"/posts/{robin.get('/posts/by-key', key='blog:2')['id']}/comments")["items"][0]["stats"],
        }
    finally:
        with_server.close()


def test_the_same_answers_whatever_the_order_of_lines(tmp_path):
    first = None
    for seed in range(3):
        lines = WORLD[:]
        random.Random(seed).shuffle(lines)
        done, data = import_facts(tmp_path, lines if seed else WORLD, name=f"data{seed}")
        assert done.returncode == 0 and "0 refused" in done.stdout, done.stdout + done.stderr
        verified(data)
        found = answers(data)
        first = first or found
        assert found == first
    assert first["inbox"] == [f"Title of blog:{n}" for n in (5, 3, 2)]
    assert first["unread"][0]["unread"] == 1
    assert first["history"] == ["Title of blog:2", "Title of blog:1"]
    assert first["page"] == 2
    assert first["counter"]["followers"] == 1 and first["counter"]["posts"] == 4 and first["counter"]["likes_received"] == 1
    assert first["notified"] == 1
    assert first["stats"]["like_count"] == 1 and first["stats"]["comment_count"] == 2
    assert first["comment"]["like_count"] == 1 and first["comment"]["down_count"] == 0
    assert first["key"] == "blog:2"


def test_times_are_kept_and_ids_are_in_their_order(tmp_path):
    _, data = import_facts(tmp_path, [post(2, "b", T0 + 5), post(3, "c", T0 + 1), post(2, "a", T0)])
    posts = of_type(export_facts(data), "post")
    assert [fact["key"] for fact in posts] == ["a", "c", "b"]
    assert [fact["at"] for fact in posts] == [T0, T0 + 1, T0 + 5]
    assert [fact["id"] for fact in posts] == sorted(fact["id"] for fact in posts)


def test_what_says_nothing_new_is_taken_once(tmp_path):
    facts = [post(2, "a", T0), follow(1, 2, T0 + 1), follow(1, 2, T0 + 2), read(1, "a", T0 + 9), read(1, "a", T0 + 5),
             {"type": "reaction", "user_id": 1, "post_key": "a", "reaction": "like", "at": T0 + 8},
             {"type": "reaction", "user_id": 1, "post_key": "a", "reaction": "like", "at": T0 + 7},
             unfollow(4, 2, T0 + 1)]
    done, data = import_facts(tmp_path, facts)
    assert done.returncode == 0, done.stderr
    # The second read, follow and like, and the unfollow of nobody.
    assert done.stdout == "4 facts taken, 4 repeated, 0 refused\n"
    exported = export_facts(data)
    assert [fact["at"] for fact in of_type(exported, "follow")] == [T0 + 1]
    assert [fact["at"] for fact in of_type(exported, "read")] == [T0 + 5]
    assert [fact["at"] for fact in of_type(exported, "history")] == [T0 + 5]
    assert [fact["at"] for fact in of_type(exported, "reaction")] == [T0 + 7]
    verified(data)


def test_an_unfollow_before_its_follow_changes_nothing(tmp_path):
    _, data = import_facts(tmp_path, [unfollow(1, 2, T0), follow(1, 2, T0 + 1), post(2, "a", T0 + 2)])
    found = of_type(export_facts(data), "follow")
    assert len(found) == 1 and found[0]["at"] == T0 + 1
    assert found[0]["delivered"] == [[of_type(export_facts(data), "post")[0]["id"], None]]


def test_a_read_may_stay_out_of_the_history(tmp_path):
    _, data = import_facts(tmp_path, [post(2, "a", T0), read(1, "a", T0 + 1, history=False)])
    exported = export_facts(data)
    assert len(of_type(exported, "read")) == 1 and not of_type(exported, "history")


def test_users_need_no_profile_and_the_last_one_counts(tmp_path):
    facts = [{"type": "user", "user_id": 1, "name": "old"}, follow(7, 8, T0), {"type": "user", "user_id": 1, "name": "new"}]
    _, data = import_facts(tmp_path, facts)
    assert [fact["name"] for fact in of_type(export_facts(data), "user")] == ["new"]
    verified(data)


Y2004 = 1_072_915_200_000
OLD_WORLD = [
    post(2, "late", 1_577_836_800_000),  # the first moment that an id can have
    post(2, "old", Y2004 + DAY, edited_at=Y2004 + 2 * DAY),
    post(2, "gone", Y2004 + DAY + 1, deleted_at=Y2004 + 3 * DAY),
    post(2, "story", Y2004 + DAY, kind="story"),
    {"type": "scene", "story_key": "story", "title": "One", "messages": ["a", "b"], "at": Y2004 + 5 * DAY,
     "edited_at": Y2004 + 6 * DAY},
    {"type": "subscription", "user_id": 1, "story_key": "story", "at": Y2004 + 4 * DAY},
    {"type": "comment", "user_id": 1, "post_key": "old", "body": "well", "at": Y2004 + 7 * DAY},
    {"type": "reaction", "user_id": 1, "post_key": "old", "reaction": "like", "at": Y2004 + 8 * DAY},
    follow(1, 2, Y2004),
    read(1, "old", Y2004 + 9 * DAY),
    post(2, "first", 0),
]


def test_times_before_ids_begin_are_kept_everywhere(tmp_path):
    done, data = import_facts(tmp_path, OLD_WORLD)
    assert done.stdout == "11 facts taken, 0 repeated, 0 refused\n", done.stdout + done.stderr
    exported = export_facts(data)
    times = {(fact["type"], fact.get("key")): [fact["at"], fact.get("edited_at"), fact.get("deleted_at")]
             for fact in exported if "at" in fact}
    assert times == {
        ("post", "first"): [0, None, None],
        ("post", "old"): [Y2004 + DAY, Y2004 + 2 * DAY, None],
        ("post", "gone"): [Y2004 + DAY + 1, None, Y2004 + 3 * DAY],
        ("post", "story"): [Y2004 + DAY, None, None],
        ("post", "late"): [1_577_836_800_000, None, None],
        ("scene", None): [Y2004 + 5 * DAY, Y2004 + 6 * DAY, None],
        ("comment", None): [Y2004 + 7 * DAY, None, None],
        ("follow", None): [Y2004, None, None],
        ("read", None): [Y2004 + 9 * DAY, None, None],
        ("history", None): [Y2004 + 9 * DAY, None, None],
        ("reaction", None): [Y2004 + 8 * DAY, None, None],
        ("subscription", None): [Y2004 + 4 * DAY, None, None],
    }
    ids = [fact["id"] for fact in sorted(of_type(exported, "post"), key=lambda fact: fact["at"])]
    assert ids == sorted(ids) and len(set(ids)) == 5, "the order of ids is that of time"
    verified(data)
    done, again = import_facts(tmp_path, exported, name="again")
    assert done.returncode == 0 and export_facts(again) == exported
    server = Server(again).start()
    try:
        reader, found = server.user(1), {fact.get("key"): fact["id"] for fact in of_type(exported, "post")}
        rows = {row["post_id"]: row for row in reader.get("/inbox?filter=all")["items"]}
        assert rows[found["old"]]["created_at"] == Y2004 + DAY and rows[found["old"]]["read_at"] == Y2004 + 9 * DAY
        assert rows[found["late"]]["created_at"] == 1_577_836_800_000
        assert reader.get(f"/posts/{found['old']}")["edited_at"] == Y2004 + 2 * DAY
        assert reader.get(f"/posts/{found['old']}/comments")["items"][0]["created_at"] == Y2004 + 7 * DAY
        assert reader.get("/notifications")["items"][0]["created_at"] == Y2004 + 5 * DAY
        assert reader.get("/relation/following")["items"][0]["since"] == Y2004
        assert reader.get("/history")["items"][0]["read_at"] == Y2004 + 9 * DAY
        hot = reader.get("/hot?kind=note")["items"]
        assert sorted(row["created_at"] for row in hot) == [0, Y2004 + DAY, 1_577_836_800_000]
    finally:
        server.close()


@pytest.mark.parametrize("line, field, reason", [
    (read(1, "nowhere", T0), "post_key", "no such thing"),
    (follow(1, 1, T0), "author_id", "themselves"),
    ({**post(2, "k", T0), "id": 5}, "id", "no place"),
    (post(2, "taken", T0 + 5), "key", "there already"),
    (post(2, "f", 4_000_000_000_000), "id", "future"),
    ({"type": "post", "author_id": 2, "title": "", "at": T0}, "title", "too long, missing"),
    ({"type": "post", "author_id": 2, "at": T0}, "title", "missing"),
    ({"type": "history", "user_id": 1, "post_key": "taken", "at": T0}, "type", "export only"),
    ({"type": "nonsense"}, "type", "no such type"),
    ({"type": "user", "user_id": 1, "nickname": "x"}, "", "not known"),
    ({"type": "user", "user_id": 1.5}, "user_id", "whole number"),
    ({"type": "user", "user_id": 2**53}, "user_id", "out of range"),
    ({"type": "reaction", "user_id": 1, "post_key": "taken", "reaction": "downvote", "at": T0}, "reaction", "posts take"),
    ({"type": "user", "user_id": 1, "name": "x", "avatar": "javascript:alert(1)"}, "avatar", "http or https"),
    ({"type": "webhook", "name": "w", "url": "ftp://a/", "secret": "s" * 32, "at": T0}, "url", "http or https"),
    ({"type": "end", "facts": 1}, "type", "belongs to an export"),
    ('{"type":"user","user_id":1,"user_id":2}\n', "user_id", "twice"),
    ('{"type":"user","user_id":1} x\n', "", "not one JSON object"),
    ('{"type":"user","user_id":1,"name":"\\ud800"}\n', "", "not one JSON object"),
    ("[]\n", "", "not one JSON object"),
    ("{\n", "", "not one JSON object"),
])
def test_what_cannot_be_taken_is_reported_and_the_rest_is_taken(tmp_path, line, field, reason):
    report = tmp_path / "report"
    done, data = import_facts(tmp_path, [post(2, "taken", T0), line, follow(1, 2, T0)], "--report", os.fspath(report))
    assert done.returncode == 1 and "2 facts taken, 0 repeated, 1 refused" in done.stdout, done.stdout + done.stderr
    number, at_fault, why = report.read_text().rstrip("\n").split("\t")
    assert number == "2" and at_fault == field and reason in why
    verified(data)


def test_a_directory_with_data_is_refused(tmp_path):
    import_facts(tmp_path, [follow(1, 2, T0)])
    done, _ = import_facts(tmp_path, [follow(1, 3, T0)])
    assert done.returncode == 3 and "there are data already" in done.stderr


def test_the_last_line_needs_no_end(tmp_path):
    text = lines_of([post(2, "a", T0), post(2, "b", T0 + 1, body="x" * 500_000)])[:-1]
    done, data = import_facts(tmp_path, [text])
    assert done.stdout == "2 facts taken, 0 repeated, 0 refused\n", done.stderr
    assert of_type(export_facts(data), "post")[-1]["body"] == "x" * 500_000
