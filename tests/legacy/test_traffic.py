"""The old application's keys beside a community that goes on, whatever is killed or emptied: afterwards each is what a recount from the
API says, for users of the share, and there is none of anybody else's."""
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
