"""zhiguang, moved in: the table of follows is what Tidings answers, and what was made of it is compared with it."""
import json
import os
import struct

from facts import export_facts, of_type, verified
from test_hmdp import examples, kinds
from zhiguang import LIST_MAX, T0, Zhiguang


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
    assert report["facts"] == {"follow": 3, "unfollow": 1} and report["read"]["following"] == 3
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
