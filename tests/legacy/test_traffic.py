"""The old application's keys beside a community that goes on, whatever is killed or emptied: afterwards each is what a recount from the
API says, for users of the share, and there is none of anybody else's."""
import threading
import time

import pytest
from bridging import PHASE_DONE, Keys, SecondKeys, check, gate, state_of
from community import SHARE, Traffic, check_all, community
from support.server import wait_until


def test_traffic_while_the_bridge_is_killed_and_the_redis_emptied(make_lone, start_bridge, redis):
    server = make_lone()
    users = community([server])
    bridge = start_bridge(server, share=f"{SHARE}%")
    traffic = Traffic([server], users, 1)
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
    bridge.settle()
    check_all(redis, users)


def test_both_schemes_are_kept(make_lone, start_bridge, redis):
    server = make_lone()
    users = community([server])
    bridge = start_bridge(server, "--old-scheme", "both", share="100%")
    traffic = Traffic([server], users, 2)
    traffic.start()
    traffic.go_on(200)
    bridge.kill()
    traffic.go_on(50)
    bridge.start()
    traffic.finish()
    bridge.settle()
    check(Keys(redis), users)
    SecondKeys(redis).check(users)


def test_reading_without_events_is_kept_up_too(make_lone, start_bridge, redis):
    server = make_lone(read_events=0)
    users = community([server])
    bridge = start_bridge(server, share=f"{SHARE}%")
    bridge.settle()
    traffic = Traffic([server], users, 3)
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

    bridge.settle()
    wait_until(agrees, "what was read is in the keys")
    assert "read_events = 1 spares that" in bridge.log()


def test_one_reading_without_an_event_is_heard(make_lone, start_bridge, redis):
    """Nothing else happens that would fill the reader's keys."""
    server = make_lone(read_events=0)
    author, reader = server.users(2)
    reader.follow(author)
    posts = [author.publish()["id"] for _ in range(3)]
    bridge, keys = start_bridge(server), Keys(redis)
    bridge.settle()
    for n, post in enumerate(posts, 1):
        reader.open(post)
        wait_until(lambda n=n: len(keys.read(reader.id)) == n, "the reading is in the keys")
    reader.post("/inbox/mark-unread", {"post_ids": posts[:1]})
    wait_until(lambda: keys.total(reader.id) == 1, "and so is what is unread again")
    reader.mark_read(up_to=reader.get("/inbox/unread")["as_of"])
    wait_until(lambda: keys.total(reader.id) == 0, "and a mark of all")
    check(keys, [reader])


def test_what_was_read_while_nobody_listened_is_filled_at_the_start(make_lone, start_bridge, redis):
    """Though not one reading is heard, before or after."""
    server = make_lone(read_events=0)
    author, reader = server.users(2)
    reader.follow(author)
    post = author.publish()["id"]
    bridge = start_bridge(server)
    bridge.settle()
    bridge.stop()
    reader.open(post)
    bridge.start()
    bridge.settle()
    check(Keys(redis), [reader])


@pytest.mark.parametrize("read_events", [0, 1])
def test_a_script_that_comes_late_changes_nothing(make_lone, start_bridge, redis, read_events):
    """What was sent and not answered may be done later, and a bridge that slept may send what another has gone past: everything that was ever
    sent to a user's keys is sent again, newest first."""
    if redis.is_cluster:
        return  # who listens hears of one node alone
    server = make_lone(read_events=read_events)
    users = community([server])
    bridge = start_bridge(server, "--old-scheme", "both")
    bridge.settle()
    with redis.listen() as heard:
        traffic = Traffic([server], users, 4)
        traffic.start()
        traffic.go_on(200)
        traffic.finish()
        bridge.settle()
    bridge.stop()
    before = redis.dump()
    late = [words for words in heard if words[0].upper() == "EVALSHA" and words[3].startswith("tidings:bridge:{")]
    assert len(late) > 200
    for words in reversed(late):
        redis.call(*words)
    assert redis.dump() == before
    check(Keys(redis), users)


def test_an_older_fill_at_the_same_position_changes_nothing(make_lone, start_bridge, redis):
    """Its answer was lost, or its server lost its turn; what was read since then left no event."""
    if redis.is_cluster:
        return  # who listens hears of one node alone
    server = make_lone(read_events=0)
    author, reader = server.users(2)
    reader.follow(author)
    post = author.publish()["id"]
    bridge = start_bridge(server)
    bridge.settle()
    with redis.listen() as heard:
        reader.open(post)
        wait_until(lambda: Keys(redis).read(reader.id), "the reading is in the keys")
    sent = [words for words in heard if words[0].upper() == "EVALSHA" and words[3] == f"tidings:bridge:{{{reader.id}}}"][-1]
    bridge.stop()
    before, number = redis.dump(), 3 + int(sent[2]) + 2
    older = [*sent[:number], str(int(sent[number]) - 1), *sent[number + 1:-4]]  # and without the post
    newer = [*sent[:number], str(int(sent[number]) + 1), *sent[number + 1:-4]]
    assert redis.call(*older) == 0 and redis.dump() == before
    assert redis.call(*newer) == 1 and redis.dump() != before


def test_what_comes_while_keys_are_filled_is_counted_once(make_lone, start_bridge, redis):
    """A user who is filled has posts whose events come later."""
    server = make_lone()
    users = community([server])
    stopping = threading.Event()

    def write(author):
        while not stopping.is_set():
            with gate:
                author.publish()
            time.sleep(0.0005)

    writers = [threading.Thread(target=write, args=[server.user(users[i].id)]) for i in range(4)]
    for writer in writers:
        writer.start()
    bridge = start_bridge(server)
    wait_until(lambda: state_of(redis).get("phase") == PHASE_DONE, "all are filled")
    stopping.set()
    for writer in writers:
        writer.join()
    bridge.settle()
    check(Keys(redis), users)
