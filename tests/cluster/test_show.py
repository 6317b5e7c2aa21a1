"""`tidings cluster show`: every row about somebody or something, packed columns taken apart; and the document of the tables."""
import re
from pathlib import Path

import database
from support.server import tidings

ROOT = Path(__file__).resolve().parents[2]


def show(server, *what, code=0):
    done = tidings("cluster", "show", *map(str, what), "--mysql", database.url_of(server))
    assert done.returncode == code, done.stderr
    return done.stdout


def rows(text):
    """[(table, {column: value}, what its packed columns say)]"""
    found = []
    for line in text.splitlines():
        if line.startswith("    "):
            found[-1][2].append(line.strip())
        else:
            table, _, rest = line.partition(" ")
            found.append((table, dict(re.findall(r'(\w+)=("(?:[^"\\]|\\.)*"|\S+)', rest)), []))
    return found


def of(found, table):
    return [(columns, packed) for name, columns, packed in found if name == table]


def test_all_about_a_user(make_servers):
    (server,) = make_servers(1)
    ann, bob = server.users(2)
    before = bob.publish()["id"]
    ann.follow(bob)
    posts = [bob.publish()["id"] for _ in range(3)]
    ann.open(before)
    ann.open(posts[1], headers={"Idempotency-Key": "a key"})
    ann.react(f"/posts/{posts[0]}/like")
    found = rows(show(server, "user", ann.id))
    ((user, _),) = of(found, "user")
    assert (user["user_id"], user["following"], user["liked_posts"]) == (str(ann.id), "1", "1")
    ((pair, packed),) = of(found, "following")
    assert pair["to_user_id"] == str(bob.id) and pair["rel_status"] == "2"
    assert "following=1" in packed[0] and "delivered=1-" in packed[0] and "reads_in=1" in packed[0] and "reads_out=1" in packed[0]
    assert f"rank={pair['rank_id']} " in packed[0]
    ((_, marks),) = of(found, "read_map")
    assert re.fullmatch(r"map: 0:read=(\d+):history=\1 2:read=(\d+):history=\2", marks[0])
    assert {columns["post_id"] for columns, _ in of(found, "history")} == {str(before), str(posts[1])}
    assert [columns["target_id"] for columns, _ in of(found, "reaction")] == [str(posts[0])]
    ((_, once),) = of(found, "idempotency")
    assert re.match(r"record: stamp=\d+ fingerprint=[0-9a-f]{32} answer=\d+ bytes", once[0])


def test_all_about_an_author_and_a_post(make_servers):
    (server,) = make_servers(1)
    ann, bob = server.users(2)
    ann.follow(bob)
    post, gone = bob.publish(title="One", body="Its body")["id"], bob.publish()["id"]
    bob.delete(gone)
    comment = ann.comment(post)["id"]
    ann.react(f"/posts/{post}/fav")
    found = rows(show(server, "author", bob.id))
    assert of(found, "author")[0][0]["posts"] == "2" and of(found, "author")[0][0]["deleted"] == "1"
    assert [columns["post_id"] for columns, _ in of(found, "post")] == [str(post), str(gone)]
    assert of(found, "post_deletion")[0][0]["number"] == "1"
    assert [columns["from_user_id"] for columns, _ in of(found, "follower")] == [str(ann.id)]
    found = rows(show(server, "post", post))
    assert of(found, "post")[0][0]["title"] == '"One"' and of(found, "post_body")[0][0]["body"] == '"Its body"'
    assert of(found, "content_stats")[0][0]["favs"] == "1"
    assert [columns["comment_id"] for columns, _ in of(found, "comment")] == [str(comment)]
    assert [columns["user_id"] for columns, _ in of(found, "reaction")] == [str(ann.id)]


def test_all_about_a_story(make_servers):
    (server,) = make_servers(1)
    ann, bob = server.users(2)
    story = bob.story()
    ann.subscribe(story)
    scene = bob.scene(story)["id"]
    found = rows(show(server, "post", story))
    assert of(found, "story")[0][0]["scenes"] == "1"
    assert [columns["scene_id"] for columns, _ in of(found, "scene")] == [str(scene)]
    assert [columns["user_id"] for columns, _ in of(found, "subscriber")] == [str(ann.id)]
    ((_, packed),) = of(rows(show(server, "user", ann.id)), "subscription")
    assert "delivered=0-" in packed[0]


def test_texts_stay_in_their_line(make_servers):
    (server,) = make_servers(1)
    ann = server.user()
    post = ann.publish(title='a "quoted" \\ title', body="two\nlines \x1b[31m and \x9b and 字")["id"]
    ((columns, _),) = of(rows(show(server, "post", post)), "post_body")
    assert columns["body"] == r'"two\x0alines \x1b[31m and \xc2\x9b and 字"'
    assert of(rows(show(server, "post", post)), "post")[0][0]["title"] == r'"a \"quoted\" \\ title"'


def test_more_rows_than_a_page(make_servers):
    """By keys of two columns, of which the first is the same for many."""
    (server,) = make_servers(1)
    ann = server.user()
    values = ",".join(f"({ann.id},{stamp // 3},{stamp})" for stamp in range(3, 2603))
    database.run(f"INSERT INTO history VALUES {values}", database.name_of(server))
    found = of(rows(show(server, "user", ann.id)), "history")
    assert [int(columns["post_id"]) for columns, _ in found] == list(range(3, 2603))
    database.run(f"DELETE FROM history WHERE user_id = {ann.id}", database.name_of(server))


def test_what_cannot_be_taken_apart_is_said_to_be_damaged_and_printed(make_servers):
    (server,) = make_servers(1)
    ann, bob = server.users(2)
    ann.follow(bob)
    name = database.name_of(server)
    pair = database.run("SELECT HEX(pair) FROM following", name)[0]
    database.run("UPDATE following SET pair = x'11ff'", name)
    ((columns, packed),) = of(rows(show(server, "user", ann.id)), "following")
    assert columns["pair"] == "11ff" and packed == ["pair: damaged"]
    database.run(f"UPDATE following SET pair = x'{pair}'", name)


def test_who_is_not_there_exits_1(make_servers):
    (server,) = make_servers(1)
    for subject in ("user", "author", "post"):
        assert show(server, subject, 4711, code=1) == ""


def test_every_column_of_every_table_is_in_the_document(make_servers):
    (server,) = make_servers(1)
    document = (ROOT / "docs/FORMAT.md").read_text().partition("# The tables of the cluster engine")[2]
    columns = database.run("SELECT table_name, column_name FROM information_schema.columns "
                           f"WHERE table_schema = '{database.name_of(server)}'")
    assert len(columns) > 100
    words = set(re.findall(r"`(\w+)`", document))
    assert not [row for row in columns for word in row.split("\t") if word not in words and word != "id"]
