"""`tidings cluster reconcile`, beside running servers: drift of each kind that is planted is reported by kind, and mended."""
import re

import database
from support.server import tidings
from test_damaged import plant_key

DRIFT = {
    "lists": "UPDATE author SET posts = posts + 1",
    "inboxes": "DELETE FROM read_map",
    "relations": "UPDATE user SET following = following + 1 WHERE following > 0",
    "votes": "UPDATE comment SET likes = likes + 1",
    "comments": "UPDATE comment SET replies = replies + 1",
    "posts": "UPDATE content_stats SET likes = likes + 5",
    "counters": "UPDATE user_counter SET posts = posts + 1",
    "scenes": "UPDATE scene SET messages = messages + 1",
    "others": "DELETE FROM profile_name",
}

# Of a key either half is made of the other; what is left of a comment's goes.
KEYS = ["DELETE FROM post_key", "DELETE FROM imported_key", "UPDATE post_key SET name = 'b'", "UPDATE imported_key SET name = 'b'",
        "UPDATE imported_key SET hash_low = 7", "INSERT INTO imported_key VALUES (99, 1, 2, 3, 'c')"]


def reconcile(server, *more):
    """The code, and the differences by kind."""
    done = tidings("cluster", "reconcile", "--mysql", database.url_of(server), *more)
    assert done.returncode in (0, 1), done.stderr
    kinds = re.findall(r"^(\w+) +(\d+) differences$", done.stdout, re.MULTILINE)
    return done.returncode, {kind: int(n) for kind, n in kinds}


def populate(server):
    author, fan = server.users(2)
    fan.follow(author)
    post = author.publish()["id"]
    author.publish()
    fan.open(post)
    fan.react(f"/posts/{post}/like")
    fan.react(f"/comments/{fan.comment(post)['id']}/like")
    author.scene(author.story())
    author.expect(200, "PUT", "/v1/users/me", {"name": "Ann"})


def test_drift_of_each_kind_is_found_and_mended_while_servers_go_on(make_servers):
    first, second = make_servers(2)
    populate(first)
    assert reconcile(first) == (0, {})
    for kind, plant in DRIFT.items():
        database.run(plant, database.name_of(first))
        assert reconcile(first, "--check")[0] == 1
        code, found = reconcile(first, "--check")  # looking has mended nothing
        assert code == 1 and found.get(kind, 0) > 0, (kind, found)
        second.user().publish()
        code, found = reconcile(first)
        assert code == 0 and found.get(kind, 0) > 0, (kind, found)
        assert reconcile(first, "--check") == (0, {}), kind


def test_either_half_of_a_key_is_mended(make_servers):
    (server,) = make_servers(1)
    name = database.name_of(server)
    author = server.user()
    post = author.publish()["id"]
    plant_key(name, post, "a")
    assert author.get("/posts/by-key", key="a")["id"] == post and author.get(f"/posts/{post}")["key"] == "a"
    assert reconcile(server) == (0, {})
    for plant in KEYS:
        database.run(plant, name)
        assert reconcile(server, "--check")[0] == 1, plant
        code, found = reconcile(server)
        assert code == 0 and found["others"] > 0, (plant, found)
        assert reconcile(server, "--check") == (0, {}), plant
        assert author.get("/posts/by-key", key="a")["key"] == "a", plant


def test_what_cannot_be_mended_is_told(make_servers):
    (server,) = make_servers(1)
    populate(server)
    name = database.name_of(server)
    database.run("INSERT INTO reaction VALUES (2, 4242, 1, 1, 5)", name)
    assert reconcile(server)[0] == 1
    database.run("DELETE FROM reaction WHERE target_id = 4242", name)
    assert reconcile(server)[0] == 0


def test_without_a_database_it_exits_3():
    assert tidings("cluster", "reconcile", "--mysql", "mysql://root@localhost/nothing?socket=/dev/null/s").returncode == 3
