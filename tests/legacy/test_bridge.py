"""The old application's keys, one thing at a time: fan-outs that are interrupted, who left and who came later, shares, two bridges, a
Redis that was restarted, other names."""
import old_redis
from bridging import Keys, check, in_share
from community import SHARE, community
from support.server import wait_until

FANS = 2100


def test_a_fan_out_that_is_interrupted_goes_on_and_counts_once(make_servers, start_bridge, redis):
    servers, keys = make_servers(), Keys(redis)
    author, service = servers[0].user(), servers[0].service()
    fans = range(author.id + 1000, author.id + 1000 + FANS)
    for fan in fans:
        service.acting_for = fan
        service.follow(author)
    bridge = start_bridge(servers[0])
    bridge.settle(servers[0])
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
    bridge.settle(servers[0])
    for fan in fans:
        assert keys.feed(fan).keys() == posts and keys.total(fan) == keys.author(fan, author.id) == len(posts)
    for post in posts:
        author.delete(post)
    bridge.settle(servers[0])
    for fan in fans:
        assert keys.feed(fan).keys() == posts and keys.total(fan) == keys.author(fan, author.id) == 0
    assert keys.deleted() == posts


def test_who_left_is_told_of_deletions_and_who_came_later_gets_nothing(make_servers, start_bridge, redis):
    servers = make_servers()
    author, left, later = servers[0].users(3)
    left.follow(author)
    bridge = start_bridge(servers[0])
    bridge.settle(servers[0])
    bridge.kill()
    posts = [author.publish()["id"] for _ in range(2)]
    left.unfollow(author)
    later.follow(author)
    bridge.start()
    bridge.settle(servers[0])
    check(Keys(redis), [left, later])
    assert Keys(redis).total(left.id) == 2 and Keys(redis).total(later.id) == 0
    author.delete(posts[0])
    bridge.settle(servers[0])
    check(Keys(redis), [left, later])
    assert Keys(redis).total(left.id) == 1


def test_what_the_old_application_had_is_replaced_in_the_share_and_nowhere_else(make_servers, start_bridge, redis):
    servers = make_servers()
    users, keys = community(servers), Keys(redis)
    for user in users:
        redis.call("ZADD", keys.name("FEED", user.id), 5, 77)
        redis.call("SET", keys.name("TOTAL_UNREAD", user.id), 99)
        redis.call("SET", keys.name("AUTHOR_UNREAD", user.id, 4711), 3)
        redis.call("SET", keys.name("READ", user.id), "of another kind")
    bridge = start_bridge(servers[0], share=f"{SHARE}%")
    bridge.settle(servers[0])
    inside = [user for user in users if in_share(user.id, SHARE)]
    check(keys, inside)
    for user in users:
        assert keys.author(user.id, 4711) == (0 if user in inside else 3)
        assert user in inside or keys.total(user.id) == 99


def test_a_larger_share_keeps_who_was_in_and_fills_the_others(make_servers, start_bridge, redis):
    servers = make_servers()
    users = community(servers)
    assert all(in_share(user.id, 80) for user in users if in_share(user.id, SHARE))
    bridge = start_bridge(servers[0], share=f"{SHARE}%")
    bridge.settle(servers[0])
    bridge.stop()
    users[0].publish()
    bridge = start_bridge(servers[0], share="100%")
    bridge.settle(servers[0])
    check(Keys(redis), users)


def test_of_two_bridges_one_is_at_work_and_the_other_takes_over(make_servers, start_bridge, redis):
    servers = make_servers()
    users = community(servers)
    bridges = [start_bridge(servers[0]), start_bridge(servers[1])]
    wait_until(lambda: any("another bridge is at work" in bridge.log() for bridge in bridges), "one waits")
    waits = next(bridge for bridge in bridges if "another bridge is at work" in bridge.log())
    works = next(bridge for bridge in bridges if bridge is not waits)
    works.settle(servers[0])
    users[0].publish()
    works.settle(servers[0])
    works.kill()
    users[1].publish()
    waits.settle(servers[0])
    check(Keys(redis), users)


def test_a_redis_that_was_restarted_empty_is_filled_again(make_servers, start_bridge, redis):
    servers = make_servers()
    users = community(servers)
    bridge = start_bridge(servers[0])
    bridge.settle(servers[0])
    for node in range(len(redis.nodes)):  # replicas, too: otherwise one of them takes over, with all keys
        old_redis.control(f"kill {node}")
    users[0].publish()
    for node in range(len(redis.nodes)):
        old_redis.control(f"start {node}")
    redis.close()
    wait_until(lambda: "filled anew" in bridge.log().partition("the old Redis")[2], "it is noticed")
    bridge.settle(servers[0])
    check(Keys(redis), users)


def test_keys_may_have_other_names(make_servers, start_bridge, redis):
    servers = make_servers()
    users = community(servers)
    bridge = start_bridge(servers[0], "--key", "FEED=inbox:", "--key", "total_unread=unread:")
    bridge.settle(servers[0])
    check(Keys(redis, FEED="inbox:", TOTAL_UNREAD="unread:"), users)
    assert not any(key.startswith(("feed:", "total_unread:")) for key in redis.keys())
