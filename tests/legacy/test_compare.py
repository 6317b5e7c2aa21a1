"""What compares the old keys with Tidings: it agrees where the bridge has been, finds by its kind whatever else was done to a key, waits for
what is only late, and says when it cannot look. And rolling back: an application that reads the keys as the old one does gets Tidings' answers."""
import base64
import json
import os
import signal
import subprocess
import threading

import pytest
from bridging import Keys, SecondKeys, compare_words, in_share, named, secret_of
from community import SHARE, Traffic, community
from old_redis import Redis
from support.server import BIN, clean_environment, tidings, wait_until

KINDS = ("total", "author", "list", "is_read", "deleted")


def command(server, *more, share="100%", redis=None):
    words = compare_words(server, Redis(), share, *more)
    if redis:
        words[words.index("--old-redis") + 1] = redis
    return words


def compare(server, *more, **how):
    return tidings(*command(server, *more, **how), **secret_of(server))


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
def world(make_lone, start_bridge):
    """A server, users, and a bridge that has filled all and is stopped."""
    server = make_lone()
    users = community([server])
    gone = users[1].publish()["id"]
    users[1].delete(gone)
    bridge = start_bridge(server, "--old-scheme", "both")
    bridge.settle()
    bridge.stop()
    return server, users, bridge


def test_what_the_bridge_has_written_agrees(world):
    server, users, _ = world
    done = compare(server, "--old-scheme", "both")
    assert done.returncode == 0 and f"{len(users)} users, 100.0000 % agree; 0 differ" in done.stdout, done.stdout
    said = json.loads(compare(server, "--json").stdout)
    assert said["users"] == said["kinds"]["total"]["asked"] == len(users) and said["settled"] == 0
    assert said["kinds"]["list"]["asked"] == sum(len(user.inbox(limit=100)) for user in users)


def test_each_kind_of_difference_is_found_with_an_example(world, redis):
    server, users, _ = world
    keys, user = Keys(redis), users[0]
    rows = [row for row in user.inbox(limit=100) if not row["is_deleted"]]
    post, author = rows[0]["post_id"], rows[0]["author_id"]

    def example(old, new, **about):
        return {"user_id": user.id, **about, "old": old, "new": new}

    redis.call("INCRBY", keys.name("TOTAL_UNREAD", user.id), 5)
    assert differences(server) == {"total": (1, [example(user.badge() + 5, user.badge())])}
    redis.call("DECRBY", keys.name("TOTAL_UNREAD", user.id), 5)

    redis.call("SET", keys.name("AUTHOR_UNREAD", user.id, 4711), 3)  # of whom Tidings knows nothing
    assert differences(server) == {"author": (1, [example(3, 0, author_id=4711)])}
    redis.call("DEL", keys.name("AUTHOR_UNREAD", user.id, 4711))
    redis.call("DEL", keys.name("AUTHOR_UNREAD", user.id, author))
    assert differences(server)["author"][0] == 1
    redis.call("SET", keys.name("AUTHOR_UNREAD", user.id, author), 1)

    redis.call("ZREM", keys.name("FEED", user.id), post)
    redis.call("ZADD", keys.name("FEED", user.id), 1, 77)
    count, examples = differences(server)["list"]
    assert count == 2 and example(0, 1, post_id=post) in examples and example(1, 0, post_id=77) in examples
    redis.call("ZREM", keys.name("FEED", user.id), 77)
    redis.call("ZADD", keys.name("FEED", user.id), rows[0]["created_at"], post)

    redis.call("ZADD", keys.name("READ", user.id), 1, post)
    assert differences(server) == {"is_read": (1, [example(1, 0, post_id=post)])}
    redis.call("ZREM", keys.name("READ", user.id), post)

    redis.call("SADD", "deleted_blogs", post)
    count, examples = differences(server)["deleted"]
    assert count >= 1 and all(row["post_id"] == post for row in examples)
    redis.call("SREM", "deleted_blogs", post)
    assert differences(server) == {}

    redis.call("SADD", f"user:unread:{named(keys, user.id)}:{author}", 77)
    assert differences(server, "--old-scheme", "2").keys() == {"list"} and differences(server) == {}


def test_it_shows_how_far_it_is_at_a_terminal(world):
    server, users, _ = world
    ours, terminal = os.openpty()
    try:
        done = subprocess.run([BIN, *command(server)], env=clean_environment(**secret_of(server)), stdout=subprocess.PIPE, stderr=terminal, check=False)
        assert done.returncode == 0 and f"users {' ' * 18} 0 of {len(users)}".encode() in os.read(ours, 65536)
    finally:
        os.close(ours)
        os.close(terminal)


def test_users_who_have_keys_and_are_not_known_are_found(world, redis):
    server, _, _ = world
    redis.call("SET", Keys(redis).name("TOTAL_UNREAD", 987654), 2)
    assert differences(server) == {"total": (1, [{"user_id": 987654, "old": 2, "new": 0}])}
    assert differences(server, "--user", "987654") != {} and differences(server, "--user", "987653") == {}


def test_only_the_share_is_asked_about(world, redis):
    server, users, _ = world
    outside = next(user for user in users if not in_share(user.id, SHARE))
    redis.call("SET", Keys(redis).name("TOTAL_UNREAD", outside.id), 1234)
    assert differences(server, share=f"{SHARE}%") == {} and differences(server) != {}


def test_what_is_only_late_is_waited_for(world, redis):
    """The server gets on with it while it is asked: its Redis was away for one of its users alone, as it were."""
    server, users, bridge = world
    bridge.start()
    bridge.settle()
    name = Keys(redis).name("TOTAL_UNREAD", users[0].id)
    redis.call("INCRBY", name, 3)
    timer = threading.Timer(3, lambda: Redis().call("DECRBY", name, 3))
    timer.start()
    done = compare(server, "--json", "--patience", "60")
    timer.join()
    said = json.loads(done.stdout)
    assert done.returncode == 0 and said["differ"] == 0 and said["settled"] == 1, said


def test_beside_traffic_nothing_differs_for_long(world):
    server, users, bridge = world
    bridge.start()
    traffic = Traffic([server], users, 5)
    traffic.start()
    done = compare(server, "--patience", "60")
    traffic.finish()
    assert done.returncode == 0, done.stdout + bridge.log()


def test_it_says_when_it_cannot_look(world):
    server, _, _ = world
    done = compare(server, redis="127.0.0.1:1")
    assert done.returncode == 3 and "the old Redis" in done.stderr
    words = command(server)
    at = words.index("--server") + 1
    nobody = [*words[:at], "http://127.0.0.1:1", *words[at + 1:]]
    done = tidings(*nobody, **secret_of(server))
    assert done.returncode == 3 and "http://127.0.0.1:1: " in done.stderr, done.stderr
    for wrong in ("ftp://127.0.0.1", "http://example.org", "https://u:p@127.0.0.1", "http://127.0.0.1/?a=b", "no address"):
        assert tidings(*words[:at], wrong, *words[at + 1:], **secret_of(server)).returncode == 2, wrong
    for wrong in (["--share", "0%"], ["--share", "5"], ["--old-key", "NOTHING=x:", "--share", "5%"], []):
        assert tidings("compare", "--old-redis", "127.0.0.1:1", *wrong, **secret_of(server)).returncode == 2


def test_it_signs_in_with_a_token_or_with_keys(world, tmp_path):
    server, _, _ = world
    made = tidings("token", "--user", "5", "--role", "service", **secret_of(server)).stdout.strip()
    assert tidings(*command(server), TIDINGS_TOKEN=made).returncode == 0
    config = tmp_path / "tidings.conf"
    keys = tmp_path / "keys.json"
    keys.write_text(json.dumps({"keys": [{"alg": "HS256", "secret": base64.urlsafe_b64encode(server.secret.encode()).decode().rstrip("=")}]}))
    keys.chmod(0o600)
    config.write_text(f"jwt_keys_file = {keys}\n")
    assert tidings(*command(server, "--keys", keys)).returncode == 0
    assert tidings(*command(server, "--config", config)).returncode == 0
    user = tidings("token", "--user", "5", **secret_of(server)).stdout.strip()
    for token, status in ((user, 403), ("x" * 40, 401), (made[:-2], 401)):
        done = tidings(*command(server), TIDINGS_TOKEN=token)
        assert done.returncode == 3 and f"{status}, which is for the token" in done.stderr, done.stderr
        assert token not in done.stdout + done.stderr
    assert tidings(*command(server), TIDINGS_TOKEN="two words").returncode == 2
    done = tidings(*command(server))
    assert done.returncode == 3 and "no key to sign with" in done.stderr


def test_inboxes_and_histories_of_many_pages_are_compared_whole(make_lone, start_bridge, redis):
    """Also of a server that allows short pages alone, and few posts at a time."""
    server = make_lone(page_max=7, page_default=5, ids_max=3)
    author, reader, service = server.user(), server.user(), server.service()
    for fan in range(author.id + 1000, author.id + 1020):  # more users than a page has
        service.acting_for = fan
        service.follow(author)
    reader.follow(author)
    posts = [author.publish()["id"] for _ in range(25)]
    stranger = server.user()
    for _ in range(12):
        reader.open(stranger.publish()["id"])
    reader.open(posts[0])
    bridge = start_bridge(server)
    bridge.settle()
    done = compare(server, "--json", "--patience", "0")
    said = json.loads(done.stdout)
    assert done.returncode == 0 and said["kinds"]["list"]["asked"] == 21 * 25 and said["users"] == 23, done.stdout
    redis.call("ZREM", Keys(redis).name("FEED", reader.id), posts[0])  # the oldest: on the last page
    assert differences(server)["list"][0] == 1


def test_watching_goes_on_until_it_is_stopped(world, redis):
    server, users, _ = world
    process = subprocess.Popen([BIN, *command(server, "--json", "--patience", "0", "--watch", "1")],
                               env=clean_environment(**secret_of(server)), stdout=subprocess.PIPE, text=True)
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
    server, users, bridge = world
    bridge.start()
    traffic = Traffic([server], users, 6)
    traffic.start()
    traffic.go_on(150)
    traffic.finish()
    bridge.settle()
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
