"""The old Redis with a password, with users of its own and with TLS: each command that reads or keeps its keys is let in with what is right, and with no
more rights than the documents say; with anything else it ends with 3 and says why, without the password."""
import json
import os
import struct

import pytest
from bridging import Bridge, compare_words, secret_of
from community import community
from old_redis import Redis
from stores import Database
from support.server import tidings, wait_until
from zhiguang import TABLES

PASSWORD, USER, USERS_PASSWORD = "the one of the tests", "app", "another one of the tests"  # as meson.build says
NODES = os.environ["TIDINGS_TEST_REDIS"]
CA = os.environ["TIDINGS_TEST_REDIS_CA"]
TLS = os.path.exists(CA)
SOURCE, OLD = "source", "old"
WAYS = {"the default user": (None, PASSWORD), "a user": (USER, USERS_PASSWORD)}

# As docs/LEGACY.md and docs/MIGRATING.md have them.
ALWAYS = "+info +cluster|slots +asking"
READS = "+scan +sscan +zscan +hscan +getrange +hmget"
COMPARES = "+ping +scan +get +zrange +smembers +sismember +hget +hvals"
KEEPS = ("+ping +scan +eval +evalsha +get +set +del +incrby +expire +pexpire +sadd +srem +sismember +sscan +hset +hsetnx +hdel +hkeys +hmget "
         "+hincrby +zadd +zrem +zscore")


def options(whose, user=None, ca=CA):
    said = [f"--{whose}-redis", NODES]
    if user:
        said += [f"--{whose}-redis-user", user]
    if TLS:
        said += [f"--{whose}-redis-tls", "verify"] + ([f"--{whose}-redis-ca", ca] if ca else [])
    return said


def password(whose, text):
    return {f"TIDINGS_{whose.upper()}_REDIS_PASSWORD": text}


@pytest.fixture
def redis():
    """As its owner reaches it, with nothing in it."""
    made = Redis(PASSWORD, CA if TLS else None)
    made.empty()
    yield made
    made.close()


@pytest.fixture
def user(redis):
    """Makes a user with these rights."""
    made = []

    def make(rights):
        made.append(f"user{len(made)}")
        for node in redis.nodes:
            redis.connection(node).call("ACL", "SETUSER", made[-1], "reset", "on", f">{USERS_PASSWORD}", "~*", *rights.split())
        return made[-1]

    yield make
    for name in made:
        for node in redis.nodes:
            redis.connection(node).call("ACL", "DELUSER", name)


class Import:
    """Reads a community of whom one count is wrong."""
    whose, rights = SOURCE, READS

    def __init__(self, server, redis, directory):
        del server
        self.db, self.directory = Database(), directory
        self.db.later(TABLES.strip())
        self.db.later("INSERT INTO following VALUES (1, 1, 2, 1, '2023-01-01', '2023-01-01')")
        self.db.flush()
        redis.call("SET", "ucnt:1", struct.pack(">5I", 7, 0, 0, 0, 0))
        redis.call("ZADD", "uf:flws:1", 5, 2)

    def run(self, *more, **environment):
        report = self.directory / "drift.json"
        done = tidings("import", "--from", "zhiguang", "--source-mysql", self.db.url, "--dry-run", "--drift", report, *more, **environment)
        if done.returncode == 1:
            said = json.loads(report.read_text())
            assert said["read"] == {"keys": 2, "ucnt:": 1, "uf:flws:": 1, "following": 1, "follower": 0}
            assert [(row["kind"], row["examples"][0]["says"]) for row in said["contradictions"] if row["kind"] == "following"] == [("following", 7)]
        return done

    def works(self, *more, **environment):
        done = self.run(*more, **environment)
        assert done.returncode == 1, done.stderr


class Compare:
    """Finds a key that is not as it should be."""
    whose, rights = OLD, COMPARES

    def __init__(self, server, redis, directory):
        del directory
        self.server, self.users, self.redis = server, community([server]), redis
        tag = "{%d}" if redis.is_cluster else "%d"
        redis.call("SET", f"total_unread:{tag % self.users[0].id}", 4711)

    def run(self, *more, **environment):
        return tidings(*compare_words(self.server, self.redis, "100%", "--old-scheme", "both", "--patience", "0", "--json"), *more[2:],
                       **secret_of(self.server), **environment)

    def works(self, *more, **environment):
        done = self.run(*more, **environment)
        assert done.returncode == 1, done.stderr
        said = json.loads(done.stdout)["kinds"]["total"]["examples"]
        assert (self.users[0].id, 4711) in [(row["user_id"], row["old"]) for row in said]


class Ended:
    """What a server said that could not reach the Redis: it goes on without."""

    def __init__(self, returncode, stderr):
        self.returncode, self.stdout, self.stderr = returncode, "", stderr


class Keep:
    """A server that keeps the keys, until all agrees, and what happens then."""
    whose, rights = OLD, KEEPS

    def __init__(self, server, redis, directory):
        del directory
        self.server, self.redis, self.users = server, redis, community([server])

    def bridge(self, *more, **environment):
        return Bridge(self.server, "100%", [*more[2:], "--old-scheme", "both"], self.redis, **environment)  # where it is it knows

    def run(self, *more, **environment):
        """It serves people as before, and says why it keeps no keys."""
        bridge = self.bridge(*more, **environment).start()
        line, = wait_until(lambda: [line for line in self.server.log_lines() if line["message"] == "the consumer fails"], "it is said")
        self.users[1].publish()
        bridge.stop()
        return Ended(3, line["error"])

    def works(self, *more, **environment):
        bridge = self.bridge(*more, **environment).start()
        try:
            bridge.settle()
            author = self.users[1]
            author.delete(author.publish()["id"])
            self.users[0].unfollow(author, purge_inbox=True)
            bridge.settle()
        finally:
            bridge.stop()
        assert "the consumer fails" not in bridge.log()
        agrees = tidings(*compare_words(self.server, self.redis, "100%", "--old-scheme", "both"), *options(OLD)[2:],
                         **secret_of(self.server), **password(OLD, PASSWORD))
        assert agrees.returncode == 0, agrees.stdout + agrees.stderr


@pytest.fixture(params=[Import, Compare, Keep], ids=["import", "compare", "bridge"])
def command(request, make_lone, redis, tmp_path):
    return request.param(None if request.param is Import else make_lone(), redis, tmp_path)


def test_with_what_is_right_it_works(command, tmp_path):
    for name, text in WAYS.values():
        command.works(*options(command.whose, name), **password(command.whose, text))
    file = tmp_path / "password"
    file.write_text(PASSWORD + "\n")
    variable = next(iter(password(command.whose, None)))
    command.works(*options(command.whose), **{f"{variable}_FILE": os.fspath(file)})


def test_the_rights_that_the_documents_name_are_enough(command, user):
    name = user(f"{ALWAYS} {command.rights}")
    command.works(*options(command.whose, name), **password(command.whose, USERS_PASSWORD))


def ends_with_3(command, why, *more, **environment):
    done = command.run(*more, **environment)
    assert done.returncode == 3, (done.returncode, done.stdout, done.stderr)
    assert why in done.stderr and NODES.split(":")[0] in done.stderr
    for secret in (*environment.values(), PASSWORD, USERS_PASSWORD):
        assert secret not in done.stdout + done.stderr


def test_with_what_is_wrong_it_ends_and_says_why(command):
    whose = command.whose
    refused = "the server refuses the user or password"
    ends_with_3(command, refused, *options(whose), **password(whose, "a wrong one of the tests"))
    ends_with_3(command, refused, *options(whose, USER), **password(whose, PASSWORD))
    ends_with_3(command, refused, *options(whose, "nobody"), **password(whose, PASSWORD))
    ends_with_3(command, "the server wants a password", *options(whose))


def test_a_redis_that_is_not_trusted_is_not_talked_to(command):
    if not TLS:
        pytest.skip("without TLS there is nobody to trust")
    other = os.path.join(os.environ["TIDINGS_TEST_REDIS_DIR"], "other.pem")
    ends_with_3(command, "certificate", *options(command.whose, ca=other), **password(command.whose, PASSWORD))
    ends_with_3(command, "certificate", *options(command.whose, ca=None), **password(command.whose, PASSWORD))


def test_a_password_is_no_option(command):
    flag = f"--{command.whose}-redis-password"
    if isinstance(command, Keep):
        done = tidings("serve", "--data", "/nowhere", *options(OLD), flag, "secret")
    else:
        done = command.run(*options(command.whose), flag, "secret")
    assert done.returncode == 2 and "password" in done.stderr


def test_comparing_without_the_right_to_look_is_no_difference(make_lone, redis, user, tmp_path):
    """What was refused was taken for a key that is not there."""
    command = Compare(make_lone(), redis, tmp_path)
    for right in ("+get", "+zrange", "+hvals"):
        name = user(f"{ALWAYS} {COMPARES}".replace(right, ""))
        done = command.run(*options(OLD, name), **password(OLD, USERS_PASSWORD))
        assert done.returncode == 3 and "NOPERM" in done.stderr, (right, done.stdout, done.stderr)
