"""hmdp, moved in: what its lists say is what Tidings answers, and where it contradicts itself is told, as often as it was planted."""
import json
import os
import signal
import subprocess
import time

import pytest
from facts import export_facts, of_type, verified
from hmdp import T0, Hmdp
from stores import REDIS, control
from support.server import BIN, Server, clean_environment, tidings, wait_until


def kinds(path, part="contradictions"):
    return {row["kind"]: row["found"] for row in json.loads(path.read_text())[part]}


def examples(path, kind):
    report = json.loads(path.read_text())
    return next(row["examples"] for part in ("contradictions", "left_out", "changed") for row in report[part] if row["kind"] == kind)


@pytest.fixture
def moved(tmp_path):
    """Imports, and gives what was found and a server on it."""
    servers = []

    def move(old, *more, code=0):
        drift, data = tmp_path / "drift.json", tmp_path / "data"
        done = old.command("--data", os.fspath(data), "--drift", os.fspath(drift), *more)
        assert done.returncode == code, done.stdout + done.stderr
        verified(data)
        servers.append(Server(data=os.fspath(data)).start())
        return drift, servers[0]

    yield move
    for server in servers:
        server.close()


def inbox(server, user, **query):
    """Titles in a fan's inbox, newest first."""
    return [item["title"] for item in server.user(user).get("/inbox", limit=100, **query)["items"]]


def titles(*blogs):
    return [f"Title {blog}" for blog in blogs]


def test_a_sound_community_has_no_drift_and_the_same_inboxes(moved):
    old = Hmdp()
    for user in (1, 2, 3):
        old.user(user, f"user {user}", "https://example.org/imgs/1.png")
    old.follow(1, 2)
    old.follow(3, 2)
    first, second = old.publish(2), old.publish(2)
    old.read(1, first)
    old.like(3, first)
    old.comment(3, first, "first comment")
    old.comment(1, first, "an answer", parent=1, answer=1)
    old.comment(1, first, "not to be seen", status=2)
    drift, server = moved(old)
    report = json.loads(drift.read_text())
    assert report["contradictions"] == report["left_out"] == report["changed"] == []
    assert report["read"]["tb_blog"] == 2 and report["facts"]["read"] == 1
    assert inbox(server, 1) == inbox(server, 3) == titles(second, first)
    assert inbox(server, 1, filter="unread") == titles(second)
    assert server.user(1).get("/inbox/unread")["authors"] == [{"user_id": 2, "name": "user 2", "unread": 1, "following": True}]
    read = server.user(1).get("/history")["items"]
    assert [(item["title"], item["read_at"]) for item in read] == [("Title 1", old.now - 4000)]
    post = server.user(3).get("/posts/by-key", key="blog:1")
    assert post["stats"]["like_count"] == 1 and post["stats"]["comment_count"] == 2 and post["extra"] == {"shop_id": 1}
    comments = server.user(3).get(f"/posts/{post['id']}/comments", include_hidden=1)["items"]
    assert sorted((row["body"], row["status"]) for row in comments) == [("first comment", "visible"), ("not to be seen", "hidden")]
    top = next(row for row in comments if row["body"] == "first comment")
    replies = server.user(3).get(f"/posts/{post['id']}/comments", parent_id=top["id"])["items"]
    assert [row["body"] for row in replies] == ["an answer"]
    assert server.user(1).get("/users/2")["avatar"] == "https://example.org/imgs/1.png"


def test_an_avatar_that_is_no_url_is_left_out_and_counted(moved):
    old = Hmdp()
    old.user(1, "Ann", "/imgs/icons/1.png")
    old.user(2, "Bob", "javascript:alert(1)")
    old.user(3, "Cid", "https://example.org/c.png")
    old.publish(1)
    drift, server = moved(old)
    report = json.loads(drift.read_text())
    assert [(row["kind"], row["found"]) for row in report["left_out"]] == [("no_url", 2)]
    assert [server.user(9).get(f"/users/{n}")["avatar"] for n in (1, 2, 3)] == ["", "", "https://example.org/c.png"]
    assert server.user(9).get("/users/2")["name"] == "Bob"


def test_neither_telephone_numbers_nor_passwords_are_read(tmp_path):
    old = Hmdp()
    old.user(1, "somebody")
    old.publish(1)
    facts = tmp_path / "facts"
    done = old.command("--dry-run", "--facts", os.fspath(facts))
    assert done.returncode == 0, done.stdout + done.stderr
    assert "secret word" not in facts.read_text() and "13800000000" not in facts.read_text()
    assert os.stat(facts).st_mode & 0o077 == 0


def test_what_was_delivered_stays_delivered_whoever_is_followed_now(moved):
    old = Hmdp()
    old.follow(1, 2)
    kept = old.publish(2)
    old.unfollow(1, 2)
    away = old.publish(2)
    old.follow(1, 2)
    again = old.publish(2)
    old.follow(1, 3)
    gone = old.publish(3)
    old.unfollow(1, 3)
    old.publish(3)
    drift, server = moved(old)
    assert kinds(drift) == {"inbox_before_follow": 1}
    assert kinds(drift, "changed") == {"inbox_unfollowed": 1}
    assert inbox(server, 1) == titles(gone, again, kept) and away == 2
    assert server.user(1).get("/inbox/badge")["total"] == 3
    following = server.user(1).get("/relation/following", user_id=1)["items"]
    assert [(row["user_id"], row["since"]) for row in following] == [(2, T0 + 5000)]


def test_of_a_post_in_the_second_of_the_follow_the_inbox_says_whether_it_came(moved):
    old = Hmdp()
    old.follow(1, 2)
    old.now -= 1000
    old.follow(3, 2)
    old.now -= 1000
    same = old.publish(2, missed=(3,))
    later = old.publish(2)
    drift, server = moved(old)
    assert kinds(drift) == {} and kinds(drift, "changed") == {}
    assert inbox(server, 1) == titles(later, same) and inbox(server, 3) == titles(later)
    assert server.user(3).get("/relation/counter", user_id=2)["followers"] == 2


def test_counts_that_went_wrong_are_told_and_not_believed(moved):
    old = Hmdp()
    for fan in (1, 3, 4):
        old.follow(fan, 2)
    blogs = [old.publish(2) for _ in range(3)]
    old.publish(2, half=(3,))  # in the inbox of 3, not counted
    old.read(1, blogs[0], until="read")  # neither count goes down
    old.read(1, blogs[1], until="total")  # only the total does
    old.redis("SET", "total_unread:4", -7)
    old.like(3, blogs[0])
    old.like(4, blogs[0], until="row")  # counted, and not in the set
    old.comment(3, blogs[1], counted=False)
    drift, server = moved(old)
    assert kinds(drift) == {"total_unread": 3, "author_unread": 2, "liked": 1, "comments": 1}
    assert sorted((row["user_id"], row["says"], row["is"]) for row in examples(drift, "total_unread")) == [
        (1, 3, 2), (3, 3, 4), (4, -7, 4)]
    assert sorted((row["user_id"], row["author_id"], row["says"], row["is"]) for row in examples(drift, "author_unread")) == [
        (1, 2, 4, 2), (3, 2, 3, 4)]
    assert examples(drift, "liked") == [{"author_id": 2, "blog_id": 1, "says": 2, "is": 1}]
    assert [server.user(user).get("/inbox/badge")["total"] for user in (1, 3, 4)] == [2, 4, 4]


def test_lists_that_do_not_agree(moved):
    old = Hmdp()
    old.follow(1, 2)
    old.follow(1, 2)
    old.follow(3, 2, until="row")
    old.follow(4, 2)
    old.unfollow(4, 2, until="row")
    missed = old.publish(2, missed=(3,))
    seen = old.publish(2)
    old.redis("ZREM", "feed:1", seen)  # as the first version did when something was read
    old.redis("ZADD", "blog:read:1", old.tick(), seen)
    old.redis("INCRBY", "total_unread:1", -1)
    old.redis("INCRBY", "author_unread:1:2", -1)
    old.redis("ZADD", "feed:2", old.now, missed)  # one's own
    old.redis("SET", "blog_author:2", 9)
    drift, server = moved(old)
    assert kinds(drift) == {"inbox_missing": 1, "follow_repeated": 1, "follows_missing": 1, "follows_stale": 1, "author_wrong": 1}
    assert kinds(drift, "left_out") == {"inbox_own": 1}
    assert examples(drift, "inbox_missing") == [{"user_id": 3, "author_id": 2, "blog_id": missed}]
    assert examples(drift, "author_wrong") == [{"author_id": 2, "blog_id": 2, "where": "blog_author:"}]
    assert inbox(server, 1) == inbox(server, 3) == titles(seen, missed) and inbox(server, 4) == inbox(server, 2) == []
    assert [server.user(user).get("/inbox/badge")["total"] for user in (1, 3)] == [1, 2]
    assert server.user(4).get("/relation/counter", user_id=2)["followers"] == 2


def test_posts_that_were_deleted_in_every_way(moved):
    old = Hmdp()
    old.follow(1, 2)
    hidden, gone, forgotten, known, lost = (old.publish(2) for _ in range(5))
    old.delete(hidden, row=False)
    old.delete(gone)
    old.delete(forgotten, hint=False)
    old.delete(known)
    old.redis("HSET", f"blog:info:{known}", "id", known, "userId", 2, "title", "remembered", "createTime", T0 + 5000)
    old.delete(lost)
    old.redis("DEL", f"blog_author:{lost}")
    old.redis("ZADD", "blog:read:1", old.tick(), lost)
    drift, server = moved(old)
    assert kinds(drift) == {"row_missing": 1, "total_unread": 1, "author_unread": 1}  # counted until somebody looks
    assert kinds(drift, "left_out") == {"inbox_unknown": 1, "read_unknown": 1}
    assert examples(drift, "total_unread") == [{"user_id": 1, "says": 5, "is": 0}]
    assert examples(drift, "row_missing") == [{"author_id": 2, "blog_id": forgotten}]
    items = server.user(1).get("/inbox")["items"]
    assert [(item["title"], item["is_deleted"]) for item in items] == [
        ("remembered", True), ("\u2014", True), ("\u2014", True), ("Title 1", True)]
    assert server.user(1).get("/inbox/badge")["total"] == 0
    assert [item["created_at"] for item in items][0] == T0 + 5000


def test_the_second_scheme(moved):
    old = Hmdp(second_scheme=True)
    old.follow(1, 2)
    old.follow(3, 2)
    blogs = [old.publish(2) for _ in range(4)]
    old.read(1, blogs[0])
    old.read(1, blogs[1], until="second")  # read, and still among the unread
    old.redis("DEL", "user:unread:3:2")  # expired, and the count was not
    old.redis("SADD", "author:blogs:2", *blogs[:3])
    old.redis("HSET", "blog:info:1", "id", 1, "userId", 2, "title", "Title 1", "createTime", T0 + 3000)
    old.redis("HSET", "blog:info:2", "id", 2, "userId", 2, "title", "an older title", "createTime", T0 + 4000)
    drift, server = moved(old)
    assert kinds(drift) == {"unread_read": 1, "unread_missing": 4, "unread_count": 1, "author_blogs_missing": 1, "info_wrong": 1}
    assert examples(drift, "unread_read") == [{"user_id": 1, "author_id": 2, "blog_id": 2}]
    assert examples(drift, "unread_count") == [{"user_id": 3, "author_id": 2, "says": 4, "is": 0}]
    assert [server.user(user).get("/inbox/badge")["total"] for user in (1, 3)] == [2, 4]


def test_reads_without_a_time_are_read_and_not_in_the_history(moved):
    old = Hmdp()
    old.follow(1, 2)
    first, second, third = (old.publish(2) for _ in range(3))
    old.redis("SADD", "user:read:1", first, second)
    old.redis("ZADD", "blog:read:1", (T0 + 60_000) // 1000, second)  # in seconds
    old.redis("ZADD", "blog:read:1", "inf", third)
    for key in ("total_unread:1", "author_unread:1:2"):
        old.redis("DEL", key)
    drift, server = moved(old)
    assert kinds(drift, "changed") == {"bad_time": 1}
    assert [(item["title"], item["read_at"]) for item in server.user(1).get("/history")["items"]] == [("Title 2", T0 + 60_000)]
    assert server.user(1).get("/inbox/badge")["total"] == 0 and len(inbox(server, 1, filter="read")) == 3


def test_a_dry_run_writes_nothing_and_says_by_its_code_what_it_found(tmp_path):
    old = Hmdp()
    old.follow(1, 2)
    old.publish(2)
    done = old.command("--dry-run", "--data", os.fspath(tmp_path / "data"))
    assert done.returncode == 0 and not list(tmp_path.iterdir()), done.stdout + done.stderr
    assert "read: keys" in done.stdout and "facts: post 1, follow 1" in done.stdout
    old.redis("SET", "total_unread:1", 5)
    done = old.command("--dry-run", "--data", os.fspath(tmp_path / "data"))
    assert done.returncode == 1 and not list(tmp_path.iterdir())
    assert "total_unread                1  total_unread is not" in done.stdout and "user 1: says 5, is 1" in done.stdout


def test_values_that_nobody_expects(moved):
    old = Hmdp()
    old.follow(1, 2)
    blog = old.publish(2)
    for key, command in {"feed:5": ("SET", "x"), "total_unread:6": ("SADD", "x"), "blog:read:7": ("LPUSH", "x"),
                         "author_unread:8:2": ("SET", "many"), "total_unread:9": ("SET", "9" * 70), "user:read:9": ("ZADD", 1, "x"),
                         "blog:liked:1": ("ZADD", old.now, "somebody"), "follows:9": ("SADD", -4), "deleted_blogs": ("SADD", "no blog"),
                         "user:unread:count:9": ("HSET", "a", 1),
                         "feed:9007199254740993": ("ZADD", old.now, blog), "feed:8": ("ZADD", old.now, 2 ** 62),
                         "feed:x": ("SET", "x"), "feed:01": ("SET", "x"), "feed:1:2": ("SET", "x"), "other": ("SET", "x"),
                         "feed:-1": ("SET", "x")}.items():
        old.redis(command[0], key, *command[1:])
    old.redis("ZADD", "blog:liked:1", old.now, 9007199254740992)
    old.db.later("ALTER TABLE tb_blog MODIFY id bigint, MODIFY user_id bigint, MODIFY title varchar(1200), MODIFY create_time datetime NULL")
    old.db.later("INSERT INTO tb_blog (id, user_id, title, images, content) VALUES (-5, 2, 'x', '', ''), (8, -2, 'x', '', ''), "
                 "(9, 9007199254740992, 'x', '', '')")
    old.db.later("INSERT INTO tb_follow (user_id, follow_user_id) VALUES (4, 4)")
    old.blogs.update({number: 2 for number in range(2, 20)})
    long = old.publish(2, title="x" * 255, content="y" * (1 << 16) + "z")
    old.publish(2, title="", content="a title of its own<br/>and more")
    old.publish(2, create_time="NULL")
    old.comment(3, 1, "answers nobody", answer=99)
    old.comment(3, 777, "on nothing")
    old.comment(3, 1, "", counted=False)
    drift, server = moved(old)
    assert kinds(drift, "left_out") == {"bad_row": 3, "bad_key": 7, "bad_member": 5, "inbox_unknown": 1, "comment_unknown": 1,
                                        "comment_empty": 1, "follow_self": 1}
    assert kinds(drift, "changed") == {"cut": 2, "untitled": 1, "bad_time": 1, "reply_alone": 1}
    found = [item["title"] for item in server.user(1).get("/inbox")["items"]]
    assert "a title of its own" in found and "x" * 200 in found
    post = server.user(1).get("/posts/by-key", key=f"blog:{long}")
    assert post["body"] == "y" * (1 << 16) and post["extra"] == {"shop_id": 1, "title": "x" * 255}


def test_texts_in_another_encoding_arrive_as_they_are(moved):
    old = Hmdp()
    old.db.later("ALTER TABLE tb_blog CONVERT TO CHARACTER SET latin1")
    old.follow(1, 2)
    old.publish(2, title="caf\u00e9")
    old.db.later("ALTER TABLE tb_blog MODIFY content longblob")
    old.publish(2, content="'", images="'/a.png,/b.png'")
    old.db.later("UPDATE tb_blog SET content = x'41ff4200c3' WHERE id = 2")
    drift, server = moved(old)
    assert inbox(server, 1) == ["Title 2", "caf\u00e9"]
    post = server.user(1).get("/posts/by-key", key="blog:2")
    assert post["body"] == "A\ufffdB\ufffd\ufffd" and post["extra"] == {"shop_id": 1, "images": "/a.png,/b.png"}
    assert kinds(drift) == {}


def test_a_datetime_is_of_the_zone_that_is_named(tmp_path):
    old = Hmdp()
    old.db.later("ALTER TABLE tb_blog MODIFY create_time datetime NOT NULL")
    old.db.later("ALTER TABLE tb_follow MODIFY create_time bigint NOT NULL")
    old.publish(2)
    old.db.later(f"INSERT INTO tb_follow (user_id, follow_user_id, create_time) VALUES (1, 2, {T0 // 1000})")
    facts = tmp_path / "facts"
    done = old.command("--dry-run", "--facts", os.fspath(facts), "--source-zone", "+08:00")
    assert done.returncode == 0, done.stdout + done.stderr
    at = {fact["type"]: fact["at"] for fact in map(json.loads, facts.read_text().splitlines())}
    assert at == {"post": T0 + 1000 - 8 * 3600 * 1000, "follow": T0}


def test_a_table_that_lacks_what_is_needed_is_named():
    old = Hmdp()
    old.db.later("ALTER TABLE tb_follow DROP COLUMN follow_user_id")
    done = old.command("--dry-run")
    assert done.returncode == 3 and "the table tb_follow has no column follow_user_id; nothing was imported" in done.stderr
    old.db.later("DROP TABLE tb_follow")
    done = old.command("--dry-run")
    assert done.returncode == 3 and "there is no table tb_follow" in done.stderr


def test_only_a_blog_and_a_follow_need_tables_and_no_redis_is_needed(moved):
    old = Hmdp()
    for table in ("tb_user", "tb_blog_comments"):
        old.db.later(f"DROP TABLE {table}")
    old.follow(1, 2)
    old.db.later("ALTER TABLE tb_blog DROP COLUMN shop_id, DROP COLUMN images, DROP COLUMN liked, DROP COLUMN comments")
    old.db.later("INSERT INTO tb_blog (id, user_id, title, content) VALUES (1, 2, 'Title 1', '')")
    drift, server = moved(old)
    assert kinds(drift) == {} and inbox(server, 1) == titles(1)


def test_other_names_of_keys(moved):
    old = Hmdp()
    old.follow(1, 2)
    blog = old.publish(2)
    for key in ("feed:1", "blog_author:1", "total_unread:1", "author_unread:1:2", "follows:1"):
        old.redis("DEL", key)
    old.redis("ZADD", "app:inbox:{1}", old.now, blog)
    old.redis("SET", "total_unread:{1}", 3)
    drift, server = moved(old, "--key", "FEED=app:inbox:", "--tagged-keys")
    assert kinds(drift) == {"total_unread": 1} and inbox(server, 1) == titles(blog)


def test_more_than_a_page_of_everything(moved):
    old = Hmdp()
    fans = list(range(100, 700))
    rows = ", ".join(f"({fan}, 2, '2023-11-14 00:00:00')" for fan in fans)
    old.db.later(f"INSERT INTO tb_follow (user_id, follow_user_id, create_time) VALUES {rows}")
    blogs = ", ".join(f"({blog}, 2, 'Title {blog}', '', '', '2023-11-15 00:00:{blog % 60:02}')" for blog in range(1, 701))
    old.db.later(f"INSERT INTO tb_blog (id, user_id, title, images, content, create_time) VALUES {blogs}")
    old.redis("ZADD", "feed:100", *(word for blog in range(1, 701) for word in (old.now, blog)))
    old.redis("ZADD", "blog:read:100", *(word for blog in range(1, 601) for word in (old.now, blog)))
    for fan in fans:
        old.redis("SET", f"total_unread:{fan}", 100 if fan == 100 else 0)
    drift, server = moved(old)
    assert kinds(drift) == {"inbox_missing": 599 * 700}
    assert [server.user(user).get("/inbox/badge")["total"] for user in (100, 699)] == [100, 700]


def test_the_pace_is_kept(tmp_path):
    old = Hmdp()
    old.redis("ZADD", "feed:1", *(word for blog in range(1, 301) for word in (old.now, blog)))
    rows = ", ".join(f"({blog}, 2, 'Title {blog}', '', '')" for blog in range(1, 301))
    old.db.later(f"INSERT INTO tb_blog (id, user_id, title, images, content) VALUES {rows}")
    old.db.flush()
    began = time.monotonic()
    done = old.command("--dry-run", "--max-load", "300")
    took = time.monotonic() - began
    assert done.returncode == 0, done.stdout + done.stderr
    assert took > 1.9, "600 rows and members at 300 a second"


def test_facts_are_kept_to_go_on_with(tmp_path):
    old = Hmdp()
    old.follow(1, 2)
    old.publish(2)
    data, temp = os.fspath(tmp_path / "data"), tmp_path / "temp"
    temp.mkdir()
    done = old.command("--data", data, "--facts", os.fspath(tmp_path / "facts"), "--temp", os.fspath(temp))
    assert done.returncode == 0 and not list(temp.iterdir()), done.stdout + done.stderr
    done = old.command("--data", data, "--temp", os.fspath(temp))  # which is not empty any more
    assert done.returncode == 3
    facts = next(temp.iterdir())
    assert f"`tidings import {facts}` goes on" in done.stderr and os.stat(facts).st_mode & 0o077 == 0
    assert facts.read_text() == (tmp_path / "facts").read_text()
    assert len(of_type(export_facts(data), "post")) == 1


def test_a_user_who_may_only_read_is_enough_and_passwords_are_told_to_nobody():
    old = Hmdp()
    old.publish(2)
    old.db.run("DROP USER IF EXISTS mover@localhost; CREATE USER mover@localhost IDENTIFIED BY 'a secret'; "
               f"GRANT SELECT ON {old.db.name}.* TO mover@localhost", "")
    url = old.db.url.replace("root@", "mover@")
    done = old.command("--dry-run", "--source-mysql", url, TIDINGS_SOURCE_MYSQL_PASSWORD="a secret")
    assert done.returncode == 0, done.stdout + done.stderr
    done = old.command("--dry-run", "--source-mysql", url, TIDINGS_SOURCE_MYSQL_PASSWORD="another secret")
    assert done.returncode == 3 and "the source's MySQL: 1045" in done.stderr and "secret" not in done.stderr + done.stdout


def test_what_the_import_refuses_is_a_line_of_the_facts_which_are_kept(tmp_path):
    """A reply that is older than what it answers: only the import knows the order of times."""
    old = Hmdp()
    old.publish(2)
    old.comment(3, 1, "later")
    old.comment(1, 1, "earlier", answer=1)
    old.db.later("UPDATE tb_blog_comments SET create_time = '2023-11-20 00:00:00' WHERE id = 1")
    done = old.command("--data", os.fspath(tmp_path / "data"), "--temp", os.fspath(tmp_path))
    facts = next(tmp_path.glob("tidings-facts-*"))
    assert done.returncode == 1 and f"these are lines of {facts}" in done.stderr, done.stdout + done.stderr
    line = int(done.stderr.split("\t")[0])
    assert json.loads(facts.read_text().splitlines()[line - 1])["body"] == "earlier"


@pytest.mark.parametrize("arguments, says", [
    (["x", "--from", "hmdp"], "--from takes the place of FILE"),
    (["--data", "x"], "FILE is missing"),
    (["x", "--data", "x", "--dry-run"], "--from is missing"),
    (["--from", "hmdp", "--data", "x"], "--source-mysql is missing"),
    (["--from", "hmdp", "--source-mysql", "mysql://a@b/c"], "--data is missing"),
    (["--from", "other", "--data", "x"], "from must be hmdp or zhiguang"),
    (["--from", "hmdp", "--dry-run", "--source-mysql", "mysql://a@b"], "the URL names no database"),
    (["--from", "hmdp", "--dry-run", "--source-mysql", "b"], "--source-mysql: "),
    (["--from", "hmdp", "--dry-run", "--source-zone", "8"], "source_zone must be of the form +08:00"),
    (["--from", "hmdp", "--dry-run", "--key", "INBOX=x"], "key must be NAME=PREFIX"),
    (["--from", "hmdp", "--dry-run", "--key", "FEED="], "key must be NAME=PREFIX"),
])
def test_wrong_arguments(arguments, says):
    done = tidings("import", *arguments)
    assert done.returncode == 2 and says in done.stderr, done.stderr


def test_a_source_that_is_lost_in_the_middle_leaves_nothing(tmp_path):
    """The database goes while it is being read."""
    old = Hmdp()
    rows = ", ".join(f"({blog}, 2, 'Title {blog}', '', '')" for blog in range(1, 301))
    old.db.later(f"INSERT INTO tb_blog (id, user_id, title, images, content) VALUES {rows}")
    old.db.flush()
    data, facts = tmp_path / "data", tmp_path / "facts"
    command = [BIN, "import", "--from", "hmdp", "--source-mysql", old.db.url, "--source-redis", REDIS, "--max-load", "50",
               "--data", os.fspath(data), "--facts", os.fspath(facts)]

    def begin():
        process = subprocess.Popen(command, env=clean_environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        wait_until(lambda: any(old.db.name in line and "Sleep" in line for line in old.db.run("SHOW PROCESSLIST", "")), "it reads")
        return process

    process = begin()
    for line in old.db.run("SHOW PROCESSLIST", ""):
        if old.db.name in line:
            old.db.run(f"KILL {line.split()[0]}", "")
    out, err = process.communicate(timeout=60)
    assert process.returncode == 3 and "the source's MySQL" in err and "nothing was imported" in err, out + err
    assert not data.exists() and not facts.exists()
    process = begin()
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 3 and "interrupted: nothing was imported" in out, out + err
    assert not data.exists() and not facts.exists()


def test_a_redis_that_is_lost_is_an_error_that_says_so(tmp_path):
    old = Hmdp()
    old.publish(2)
    old.db.flush()
    control("TIDINGS_TEST_REDIS_CONTROL", "pause 0")
    try:
        done = old.command("--data", os.fspath(tmp_path / "data"))
    finally:
        control("TIDINGS_TEST_REDIS_CONTROL", "resume 0")
    assert done.returncode == 3 and "the source's Redis" in done.stderr, done.stdout + done.stderr
    assert not list(tmp_path.iterdir())
