"""A master of the old Redis Cluster that dies, and whose replica had not got the newest writes, though they were acknowledged: the bridge finds out that another
process has these keys, and fills them anew. Afterwards they are what a recount from the API says."""
import time

import old_redis
import pytest
from bridging import STATE, Keys, check, compare_words, pause, resume, secret_of
from community import Traffic, community
from support.server import tidings, wait_until


class Master:
    """One that has keys of users, with the bridge's state or without it, and its replica."""

    def __init__(self, redis, keys, users, with_state=False):
        self.redis = redis
        has_state = self.who_has(STATE)
        self.user = next(user for user in users if (self.who_has(keys.name("FEED", user.id)) == has_state) == with_state)
        self.node = self.who_has(keys.name("FEED", self.user.id))
        roles = {node: redis.connection(node).call("ROLE") for node in redis.nodes}
        self.replica = next(node for node, role in roles.items() if role[0] == "slave" and int(role[2]) == int(self.node[1]))

    def who_has(self, key):
        def has(node):
            try:
                return self.redis.connection(node).call("ROLE")[0] == "master" and self.redis.connection(node).call("EXISTS", key) >= 0
            except old_redis.Refused:
                return False
        return next(node for node in self.redis.nodes if has(node))

    def control(self, verb, node):
        old_redis.control(f"{verb} {self.redis.nodes.index(node)}")

    def cut_off(self):
        """What is written from now on the replica does not get. One that stands still has what comes to its socket: so that is closed."""
        self.control("pause", self.replica)
        assert self.redis.connection(self.node).call("CLIENT", "KILL", "TYPE", "replica") == 1

    def fail_over(self, at_once=False):
        """By an election, which takes seconds; or by order."""
        self.control("kill", self.node)
        self.control("resume", self.replica)
        if at_once:
            self.redis.connection(self.replica).call("CLUSTER", "FAILOVER", "TAKEOVER")
        wait_until(lambda: all(map(self.knows, self.redis.nodes)), "the replica takes over, and all know")

    def knows(self, node):
        """Before that, who asks may be told that nobody has these slots."""
        if node == self.node:
            return True
        masters = {row[2][1] for row in self.redis.connection(node).call("CLUSTER", "SLOTS")}
        return int(self.replica[1]) in masters and "cluster_state:ok" in self.redis.connection(node).call("CLUSTER", "INFO")

    def come_back(self):
        """As a replica of what was its replica, with all that has."""
        self.control("start", self.node)
        self.redis.close()
        wait_until(lambda: self.redis.connection(self.node).call("ROLE")[3:4] == ["connected"], "it is back")


@pytest.fixture
def world(make_lone, start_bridge, redis):
    server = make_lone()
    users, keys = community([server], 24), Keys(redis)
    bridge = start_bridge(server)
    bridge.settle()
    return server, users, keys, bridge


def feed_at(keys, node, user):
    """What a certain node has."""
    return set(map(int, keys.redis.connection(node).call("ZRANGE", keys.name("FEED", user.id), 0, -1)))


def lose_a_post(world, master, at_once):
    """One that was acknowledged, and is not there any more: the bridge is not at work meanwhile."""
    _, users, keys, _ = world
    author = next(user for user in users if (user.id + master.user.id) % 3 and user is not master.user)
    master.cut_off()
    post = author.publish()["id"]
    wait_until(lambda: post in feed_at(keys, master.node, master.user), "it is there")
    yield  # the bridge is stopped in one way or another
    master.fail_over(at_once)
    assert post not in feed_at(keys, master.replica, master.user), "nothing was lost"
    yield
    for user in users:
        user.publish()


def agrees(server, redis, patience):
    done = tidings(*compare_words(server, redis, "100%", "--patience", str(patience)), timeout=120, **secret_of(server))
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize(("at_once", "with_state"), [(True, False), (False, True)])
def test_what_a_promoted_replica_has_lost_is_filled_anew(world, redis, at_once, with_state):
    """At once: the lease goes on, and only who asks the nodes notices."""
    server, users, keys, bridge = world
    master = Master(redis, keys, users, with_state)
    steps = lose_a_post(world, master, at_once)
    next(steps)
    pause(server)
    next(steps)
    resume(server)
    next(steps, None)
    agrees(server, redis, 60)
    bridge.settle()
    assert bridge.log().count("filled anew") == 2, "of one failover it is told once"
    master.come_back()
    check(keys, users)


@pytest.mark.parametrize("with_state", [False, True])
def test_a_master_that_was_replaced_while_no_bridge_ran_is_noticed(world, redis, with_state):
    server, users, keys, bridge = world
    master = Master(redis, keys, users, with_state)
    steps = lose_a_post(world, master, at_once=True)
    next(steps)
    bridge.stop()
    next(steps)
    bridge.start()
    next(steps, None)
    agrees(server, redis, 10)
    bridge.settle()
    master.come_back()
    check(keys, users)


def test_a_restart_of_the_bridge_alone_fills_nobody(world, redis):
    _, users, _, bridge = world
    companions = [f"tidings:bridge:{{{user.id}}}" for user in users]
    before = [redis.call("HGETALL", name) for name in companions]
    bridge.stop()
    bridge.start()
    bridge.settle()
    assert "goes on behind event" in bridge.log()
    assert [redis.call("HGETALL", name) for name in companions] == before


def test_traffic_goes_on_while_masters_die_one_after_the_other(world, redis):
    server, users, keys, bridge = world
    traffic = Traffic([server], users, 5)
    traffic.start()
    for with_state in (False, True):
        traffic.go_on(60)
        master = Master(redis, keys, users, with_state)
        master.cut_off()
        traffic.go_on(20)
        master.fail_over()
        traffic.go_on(60)
        master.come_back()
    traffic.finish()
    agrees(server, redis, 60)
    bridge.settle()
    check(keys, users)


@pytest.mark.parametrize("what", ["publish", "unfollow"])
def test_what_a_master_that_stands_still_has_not_got_comes_again(world, redis, what):
    """The server ends meanwhile: the position, which another master has, must not be ahead of the keys. Shorter than an election takes."""
    _, users, keys, bridge = world
    master = Master(redis, keys, users)
    author = next(user for user in users if (user.id + master.user.id) % 3 and user is not master.user)
    master.control("pause", master.node)
    if what == "publish":
        author.publish()
    else:
        master.user.unfollow(author, purge_inbox=True)
    time.sleep(1)  # for whoever would save the position now
    bridge.kill()
    master.control("resume", master.node)
    bridge.start()
    bridge.settle()
    assert bridge.log().count("filled anew") == 1
    check(keys, users)
