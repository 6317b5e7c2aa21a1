"""The old application's keys beside a community that goes on, whatever is killed or emptied: afterwards each is what a recount from the
API says, for users of the share, and there is none of anybody else's."""
import threading

from bridging import Keys, SecondKeys, check
from community import SHARE, Traffic, check_all, community
from support.server import wait_until


def test_traffic_while_the_bridge_is_killed_and_the_redis_emptied(make_servers, start_bridge, redis):
    servers = make_servers()
    users = community(servers)
    bridge = start_bridge(servers[0], share=f"{SHARE}%")
    traffic = Traffic(servers, users, 1)
    traffic.start()
    for turn in range(4):
        traffic.go_on(60)
        bridge.kill()
        traffic.go_on(30)
        if turn == 2:
            redis.empty()
        bridge.start()
    traffic.go_on(60)
    redis.empty()
    traffic.go_on(60)
    traffic.finish()
    bridge.settle(servers[0])
    check_all(redis, users)


def test_both_schemes_are_kept(make_servers, start_bridge, redis):
    servers = make_servers()
    users = community(servers)
    bridge = start_bridge(servers[0], "--scheme", "both", share="100%")
    traffic = Traffic(servers, users, 2)
    traffic.start()
    traffic.go_on(200)
    bridge.kill()
    traffic.go_on(50)
    bridge.start()
    traffic.finish()
    bridge.settle(servers[0])
    check(Keys(redis), users)
    SecondKeys(redis).check(users)


def test_reading_without_events_is_kept_up_too(make_servers, start_bridge, redis):
    servers = make_servers(read_events=0)
    users = community(servers)
    bridge = start_bridge(servers[0], share=f"{SHARE}%")
    bridge.settle(servers[0])
    traffic = Traffic(servers, users, 3)
    traffic.start()
    traffic.go_on(150)
    bridge.kill()
    traffic.go_on(50)
    bridge.start()
    traffic.go_on(50)
    traffic.finish()

    def agrees():
        try:
            check_all(redis, users)
            return True
        except AssertionError:
            return False

    bridge.settle(servers[0])
    wait_until(agrees, "what was read is in the keys")
    assert "`read_events = 1` on all servers spares that" in bridge.log()


def test_a_script_that_comes_late_changes_nothing(make_servers, start_bridge, redis):
    """What was sent and not answered may be done later, and a bridge that slept may send what another has gone past: everything that was ever
    sent to a user's keys is sent again, newest first."""
    if redis.is_cluster:
        return  # who listens hears of one node alone
    servers = make_servers()
    users = community(servers)
    bridge = start_bridge(servers[0], "--scheme", "both")
    bridge.settle(servers[0])
    with redis.listen() as heard:
        traffic = Traffic(servers, users, 4)
        traffic.start()
        traffic.go_on(200)
        traffic.finish()
        bridge.settle(servers[0])
    bridge.stop()
    before = redis.dump()
    late = [words for words in heard if words[0].upper() == "EVALSHA" and words[3].startswith("tidings:bridge:{")]
    assert len(late) > 200
    for words in reversed(late):
        redis.call(*words)
    assert redis.dump() == before
    check(Keys(redis), users)


def test_what_comes_while_keys_are_filled_is_counted_once(make_servers, start_bridge, redis):
    """A user who is filled has posts whose events come later."""
    servers = make_servers()
    users = community(servers)
    stopping = threading.Event()

    def write(author):
        while not stopping.is_set():
            author.publish()

    writers = [threading.Thread(target=write, args=[servers[i % 2].user(users[i].id)]) for i in range(4)]
    for writer in writers:
        writer.start()
    bridge = start_bridge(servers[0])
    wait_until(lambda: bridge.metrics().get("filling") == 0, "all are filled")
    stopping.set()
    for writer in writers:
        writer.join()
    bridge.settle(servers[0])
    check(Keys(redis), users)
