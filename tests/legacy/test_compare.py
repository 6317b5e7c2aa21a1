"""What compares the old keys with Tidings: it agrees where the bridge has been, finds by its kind whatever else was done to a key, waits for
what is only late, and says when it cannot look. And rolling back: an application that reads the keys as the old one does gets Tidings' answers."""
import json
import os
import signal
import subprocess
import threading

import pytest
from bridging import Keys, SecondKeys, in_share, named
from community import SHARE, Traffic, community
from old_redis import Redis
from support.server import BIN, clean_environment, tidings, wait_until, where

KINDS = ("total", "author", "list", "is_read", "deleted")


def command(server, *more, share="100%", redis=None):
    nodes = redis or ",".join(":".join(node) for node in Redis().nodes)
    return ["compare", *where(server.data), "--old-redis", nodes, "--share", share, *more]


def compare(server, *more, **how):
    return tidings(*command(server, *more, **how))


def differences(server, *more, **how):
    """Of each kind that there are any of: how many, and the examples."""
    done = compare(server, "--json", "--patience", "0", *more, **how)
    assert done.returncode in (0, 1), done.stderr
    said = json.loads(done.stdout)
    found = {kind: (row["differ"], row["examples"]) for kind, row in said["kinds"].items() if row["differ"]}
    assert done.returncode == bool(found) == bool(said["differ"])
    assert said["kinds"].keys() == set(KINDS)
    return found


@pytest.fixture
def world(make_servers, start_bridge):
    """Servers, users, and a bridge that has filled all and is stopped."""
    servers = make_servers()
    users = community(servers)
    gone = users[1].publish()["id"]
    users[1].delete(gone)
    bridge = start_bridge(servers[0], "--scheme", "both")
    bridge.settle(servers[0])
    bridge.stop()
    return servers, users, bridge


def test_what_the_bridge_has_written_agrees(world):
    servers, users, _ = world
    done = compare(servers[0], "--scheme", "both")
    assert done.returncode == 0 and f"{len(users)} users, 100.0000 % agree; 0 differ" in done.stdout, done.stdout
    said = json.loads(compare(servers[0], "--json").stdout)
    assert said["users"] == said["kinds"]["total"]["asked"] == len(users) and said["settled"] == 0
    assert said["kinds"]["list"]["asked"] == sum(len(user.inbox(limit=100)) for user in users)


def test_each_kind_of_difference_is_found_with_an_example(world, redis):
    servers, users, _ = world
    keys, user = Keys(redis), users[0]
    rows = [row for row in user.inbox(limit=100) if not row["is_deleted"]]
    post, author = rows[0]["post_id"], rows[0]["author_id"]

    def example(old, new, **about):
        return {"user_id": user.id, **about, "old": old, "new": new}

    redis.call("INCRBY", keys.name("TOTAL_UNREAD", user.id), 5)
    assert differences(servers[0]) == {"total": (1, [example(user.badge() + 5, user.badge())])}
    redis.call("DECRBY", keys.name("TOTAL_UNREAD", user.id), 5)

    redis.call("SET", keys.name("AUTHOR_UNREAD", user.id, 4711), 3)  # of whom Tidings knows nothing
    assert differences(servers[0]) == {"author": (1, [example(3, 0, author_id=4711)])}
    redis.call("DEL", keys.name("AUTHOR_UNREAD", user.id, 4711))
    redis.call("DEL", keys.name("AUTHOR_UNREAD", user.id, author))
    assert differences(servers[0])["author"][0] == 1
    redis.call("SET", keys.name("AUTHOR_UNREAD", user.id, author), 1)

    redis.call("ZREM", keys.name("FEED", user.id), post)
    redis.call("ZADD", keys.name("FEED", user.id), 1, 77)
    count, examples = differences(servers[0])["list"]
    assert count == 2 and example(0, 1, post_id=post) in examples and example(1, 0, post_id=77) in examples
    redis.call("ZREM", keys.name("FEED", user.id), 77)
    redis.call("ZADD", keys.name("FEED", user.id), rows[0]["created_at"], post)

    redis.call("ZADD", keys.name("READ", user.id), 1, post)
    assert differences(servers[0]) == {"is_read": (1, [example(1, 0, post_id=post)])}
    redis.call("ZREM", keys.name("READ", user.id), post)

    redis.call("SADD", "deleted_blogs", post)
    count, examples = differences(servers[0])["deleted"]
    assert count >= 1 and all(row["post_id"] == post for row in examples)
    redis.call("SREM", "deleted_blogs", post)
    assert differences(servers[0]) == {}

    redis.call("SADD", f"user:unread:{named(keys, user.id)}:{author}", 77)
    assert differences(servers[0], "--scheme", "2").keys() == {"list"} and differences(servers[0]) == {}


def test_it_shows_how_far_it_is_at_a_terminal(world):
    servers, users, _ = world
    ours, terminal = os.openpty()
    try:
        done = subprocess.run([BIN, *command(servers[0])], env=clean_environment(), stdout=subprocess.PIPE, stderr=terminal, check=False)
        assert done.returncode == 0 and f"users {' ' * 18} 0 of {len(users)}".encode() in os.read(ours, 65536)
    finally:
        os.close(ours)
        os.close(terminal)


def test_users_who_have_keys_and_are_not_known_are_found(world, redis):
    servers, _, _ = world
    redis.call("SET", Keys(redis).name("TOTAL_UNREAD", 987654), 2)
    assert differences(servers[0]) == {"total": (1, [{"user_id": 987654, "old": 2, "new": 0}])}
    assert differences(servers[0], "--user", "987654") != {} and differences(servers[0], "--user", "987653") == {}


def test_only_the_share_is_asked_about(world, redis):
    servers, users, _ = world
    outside = next(user for user in users if not in_share(user.id, SHARE))
    redis.call("SET", Keys(redis).name("TOTAL_UNREAD", outside.id), 1234)
    assert differences(servers[0], share=f"{SHARE}%") == {} and differences(servers[0]) != {}


def test_what_is_only_late_is_waited_for(world):
    servers, users, bridge = world
    users[0].publish()
    timer = threading.Timer(1, bridge.start)
    timer.start()
    done = compare(servers[0], "--json", "--patience", "60")
    timer.join()
    said = json.loads(done.stdout)
    assert done.returncode == 0 and said["differ"] == 0 and said["settled"] > 0, said


def test_beside_traffic_nothing_differs_for_long(world):
    servers, users, bridge = world
    bridge.start()
    traffic = Traffic(servers, users, 5)
    traffic.start()
    done = compare(servers[0], "--patience", "60")
    traffic.finish()
    assert done.returncode == 0, done.stdout + bridge.log()


def test_it_says_when_it_cannot_look(world):
    servers, _, _ = world
    done = compare(servers[0], redis="127.0.0.1:1")
    assert done.returncode == 3 and "the old Redis" in done.stderr
    assert tidings("compare", "--mysql", "mysql://nobody@127.0.0.1:1/x", "--old-redis", "127.0.0.1:1", "--share", "1%").returncode == 3
    for wrong in (["--share", "0%"], ["--share", "5"], ["--key", "NOTHING=x:", "--share", "5%"], []):
        assert tidings("compare", "--mysql", "mysql://u@127.0.0.1/x", "--old-redis", "127.0.0.1:1", *wrong).returncode == 2


def test_watching_goes_on_until_it_is_stopped(world, redis):
    servers, users, _ = world
    nodes = ",".join(":".join(node) for node in redis.nodes)
    process = subprocess.Popen([BIN, "compare", *where(servers[0].data), "--old-redis", nodes, "--share", "100%", "--json", "--patience", "0",
                                "--watch", "1"], env=clean_environment(), stdout=subprocess.PIPE, text=True)
    assert json.loads(process.stdout.readline())["differ"] == 0
    redis.call("SET", Keys(redis).name("TOTAL_UNREAD", users[0].id), 4321)
    wait_until(lambda: json.loads(process.stdout.readline())["differ"] == 1, "it is seen")
    process.send_signal(signal.SIGTERM)
    assert process.wait(60) == 1
    process.stdout.close()


# ---- Rolling back -------------------------------------------------------------------------------

class OldApplication:
    """Reads the keys as the first scheme's service does, and does what that does when it meets a deleted post."""

    def __init__(self, redis):
        self.keys, self.redis = Keys(redis), redis

    def page(self, user):
        found = []
        for member in self.redis.call("ZREVRANGE", self.keys.name("FEED", user), 0, -1):
            read = self.redis.call("ZSCORE", self.keys.name("READ", user), member)
            deleted = self.redis.call("SISMEMBER", "deleted_blogs", member) == 1
            if deleted and read is None:
                author = self.redis.call("GET", f"blog_author:{named(self.keys, member)}")
                self.redis.call("DECR", self.keys.name("TOTAL_UNREAD", user))
                self.redis.call("DECR", self.keys.name("AUTHOR_UNREAD", user, author))
                self.redis.call("ZADD", self.keys.name("READ", user), 1, member)
            found.append((int(member), read is not None, deleted))
        return found


def test_the_old_application_reads_what_tidings_says(world, redis):
    servers, users, bridge = world
    bridge.start()
    traffic = Traffic(servers, users, 6)
    traffic.start()
    traffic.go_on(150)
    traffic.finish()
    bridge.settle(servers[0])
    bridge.stop()
    old = OldApplication(redis)
    for user in users:
        for _ in range(2):  # what it does to deleted posts changes nothing
            said = old.page(user.id)
            rows = user.inbox(limit=100)
            assert {(post, deleted) for post, _, deleted in said} == {(row["post_id"], row["is_deleted"]) for row in rows}
            assert {post for post, read, deleted in said if read and not deleted} == {row["post_id"] for row in rows
                                                                                     if row["is_read"] and not row["is_deleted"]}
            assert old.keys.total(user.id) == user.badge()
    SecondKeys(redis).check(users)
