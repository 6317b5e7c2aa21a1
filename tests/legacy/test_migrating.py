"""docs/MIGRATING.md, with the commands that it has, from an application with keys of its own (and their drift) to Tidings, and back."""
import json
import pathlib
import re
import shlex

from bridging import Keys, in_share, named, secret_of, settle
from support.server import Server, tidings, wait_until

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
        self.places = {"/var/lib/tidings": data, "10.0.0.9:6379": nodes, "facts.ndjson": str(directory / "facts.ndjson"), "refused.tsv": str(directory / "refused.tsv")}

    def words(self, name, share=None):
        line = re.search(rf"^    tidings ({name} .*)$", GUIDE.read_text(encoding="utf-8"), re.MULTILINE).group(1)
        for there, here in self.places.items():
            line = line.replace(there, here)
        words = shlex.split(line)
        if share:
            words[next(words.index(flag) for flag in ("--share", "--old-share") if flag in words) + 1] = share
        return words

    def serve(self, server, share=None):
        """With the flags of the guide's command, but for the directory, which the test gives; restarted."""
        server.arguments = self.words("serve", share)[3:]
        server.restart()

    def compare(self, server, share="100%"):
        self.places["http://127.0.0.1:8080"] = f"http://127.0.0.1:{server.port}"
        return tidings(*self.words("compare", share), "--json", "--patience", "30" if share != "100%" else "5", **secret_of(server))


def test_the_way_and_the_way_back(redis, tmp_path):
    keys, data = Keys(redis), str(tmp_path / "data")
    guide = Guide(data, redis, tmp_path)
    write_old_keys(redis, keys)
    (tmp_path / "facts.ndjson").write_text("".join(json.dumps(fact) + "\n" for fact in facts()))
    done = tidings(*guide.words("import"))
    assert done.returncode == 0, done.stdout + done.stderr
    server = Server(data=data).start()
    try:
        go_the_way(server, guide, redis, keys)
    finally:
        server.close()
    server.verify()


def go_the_way(server, guide, redis, keys):
    found = json.loads((done := guide.compare(server)).stdout)["kinds"]
    assert done.returncode == 1 and {kind: row["differ"] for kind, row in found.items() if row["differ"]} == {"total": 1, "author": 1}
    assert found["total"]["examples"] == [{"user_id": 2, "old": len(POSTS) + 3, "new": len(POSTS)}]

    small = next(share for share in (10, 30, 50, 70, 90) if any(in_share(fan, share) for fan in FANS))
    guide.serve(server, f"{small}%")
    settle(server, redis)
    assert guide.compare(server, f"{small}%").returncode == 0
    guide.serve(server)
    wait_until(lambda: "filled anew" in server.log_text(), "the larger share is filled")
    settle(server, redis)
    assert guide.compare(server).returncode == 0 and keys.feed(2).keys() == set(POSTS)

    author, fans = server.user(AUTHOR), {fan: server.user(fan) for fan in FANS}
    imported = {post: author.get("/posts/by-key", key=f"blog:{post}")["id"] for post in POSTS}
    new = author.publish()["id"]
    fans[1].open(imported[72])
    author.delete(imported[77])
    settle(server, redis)
    assert guide.compare(server).returncode == 0
    for fan in FANS:
        assert keys.feed(fan).keys() == {*POSTS, new} and keys.total(fan) == fans[fan].badge()
    assert set(keys.read(1)) == {72, 77} and keys.deleted() == {77}
    assert redis.call("GET", f"blog_author:{named(keys, 77)}") == str(AUTHOR)

    server.arguments = []  # the way back: the old application writes again, in keys that are right
    server.restart()
    redis.call("DECR", keys.name("TOTAL_UNREAD", 1))
    assert keys.total(1) == fans[1].badge() - 1
