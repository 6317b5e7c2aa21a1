"""docs/MIGRATING.md, with the commands that it has, from an application with keys of its own (and their drift) to Tidings, and back."""
import json
import pathlib
import re
import shlex

import bridging
import pytest
from bridging import Keys, in_share, named
from support.server import Server, make_tables, tidings, where

GUIDE = pathlib.Path(__file__).parents[2] / "docs" / "MIGRATING.md"
DAY = 24 * 3600 * 1000
BEGAN = 1_700_000_000_000
AUTHOR, FANS, POSTS = 9, (1, 2, 42), range(71, 78)


def facts():
    yield from ({"type": "user", "user_id": user, "name": f"u{user}"} for user in (AUTHOR, *FANS))
    yield from ({"type": "follow", "user_id": fan, "author_id": AUTHOR, "at": BEGAN} for fan in FANS)
    yield from ({"type": "post", "author_id": AUTHOR, "key": f"blog:{post}", "kind": "note", "title": f"t{post}", "body": "b", "at": BEGAN + post * DAY}
                for post in POSTS)
    yield {"type": "read", "user_id": 42, "post_key": "blog:71", "at": BEGAN + 80 * DAY}


def write_old_keys(redis, keys):
    """As the old application had them; fan 2 has a count that is wrong."""
    for fan in FANS:
        for post in POSTS:
            redis.call("ZADD", keys.name("FEED", fan), BEGAN + post * DAY, post)
        unread = len(POSTS) - (fan == 42) + 3 * (fan == 2)
        redis.call("SET", keys.name("TOTAL_UNREAD", fan), unread)
        redis.call("SET", keys.name("AUTHOR_UNREAD", fan, AUTHOR), unread)
    redis.call("ZADD", keys.name("READ", 42), BEGAN + 80 * DAY, 71)


class Guide:
    """Its commands, with the places of the test in them."""

    def __init__(self, data, redis, directory):
        nodes = ",".join(":".join(node) for node in redis.nodes)
        self.places = {"mysql://tidings@db1/tidings": where(data)[-1], "10.0.0.9:6379": nodes, "/var/lib/node_exporter": str(directory),
                       "facts.ndjson": str(directory / "facts.ndjson"), "refused.tsv": str(directory / "refused.tsv")}

    def words(self, name, share=None):
        line = re.search(rf"^    tidings ({name} .*)$", GUIDE.read_text(encoding="utf-8"), re.MULTILINE).group(1)
        for there, here in self.places.items():
            line = line.replace(there, here)
        words = shlex.split(line)
        if share:
            words[words.index("--share") + 1] = share
        return words


@pytest.fixture
def bridge(tmp_path, redis):
    made = []

    def start(server, words):
        one = bridging.Bridge(server, "1%", (), tmp_path / f"bridge-{len(made)}")
        one.words = words
        one.metrics_file = pathlib.Path(words[words.index("--metrics") + 1])
        made.append(one)
        return one.start()

    yield start
    for one in made:
        one.stop()


def test_the_way_and_the_way_back(redis, bridge, tmp_path):
    keys, data = Keys(redis), str(tmp_path / "data")
    guide = Guide(data, redis, tmp_path)
    write_old_keys(redis, keys)
    (tmp_path / "facts.ndjson").write_text("".join(json.dumps(fact) + "\n" for fact in facts()))
    make_tables(where(data))
    done = tidings(*guide.words("import"))
    assert done.returncode == 0, done.stdout + done.stderr
    server = Server(data=data, settings={"read_events": 1}).start()
    try:
        go_the_way(server, guide, bridge, redis, keys)
    finally:
        server.close()
    server.verify()


def compare(guide, share="100%"):
    return tidings(*guide.words("compare", share), "--json", "--patience", "30" if share != "100%" else "5")


def go_the_way(server, guide, bridge, redis, keys):
    found = json.loads((done := compare(guide)).stdout)["kinds"]
    assert done.returncode == 1 and {kind: row["differ"] for kind, row in found.items() if row["differ"]} == {"total": 1, "author": 1}
    assert found["total"]["examples"] == [{"user_id": 2, "old": len(POSTS) + 3, "new": len(POSTS)}]

    small = next(share for share in (10, 30, 50, 70, 90) if any(in_share(fan, share) for fan in FANS))
    running = bridge(server, guide.words("bridge", f"{small}%"))
    running.settle(server)
    assert compare(guide, f"{small}%").returncode == 0
    running.stop()
    running = bridge(server, guide.words("bridge"))
    running.settle(server)
    assert compare(guide).returncode == 0 and keys.feed(2).keys() == set(POSTS)

    author, fans = server.user(AUTHOR), {fan: server.user(fan) for fan in FANS}
    imported = {post: author.get("/posts/by-key", key=f"blog:{post}")["id"] for post in POSTS}
    new = author.publish()["id"]
    fans[1].open(imported[72])
    author.delete(imported[77])
    running.settle(server)
    assert compare(guide).returncode == 0
    for fan in FANS:
        assert keys.feed(fan).keys() == {*POSTS, new} and keys.total(fan) == fans[fan].badge()
    assert set(keys.read(1)) == {72, 77} and keys.deleted() == {77}
    assert redis.call("GET", f"blog_author:{named(keys, 77)}") == str(AUTHOR)

    running.stop()  # the way back: the old application writes again, in keys that are right
    redis.call("DECR", keys.name("TOTAL_UNREAD", 1))
    assert keys.total(1) == fans[1].badge() - 1
