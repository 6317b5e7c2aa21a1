"""zhiguang, moved in: the table of follows is what Tidings answers, and what was made of it is compared with it."""
import json
import os
import struct

from facts import export_facts, of_type, verified
from test_hmdp import examples, kinds
from zhiguang import DEAD, LIST_MAX, PENDING, PROCESSING, T0, TOLD, Zhiguang


def moved(old, tmp_path):
    drift, data = tmp_path / "drift.json", tmp_path / "data"
    done = old.command("--data", os.fspath(data), "--drift", os.fspath(drift))
    assert done.returncode == 0, done.stdout + done.stderr
    verified(data)
    follows = {(fact["user_id"], fact["author_id"]): fact.get("at") for fact in of_type(export_facts(data), "follow")}
    return drift, {pair: at for pair, at in follows.items() if at}


def test_what_follows_from_the_table_has_no_drift(tmp_path):
    old = Zhiguang()
    old.follow(1, 2)
    old.follow(3, 2)
    old.follow(2, 1)
    old.unfollow(3, 2)
    drift, follows = moved(old, tmp_path)
    report = json.loads(drift.read_text())
    assert report["contradictions"] == report["left_out"] == report["changed"] == []
    assert report["facts"] == {"follow": 3, "unfollow": 1} and report["read"]["following"] == 3 and report["read"]["outbox_event"] == 4
    assert follows == {(1, 2): T0 + 1001, (2, 1): T0 + 3003}


def test_every_consumer_that_misses_an_event_is_told_of(tmp_path):
    old = Zhiguang()
    old.follow(9, 2)
    old.follow(1, 9)
    old.follow(1, 2, missed=("follower",))
    old.follow(3, 2, missed=("count following",))
    old.follow(4, 2, missed=("count followers",))
    old.follow(1, 5, missed=("uf:flws",))
    old.follow(6, 2, missed=("uf:fans",))
    old.follow(7, 2)
    old.unfollow(7, 2, missed=("follower", "count following", "uf:fans"))
    drift, follows = moved(old, tmp_path)
    assert kinds(drift) == {"following": 2, "followers": 1, "follower_missing": 1, "follower_stale": 1, "list_missing": 2, "list_stale": 1}
    assert [(row["user_id"], row["says"], row["is"]) for row in examples(drift, "following")] == [(3, 0, 1), (7, 1, 0)]
    assert examples(drift, "followers") == [{"user_id": 2, "says": 4, "is": 5}]
    assert examples(drift, "list_missing") == [{"user_id": 1, "author_id": 5, "where": "uf:flws:"},
                                               {"user_id": 6, "author_id": 2, "where": "uf:fans:"}]
    assert examples(drift, "list_stale") == [{"user_id": 7, "author_id": 2, "where": "uf:fans:"}]
    assert sorted(follows) == [(1, 2), (1, 5), (1, 9), (3, 2), (4, 2), (6, 2), (9, 2)]


def test_a_list_that_is_not_there_or_has_the_newest_alone_is_sound(tmp_path):
    old = Zhiguang()
    fans = range(100, 100 + LIST_MAX + 5)
    for fan in fans:
        old.now += 0 if fan == fans[5] else 1001  # at the same time as one that has no place in the list any more
        old.change("following", fan, 2, 1)
        old.change("follower", fan, 2, 1)
        old.redis("SET", f"ucnt:{fan}", struct.pack(">5I", 1, 0, 0, 0, 0))
    old.redis("SET", "ucnt:2", struct.pack(">5I", 0, len(fans), 0, 0, 0))
    old.redis("ZADD", "uf:fans:2", *(word for fan in fans[5:] for word in (old.now, fan)))
    drift, follows = moved(old, tmp_path)
    assert old.redis("ZCARD", "uf:fans:2") == LIST_MAX and len(follows) == LIST_MAX + 5
    assert kinds(drift) == {}


def test_counts_of_another_length_and_rows_of_nobody(tmp_path):
    old = Zhiguang()
    old.follow(1, 2)
    old.redis("SET", "ucnt:5", b"\0" * 19)
    old.redis("SET", "ucnt:6", b"\0" * 21)
    old.redis("SET", "ucnt:7", b"\xff" * 20)
    old.redis("ZADD", "uf:fans:8", 1, "nobody")
    old.db.later("INSERT INTO following VALUES (90, 0, 2, 1, '2023-01-01', '2023-01-01'), (91, 3, 3, 1, '2023-01-01', '2023-01-01'), "
                 "(92, -1, 2, 1, '2023-01-01', '2023-01-01'), (93, 4, 2, 0, '2023-01-02', '2023-01-01')")
    drift, follows = moved(old, tmp_path)
    assert kinds(drift, "left_out") == {"bad_row": 2, "bad_key": 2, "bad_member": 1, "follow_self": 1}
    assert examples(drift, "following") == [{"user_id": 7, "says": 2 ** 32 - 1, "is": 0}]
    assert list(follows) == [(1, 2)]


# ---- Its outbox --------------------------------------------------------------------------------------------------------------------------


def told(drift):
    return {kind: n for kind, n in kinds(drift).items() if kind.startswith("outbox")}


def test_events_that_nobody_was_told_of_explain_what_copies_lack(tmp_path):
    old = Zhiguang()
    old.follow(1, 2)
    old.follow(9, 2)
    old.consumes = False
    old.follow(3, 2)
    old.unfollow(1, 2)
    old.follow(4, 2, event=PROCESSING)
    drift, follows = moved(old, tmp_path)
    assert told(drift) == {"outbox_pending": 3}
    assert examples(drift, "outbox_pending") == [{"user_id": 3, "author_id": 2, "row_id": 3, "where": "outbox_event"},
                                                 {"user_id": 1, "author_id": 2, "row_id": 4, "where": "outbox_event"},
                                                 {"user_id": 4, "author_id": 2, "row_id": 5, "where": "outbox_event"}]
    assert kinds(drift)["follower_missing"] == 2 and kinds(drift)["follower_stale"] == 1
    assert sorted(follows) == [(3, 2), (4, 2), (9, 2)]


def test_events_that_were_given_up_are_told_of_and_five_are_named(tmp_path):
    old = Zhiguang()
    for fan in range(11, 18):
        old.follow(fan, 2, event=DEAD)
    old.follow(20, 2)
    drift, follows = moved(old, tmp_path)
    assert told(drift) == {"outbox_dead": 7}
    assert [row["user_id"] for row in examples(drift, "outbox_dead")] == [11, 12, 13, 14, 15]
    assert len(follows) == 8


def test_the_newest_event_of_a_pair_that_contradicts_the_table_is_told_of_and_the_table_is_true(tmp_path):
    old = Zhiguang()
    for fan in (1, 3, 4):
        old.follow(fan, 2)
    old.change("following", 1, 2, 0)  # by hand: no event
    old.tell_follow(3, 2, stands=0, number=100)
    old.tell_follow(4, 2, stands=1, number=110)  # by id, not by when it was written
    old.tell_follow(4, 2, stands=0, number=90)
    old.tell_follow(4, 2, stands=0, number=9)
    old.tell_follow(5, 2, number=120)
    old.tell_follow(6, 2, stands=0, number=130)  # a row that is not there does not stand
    old.follow(7, 2)
    old.unfollow(7, 2)
    drift, follows = moved(old, tmp_path)
    assert told(drift) == {"outbox_contradicts": 3}
    assert examples(drift, "outbox_contradicts") == [
        {"user_id": 1, "author_id": 2, "row_id": 1, "where": "outbox_event", "says": 1, "is": 0},
        {"user_id": 3, "author_id": 2, "row_id": 100, "where": "outbox_event", "says": 0, "is": 1},
        {"user_id": 5, "author_id": 2, "row_id": 120, "where": "outbox_event", "says": 1, "is": 0}]
    assert sorted(follows) == [(3, 2), (4, 2)]


def test_an_outbox_of_many_pages_is_read_to_its_end(tmp_path):
    old = Zhiguang()
    old.follow(1, 2)
    for turn in range(1203):
        old.tell_follow(1, 2, stands=turn % 2)
    drift, _ = moved(old, tmp_path)
    assert json.loads(drift.read_text())["read"]["outbox_event"] == 1204
    assert examples(drift, "outbox_contradicts") == [{"user_id": 1, "author_id": 2, "row_id": 1204, "where": "outbox_event", "says": 0, "is": 1}]


def test_payloads_may_be_anything(tmp_path):
    old = Zhiguang()
    old.follow(1, 2)
    old.tell({"fromUserId": "1", "toUserId": 2, "padding": "p" * 4000})
    for bad in ("", "no JSON", "{", "[1, 2]", "null", "\"1\"", "[" * 5000, {}, {"from_user_id": 1}, {"from_user_id": None, "to_user_id": 2},
                {"from_user_id": [1], "to_user_id": 2}, {"from_user_id": 1.5, "to_user_id": 2}, {"from_user_id": 0, "to_user_id": 2},
                {"from_user_id": 1, "to_user_id": -2}, {"from_user_id": 1, "to_user_id": 2 ** 53}, {"from_user_id": 1, "to_user_id": 2 ** 64 + 2},
                {"from_user_id": 1, "to_user_id": 2, "padding": "p" * 5_000_000}):
        last = old.tell(bad, "FollowCanceled")
    dead = old.tell("nothing", status=DEAD)
    old.tell({"from_user_id": 8, "to_user_id": 8})
    old.tell("nothing", "CounterChanged", PENDING)
    old.tell({"from_user_id": 1, "to_user_id": 2}, "FollowCanceledNot", DEAD)
    old.tell({"from_user_id": 1, "to_user_id": 2}, "FollowCanceled" + "x" * 40, DEAD)
    old.db.later(f"INSERT INTO outbox_event VALUES (-5, 'FollowCanceled', NULL, {TOLD}, 0, '2023-01-01', '2023-01-01')")
    drift, follows = moved(old, tmp_path)
    assert kinds(drift, "left_out") == {"bad_row": last - 2 + 2, "follow_self": 1}
    assert examples(drift, "bad_row")[:2] == [{"where": "outbox_event"}, {"row_id": 3, "where": "outbox_event"}]
    assert examples(drift, "outbox_dead") == [{"row_id": dead, "where": "outbox_event"}]
    assert told(drift) == {"outbox_dead": 1}
    assert list(follows) == [(1, 2)]


def test_without_an_outbox_or_with_a_table_that_is_none_nothing_is_said(tmp_path):
    old = Zhiguang(outbox=None)
    old.follow(1, 2)
    old.db.later("CREATE TABLE outbox_event (id CHAR(36) PRIMARY KEY, aggregate_type TEXT, payload TEXT)")
    old.db.later("INSERT INTO outbox_event VALUES ('eb6fb3ac-4ad6-44c8-8b0e-8b5f1c5c0d7f', 'user', '{}')")
    drift, follows = moved(old, tmp_path)
    report = json.loads(drift.read_text())
    assert report["contradictions"] == report["left_out"] == report["changed"] == []
    assert list(follows) == [(1, 2)] and not any(name.startswith("outbox") for name in report["read"])


def test_an_outbox_of_the_other_name_and_without_a_status_is_compared(tmp_path):
    old = Zhiguang(outbox="outbox")
    old.follow(1, 2)
    old.follow(3, 2, event=PENDING)
    old.tell_follow(1, 2, stands=0)
    old.db.later("ALTER TABLE outbox DROP COLUMN status, DROP COLUMN retry_count, DROP COLUMN created_at, DROP COLUMN updated_at")
    drift, _ = moved(old, tmp_path)
    assert told(drift) == {"outbox_contradicts": 1}
    assert examples(drift, "outbox_contradicts")[0]["where"] == "outbox"
