"""Keys in Redis for others: every one of them is what the API answers, whatever happens meanwhile. Runs on a Redis alone, and on a
Redis Cluster with a replica of each master."""
import itertools
import os
import signal
import struct
import time

import keys
import pytest
from conftest import replicas, writer_of
from support.metrics import scrape
from support.server import tidings, wait_until

LEASE_S = 3
SEED = int(os.environ.get("TEST_SEED", os.getpid()))
seeds = itertools.count(SEED % 1000)
SINGLE = len(keys.NODES) == 1


@pytest.fixture(autouse=True)
def empty():
    keys.flush()


@pytest.fixture
def lone(make_server):
    def make(**settings):
        return make_server(settings={**keys.SETTINGS, **settings}).start()
    return make


@pytest.fixture
def world():
    return keys.World(next(seeds))


def leave(server, how):
    server.close_actors()
    server.actors.clear()
    how(server)


def rebuilt(server):
    """How often all was made anew."""
    return len([line for line in server.log_lines() if line["message"] == "the consumer's target is made"])


# ---- What they are ---------------------------------------------------------------------------------------------------


def test_every_key_is_what_the_api_answers(lone, world):
    server = lone()
    keys.settle(server)
    for _ in range(3):
        world.go_on(server, 150)
        keys.settle(server)
        assert keys.compare(server, world) > 20
    assert rebuilt(server) == 1
    assert scrape(server).get("tidings_consumer_failing", consumer="redis") == 0


def test_what_was_there_before_is_filled(lone, make_server, world):
    server = make_server(settings={k: v for k, v in keys.SETTINGS.items() if k != "redis"}).start()
    world.go_on(server, 400)
    server.settings["redis"] = keys.SETTINGS["redis"]
    leave(server, lambda one: one.restart())
    keys.settle(server)
    assert keys.compare(server, world) > 20


def test_counts_are_36_bytes_with_the_position_behind(lone):
    server = lone()
    ann, ben = server.users(2)
    ann.follow(ben)
    keys.settle(server)
    value = keys.one("GET", f"ucnt:{ben.id}")
    assert len(value) == 36
    assert struct.unpack(">7I", value[:28]) == (0, 1, 0, 0, 0, 0, 0)
    assert struct.unpack(">Q", value[28:])[0] > 0


def test_a_list_of_follows_has_the_newest_thousand_and_is_topped_up(lone):
    server = lone()
    star = server.user()
    fans = [star.id + 1 + i for i in range(1010)]
    service = server.service(acting_for=fans[0])
    for fan in fans:
        service.acting_for = fan
        service.follow(star)
    keys.settle(server)
    key = f"uf:fans:{star.id}"
    assert {int(member) for member in keys.one("ZRANGE", key, 0, -1)} == set(fans[10:])
    for fan in fans[-3:]:
        service.acting_for = fan
        service.unfollow(star)
    keys.settle(server)
    assert {int(member) for member in keys.one("ZRANGE", key, 0, -1)} == set(fans[7:-3])


def test_many_likes_are_all_there_after_a_rebuild(lone):
    """More than go into one call."""
    server = lone()
    post = server.user().publish()["id"]
    service = server.service(acting_for=1)
    for fan in range(1, 1201):
        service.acting_for = fan
        service.react(f"/posts/{post}/like")
    keys.settle(server)
    assert keys.one("ZCARD", f"like_story_user_set_{post}") == 1200
    keys.flush()
    wait_until(lambda: rebuilt(server) == 2, "it was made anew")
    keys.settle(server)
    assert keys.one("ZCARD", f"like_story_user_set_{post}") == 1200
    assert keys.one("PTTL", f"like_story_user_set_{post}") == -1
    assert keys.one("GET", f"count_story_{post}") == b"1200"


def test_who_has_no_token_left_has_a_key_until_the_next_comes(lone):
    refill_ms = 5000
    server = lone(follow_burst=3, follow_refill_ms=refill_ms)
    ann, *others = server.users(4)
    ann.follow(others[0])
    keys.settle(server)
    key = f"rl:follow:{ann.id}"
    assert keys.one("EXISTS", key) == 0, "there are two left"
    for one in others[1:]:
        ann.follow(one)
    wait_until(lambda: keys.one("GET", key) == b"0", "there is none left")
    assert 0 < keys.one("PTTL", key) <= refill_ms
    ann.refused(429, "rate_limited", "POST", "/v1/relation/follow", {"user_id": 99})
    wait_until(lambda: keys.one("EXISTS", key) == 0, "it ends")
    ann.follow(server.user())


# ---- Redis fails -----------------------------------------------------------------------------------------------------


def test_a_redis_that_was_emptied_is_filled_again(lone, world):
    server = lone()
    world.go_on(server, 200)
    keys.settle(server)
    keys.flush()
    wait_until(lambda: rebuilt(server) == 2, "it is noticed, though nothing happens")
    keys.settle(server)
    assert keys.compare(server, world) > 20


def test_a_redis_that_is_away_is_told_of_and_catches_up(lone, world):
    server = lone()
    world.go_on(server, 100)
    keys.settle(server)
    for number in range(len(keys.NODES)):
        keys.control("pause", number)
    try:
        began = time.monotonic()
        world.go_on(server, 100)
        assert time.monotonic() - began < 20, "writes do not wait"
        wait_until(lambda: keys.row_of(server)["trouble"], "it says why", 30)
    finally:
        for number in range(len(keys.NODES)):
            keys.control("resume", number)
    keys.settle(server, patience=90)
    keys.compare(server, world)
    messages = [line["message"] for line in server.log_lines() if line.get("consumer") == "redis"]
    assert "the consumer fails" in messages and "the consumer works again" in messages


def test_a_redis_that_takes_no_writes_gets_them_later(lone, world):
    """It answers, and has not lost what it has: nothing but what was not acknowledged tells what is to be told."""
    server = lone()
    world.go_on(server, 100)
    keys.settle(server)
    keys.on_masters("CONFIG", "SET", "min-replicas-to-write", 9)
    try:
        world.go_on(server, 60)
        wait_until(lambda: keys.row_of(server)["trouble"], "it says why", 30)
        held = keys.row_of(server)["position"]
        world.go_on(server, 20)
        assert keys.row_of(server)["position"] == held
    finally:
        keys.on_masters("CONFIG", "SET", "min-replicas-to-write", 0)
    keys.settle(server)
    keys.compare(server, world)
    assert rebuilt(server) == 1


def test_a_redis_that_starts_again_with_nothing_is_filled(lone, world):
    if not SINGLE:
        pytest.skip("a replica takes over there")
    server = lone()
    world.go_on(server, 100)
    keys.settle(server)
    keys.control("kill", 0)
    world.go_on(server, 20)
    keys.control("start", 0)
    wait_until(lambda: rebuilt(server) == 2, "it was made anew", 60)
    keys.settle(server)
    keys.compare(server, world)


def test_a_replica_that_takes_over_is_told_what_it_missed(lone, world):
    if SINGLE:
        pytest.skip("there is no replica")
    server = lone()
    world.go_on(server, 150)
    keys.settle(server)
    # The replicas of what follows never get it, and then take over.
    roles = [(place, keys.Node(place)) for place in keys.NODES]
    masters_at = [i for i, (_, node) in enumerate(roles) if node.ask("ROLE")[0] == b"master"]
    replicas_at = [i for i in range(len(roles)) if i not in masters_at]
    time.sleep(1.2)  # a mark was written, and replicated
    for i in replicas_at:
        keys.control("pause", i)
    world.go_on(server, 60)
    keys.settle(server)
    for i in masters_at:
        roles[i][1].close()
        keys.control("kill", i)
    for i in replicas_at:
        keys.control("resume", i)
    for i in replicas_at:
        wait_until(lambda node=roles[i][1]: node.send(["CLUSTER", "FAILOVER", "TAKEOVER"]), "it takes over")
    went_back = lambda: any(line["message"] == "the consumer goes back" for line in server.log_lines())  # noqa: E731
    wait_until(went_back, "it notices", 60)
    keys.settle(server, patience=90)
    try:
        keys.compare(server, world)
        assert rebuilt(server) == 1, "nothing had to be made anew"
    finally:
        for i in masters_at:
            keys.control("start", i)


def test_keys_of_others_stay_and_a_key_of_another_kind_goes(lone):
    server = lone()
    ann, ben = server.users(2)
    ann.follow(ben)
    keys.settle(server)
    mine = ["count_story_abc", "ucnt:", "uf:fans:x", "like_story_user_set_007", "tidings"]
    for name in mine:
        keys.one("SET", name, "mine")
    keys.one("DEL", f"uf:fans:{ben.id}")
    keys.one("SET", f"uf:fans:{ben.id}", "no list")
    server.user().follow(ben)
    keys.settle(server)
    assert keys.one("TYPE", f"uf:fans:{ben.id}") in ("none", "zset")
    server.user().follow(ben)
    keys.settle(server)
    assert keys.one("ZCARD", f"uf:fans:{ben.id}") == 3
    for name in keys.on_masters("KEYS", "tidings:keys:*"):
        for mark in name[:1]:
            keys.one("DEL", mark)
    wait_until(lambda: rebuilt(server) == 2, "a mark was missing")
    assert [keys.one("GET", name) for name in mine] == [b"mine"] * len(mine)


def test_a_list_that_redis_has_thrown_out_is_filled_when_it_is_named(lone):
    server = lone()
    star = server.user()
    for _ in range(3):
        server.user().follow(star)
    keys.settle(server)
    keys.one("DEL", f"uf:fans:{star.id}")
    server.user().follow(star)
    keys.settle(server)
    assert keys.one("ZCARD", f"uf:fans:{star.id}") == 4


# ---- What operators ask ------------------------------------------------------------------------------------------------


def compared(server):
    """What the log says of comparing, in order."""
    return [line for line in server.log_lines() if "differed" in line]


def reconcile(server):
    before = len(compared(server))
    with_admin = server.admin()
    assert with_admin.post("/admin/targets/redis/reconcile")["reconciling"]
    wait_until(lambda: len(compared(server)) > before, "all was compared")
    keys.settle(server)
    return compared(server)[-1]


def test_keys_that_were_damaged_are_mended_and_the_log_says_how_many(lone):
    server = lone()
    ann, ben, cat = server.users(3)
    ann.follow(ben)
    cat.follow(ben)
    post = ben.publish()["id"]
    comment = ann.comment(post)["id"]
    for one in (ann, cat):
        one.react(f"/posts/{post}/like")
        one.react(f"/comments/{comment}/like")
    keys.settle(server)
    before = keys.all_keys()
    assert reconcile(server)["message"] == "the keys in Redis are as the server has it"
    assert compared(server)[-1]["keys"] == len(before) > 10
    right = keys.one("GET", f"ucnt:{ann.id}")
    damage = [
        ("SET", f"ucnt:{ann.id}", b"\0\0\0\7" + right[4:]), ("DEL", f"ucnt:{cat.id}"), ("SET", f"ucnt:{ben.id}", "short"),
        ("ZADD", f"uf:fans:{ben.id}", 5, 77), ("ZREM", f"uf:flws:{ann.id}", ben.id), ("ZADD", f"uf:fans:{ann.id}", 5, 77),
        ("ZADD", f"like_story_user_set_{post}", 5, ann.id), ("DEL", f"story_user_like_set_{ann.id}"),
        ("SET", f"count_story_{post}", 99), ("DEL", f"count_comment_{comment}"), ("SET", f"count_story_{post + 1}", 3),
        ("ZADD", "like_comment_user_set_4711", 5, 77), ("DEL", f"comment_user_like_set_{cat.id}"),
    ]
    for words in damage:
        keys.one(*words)
    keys.one("DEL", f"like_comment_user_set_{comment}")
    keys.one("SET", f"like_comment_user_set_{comment}", "no list")
    keys.one("SET", "count_story_abc", "mine")
    line = reconcile(server)
    assert (line["message"], line["differed"]) == ("keys in Redis differed and are mended", len(damage) + 1)
    assert keys.all_keys() == before
    assert keys.one("GET", "count_story_abc") == b"mine"
    assert reconcile(server)["differed"] == 0 and rebuilt(server) == 1
    row, = server.admin().get("/admin/targets")["items"]
    assert row["can_reconcile"] and not row["reconciling"] and row["can_rebuild"]


def test_a_list_of_more_than_go_into_one_call_is_compared(lone):
    server = lone()
    post = server.user().publish()["id"]
    service = server.service(acting_for=1)
    for fan in range(1, 1202):
        service.acting_for = fan
        service.react(f"/posts/{post}/like")
    keys.settle(server)
    key = f"like_story_user_set_{post}"
    before = keys.one("ZRANGE", key, 0, -1, "WITHSCORES")
    assert reconcile(server)["differed"] == 0
    keys.one("ZREM", key, 1)
    keys.one("ZADD", key, 5, 1_000_000)
    assert reconcile(server)["differed"] == 1
    keys.one("ZADD", key, 5, 1_000_000)
    assert reconcile(server)["differed"] == 1
    assert keys.one("ZRANGE", key, 0, -1, "WITHSCORES") == before and keys.one("PTTL", key) == -1


def test_random_traffic_leaves_nothing_to_mend_and_goes_on_meanwhile(lone, world):
    server = lone()
    world.go_on(server, 200)
    keys.settle(server)
    of_deleted = ("like_comment_user_set_", "count_comment_")
    stays = [name for name in keys.all_keys() if name.startswith(of_deleted) and
             world.comments.get(int(keys.OURS.match(name)[2])) in world.gone]
    assert reconcile(server)["differed"] == len(stays)
    server.admin().post("/admin/targets/redis/reconcile")
    world.go_on(server, 100)
    wait_until(lambda: len(compared(server)) == 2, "all was compared")
    keys.settle(server)
    assert keys.compare(server, world) > 20


def test_an_operator_has_all_keys_made_anew(lone, world):
    server = lone()
    world.go_on(server, 100)
    keys.settle(server)
    admin = server.admin()
    keys.one("SET", "count_story_1", 5)
    assert admin.post("/admin/targets/redis/rebuild")["rebuilding"]
    wait_until(lambda: rebuilt(server) == 2, "all is made anew")
    keys.settle(server)
    assert keys.compare(server, world) > 20 and keys.one("EXISTS", "count_story_1") == 0


def test_the_command_makes_all_keys_anew_and_compares_them(make_servers, world):
    servers = make_servers(2, settings=keys.SETTINGS)
    writer = writer_of(servers)
    world.go_on(writer, 60)
    keys.settle(writer)
    url = writer.arguments[writer.arguments.index("--mysql") + 1]
    done = rebuilt(writer)
    for action in ("rebuild", "reconcile"):
        answer = tidings("cluster", action, "redis", "--mysql", url)
        assert answer.returncode == 0, answer.stderr
    wait_until(lambda: rebuilt(writer) == done + 1 and compared(writer), "both are done")
    assert compared(writer)[-1]["differed"] == 0, "it was compared when it was made"
    keys.compare(writer, world)


def test_a_user_who_may_not_compare_has_nothing_removed_and_is_told(make_server, world):
    for node in map(keys.Node, keys.NODES):
        node.ask("ACL", "SETUSER", "shy", "reset", "on", f">{PASSWORD}", *PATTERNS.split(), *COMMANDS.split(), "-zscore")
        node.close()
    server = make_server(settings={**keys.SETTINGS, "redis_user": "shy"}, environment={"TIDINGS_REDIS_PASSWORD": PASSWORD}).start()
    world.go_on(server, 120)
    keys.settle(server)
    before = keys.all_keys()
    line = reconcile(server)
    assert line["message"] == "some keys in Redis could not be compared" and line["left"] > 5 and line["error"]
    assert set(keys.all_keys()) >= {name for name in before if world.comments.get(int(keys.OURS.match(name)[2])) not in world.gone}
    world.go_on(server, 20)
    keys.settle(server)
    keys.compare(server, world)


# ---- Who may sign in ---------------------------------------------------------------------------------------------------

PASSWORD = "open sesame"
COMMANDS = "+eval +evalsha +get +set +del +unlink +exists +scan +zadd +zrem +zcard +zscore +zremrangebyrank +rename +persist +pexpire +info " \
           "+cluster|slots +asking"
PATTERNS = "~tidings:keys:* ~ucnt:* ~uf:* ~rl:* ~like_* ~story_user_* ~comment_user_* ~count_* ~{*"


@pytest.mark.parametrize("password", [PASSWORD, "close sesame"])
def test_a_user_with_the_documented_rights_is_enough(make_server, world, tmp_path, password):
    keys.on_masters("ACL", "SETUSER", "keeper", "reset", "on", f">{PASSWORD}", *PATTERNS.split(), *COMMANDS.split())
    for node in map(keys.Node, keys.NODES):  # replicas, too: the client may ask any of them
        node.ask("ACL", "SETUSER", "keeper", "reset", "on", f">{PASSWORD}", *PATTERNS.split(), *COMMANDS.split())
        node.close()
    secret = tmp_path / "password"
    secret.write_text(password + "\n")
    server = make_server(settings={**keys.SETTINGS, "redis_user": "keeper"}, environment={"TIDINGS_REDIS_PASSWORD_FILE": str(secret)})
    server.start()
    world.go_on(server, 120)
    if password == PASSWORD:
        keys.settle(server)
        assert keys.compare(server, world) > 20
    else:
        wait_until(lambda: "refuses the user or password" in (keys.row_of(server) or {"trouble": ""})["trouble"], "it says why")
        assert not keys.all_keys()
    assert "sesame" not in server.log_text() + str(keys.row_of(server))


# ---- Servers fail ----------------------------------------------------------------------------------------------------


def test_a_server_that_starts_again_goes_on_where_it_was(lone, world):
    server = lone()
    world.go_on(server, 100)
    keys.settle(server)
    leave(server, lambda one: one.restart(signal.SIGKILL))
    world.go_on(server, 100)
    keys.settle(server)
    keys.compare(server, world)
    assert rebuilt(server) == 0


def test_another_server_goes_on_when_the_one_that_serves_is_killed(make_servers, world):
    servers = make_servers(3, settings=keys.SETTINGS)
    writer = writer_of(servers)
    for one in servers:
        world.go_on(one, 40)
    keys.settle(writer)
    keys.compare(writer, world)
    leave(writer, lambda one: one.kill())
    others = [one for one in servers if one is not writer]
    following = writer_of(others, 10 * LEASE_S)
    for one in others:
        world.go_on(one, 40)
    keys.settle(following)
    keys.compare(following, world)
    assert rebuilt(following) == 0


def test_a_server_that_stood_still_writes_nothing_old(make_servers, world):
    servers = make_servers(2, settings=keys.SETTINGS)
    writer = writer_of(servers)
    other = next(one for one in servers if one is not writer)
    world.go_on(writer, 60)
    for one in servers:
        one.close_actors()
        one.actors.clear()
    os.kill(writer.process.pid, signal.SIGSTOP)
    try:
        replicas.wait_for_role(other, "writer", patience=10 * LEASE_S)
        world.go_on(other, 100)
        keys.settle(other)
    finally:
        os.kill(writer.process.pid, signal.SIGCONT)
    replicas.wait_for_role(writer, "follower")
    replicas.wait_for_all(servers)
    keys.settle(other)
    keys.compare(other, world)


def test_who_is_killed_while_all_is_made_begins_again(lone, make_server, world):
    server = make_server(settings={k: v for k, v in keys.SETTINGS.items() if k != "redis"}).start()
    world.go_on(server, 200)
    server.settings["redis"] = keys.SETTINGS["redis"]
    leave(server, lambda one: one.restart())
    leave(server, lambda one: one.restart(signal.SIGKILL))
    world.go_on(server, 20)
    keys.settle(server)
    keys.compare(server, world)
