"""The old application's keys, kept by a lone server, one thing at a time: fan-outs that are interrupted, who left and who came later, shares,
a second server, a Redis that was restarted, other names, and what operators see."""
import shutil
import signal
import time

import old_redis
from bridging import Keys, check, consumer_of, flags, in_share, settle, state_of
from community import SHARE, community
from support.server import tidings, wait_until

FANS = 2100


def test_a_fan_out_that_is_interrupted_goes_on_and_counts_once(make_lone, start_bridge, redis):
    server, keys = make_lone(), Keys(redis)
    author, service = server.user(), server.service()
    fans = range(author.id + 1000, author.id + 1000 + FANS)
    for fan in fans:
        service.acting_for = fan
        service.follow(author)
    bridge = start_bridge(server)
    bridge.settle()
    posts, interrupted = set(), 0
    for _ in range(3):
        bridge.kill()
        posts.add(post := author.publish()["id"])
        bridge.start()
        wait_until(lambda one=post: one in keys.feed(fans[-1]), "the newest fan has it")
        bridge.kill()
        interrupted += 0 < sum(post in keys.feed(fan) for fan in fans) < FANS
        bridge.start()
    assert interrupted, "none was interrupted in the middle"
    bridge.settle()
    for fan in fans:
        assert keys.feed(fan).keys() == posts and keys.total(fan) == keys.author(fan, author.id) == len(posts)
    for post in posts:
        author.delete(post)
    bridge.settle()
    for fan in fans:
        assert keys.feed(fan).keys() == posts and keys.total(fan) == keys.author(fan, author.id) == 0
    assert keys.deleted() == posts


def test_who_left_is_told_of_deletions_and_who_came_later_gets_nothing(make_lone, start_bridge, redis):
    server = make_lone()
    author, left, later = server.users(3)
    left.follow(author)
    bridge = start_bridge(server)
    bridge.settle()
    bridge.kill()
    posts = [author.publish()["id"] for _ in range(2)]
    left.unfollow(author)
    later.follow(author)
    bridge.start()
    bridge.settle()
    check(Keys(redis), [left, later])
    assert Keys(redis).total(left.id) == 2 and Keys(redis).total(later.id) == 0
    author.delete(posts[0])
    bridge.settle()
    check(Keys(redis), [left, later])
    assert Keys(redis).total(left.id) == 1


def test_what_the_old_application_had_is_replaced_in_the_share_and_nowhere_else(make_lone, start_bridge, redis):
    server = make_lone()
    users, keys = community([server]), Keys(redis)
    for user in users:
        redis.call("ZADD", keys.name("FEED", user.id), 5, 77)
        redis.call("SET", keys.name("TOTAL_UNREAD", user.id), 99)
        redis.call("SET", keys.name("AUTHOR_UNREAD", user.id, 4711), 3)
        redis.call("SET", keys.name("READ", user.id), "of another kind")
    bridge = start_bridge(server, share=f"{SHARE}%")
    bridge.settle()
    inside = [user for user in users if in_share(user.id, SHARE)]
    check(keys, inside)
    for user in users:
        assert keys.author(user.id, 4711) == (0 if user in inside else 3)
        assert user in inside or keys.total(user.id) == 99


def test_a_larger_share_keeps_who_was_in_and_fills_the_others(make_lone, start_bridge, redis):
    server = make_lone()
    users = community([server])
    assert all(in_share(user.id, 80) for user in users if in_share(user.id, SHARE))
    bridge = start_bridge(server, share=f"{SHARE}%")
    bridge.settle()
    bridge.stop()
    users[0].publish()
    bridge = start_bridge(server, share="100%")
    bridge.settle()
    check(Keys(redis), users)


def test_a_server_of_another_history_waits_until_the_redis_is_free(make_lone, start_bridge, redis):
    """Somebody has started a copy of the server, with the same flags."""
    server = make_lone()
    users = community([server])
    bridge = start_bridge(server)
    bridge.settle()
    other = make_lone()
    other.arguments = flags(redis, "100%")
    other.restart()
    wait_until(lambda: "another server keeps its keys: waiting" in other.log_text(), "it waits")
    wait_until(lambda: "another server" in consumer_of(other)["trouble"], "and its status says so")
    users[0].publish()
    bridge.settle()
    check(Keys(redis), users)
    assert bridge.log().count("filled anew") == 1 and "filled anew" not in other.log_text()
    other.arguments = []
    other.restart()


def test_a_redis_that_was_restarted_empty_is_filled_again(make_lone, start_bridge, redis):
    server = make_lone()
    users = community([server])
    bridge = start_bridge(server)
    bridge.settle()
    for node in range(len(redis.nodes)):  # replicas, too: otherwise one of them takes over, with all keys
        old_redis.control(f"kill {node}")
    users[0].publish()
    wait_until(lambda: consumer_of(server)["trouble"], "the status says why it does not get on")
    for node in range(len(redis.nodes)):
        old_redis.control(f"start {node}")
    redis.close()
    wait_until(lambda: "filled anew" in bridge.log().partition("the old Redis")[2], "it is noticed")
    bridge.settle()
    check(Keys(redis), users)


def test_keys_may_have_other_names(make_lone, start_bridge, redis):
    server = make_lone()
    users = community([server])
    bridge = start_bridge(server, "--old-key", "FEED=inbox:", "--old-key", "total_unread=unread:")
    bridge.settle()
    check(Keys(redis, FEED="inbox:", TOTAL_UNREAD="unread:"), users)
    assert not any(key.startswith(("feed:", "total_unread:")) for key in redis.keys())


# ---- What operators see -----------------------------------------------------------------------------------------------


def test_operators_see_how_far_it_is_and_why_it_waits(make_lone, start_bridge, redis):
    server = make_lone()
    users = community([server])
    start_bridge(server).settle()
    wait_until(lambda: consumer_of(server)["waiting_since"] is None, "everybody's keys are filled")
    users[0].publish()
    settle(server, redis)
    row = wait_until(lambda: (row := consumer_of(server))["position"] == state_of(redis)["position"] and row, "the row says how far it is")
    assert row["told"] > 0 and row["trouble"] == "" and row["failing_since"] is None
    metrics = server.admin().send("GET", "/metrics").body.decode()
    assert f'tidings_consumer_position{{consumer="old_redis"}} {row["position"]}' in metrics
    assert 'tidings_consumer_failing{consumer="old_redis"} 0' in metrics
    assert not server.admin().get("/admin/webhooks")["items"], "it is no webhook"
    for node in range(len(redis.nodes)):
        old_redis.control(f"kill {node}")
    wait_until(lambda: 'tidings_consumer_failing{consumer="old_redis"} 1' in server.admin().send("GET", "/metrics").body.decode(), "it fails")
    wait_until(lambda: consumer_of(server)["trouble"].startswith("the old Redis"), "and says why")
    for node in range(len(redis.nodes)):
        old_redis.control(f"start {node}")
    redis.close()
    wait_until(lambda: not consumer_of(server)["trouble"], "nothing is wrong any more")
    said = [line["message"] for line in server.log_lines() if line.get("consumer") == "old_redis" and "consumer" in line["message"]]
    assert said == ["the consumer fails", "the consumer works again"]


def test_a_directory_of_an_earlier_moment_fills_anew(make_lone, start_bridge, redis, tmp_path):
    """What was gone through is not in the history any more, though newer events are."""
    server = make_lone()
    users = community([server])
    bridge = start_bridge(server)
    bridge.settle()
    bridge.stop()
    server.stop()
    shutil.copytree(server.data, tmp_path / "copy")
    server.start()
    bridge.start()
    lost = users[0].publish()["id"]
    bridge.settle()
    bridge.stop()
    server.stop()
    shutil.rmtree(server.data)
    shutil.copytree(tmp_path / "copy", server.data)
    server.start()
    kept = users[0].publish()["id"]
    bridge.start()
    bridge.settle()
    check(Keys(redis), users)
    fan = next(user for user in users[1:] if kept in Keys(redis).feed(user.id))
    assert lost not in Keys(redis).feed(fan.id)


def test_it_stops_at_once_though_the_redis_stands_still(make_lone, start_bridge, redis):
    server = make_lone()
    start_bridge(server).settle()
    for node in range(len(redis.nodes)):
        old_redis.control(f"kill {node}")
    wait_until(lambda: consumer_of(server)["trouble"], "it has noticed")
    server.close_actors()
    begun = time.monotonic()
    server.stop(signal.SIGTERM)
    assert time.monotonic() - begun < 8
    for node in range(len(redis.nodes)):
        old_redis.control(f"start {node}")


def test_flags_that_make_no_sense_are_told(make_lone):
    for wrong, why in ((["--old-redis", "127.0.0.1:1"], "old_share"), (["--old-redis", "nowhere", "--old-share", "5%"], "old_redis"),
                       (["--old-redis", "127.0.0.1:1", "--old-share", "0%"], "5%"), (["--old-redis", "127.0.0.1:1", "--old-key", "X=y"], "FEED=")):
        done = tidings("serve", "--data", "/nowhere/at/all", *wrong, TIDINGS_JWT_SECRET="s" * 40)
        assert done.returncode in (2, 3) and (why in done.stderr or done.returncode == 3), (wrong, done.stderr)
