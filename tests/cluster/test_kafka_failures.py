"""When servers and brokers fail, under load: Kafka is told everything, in order, and nobody who writes or asks notices."""
import signal
import time

import pytest
import topic
from support.server import wait_until


# ---- Servers fail --------------------------------------------------------------------------------------------------


def test_a_relay_that_is_killed_is_followed_by_another_within_ten_seconds(make_servers):
    servers = make_servers(2, settings=topic.SETTINGS)
    relay, (other,) = topic.owner(servers)
    with topic.Load(other) as load:
        load.goes_on(5)
        relay.kill()
        began, before = time.monotonic(), topic.told(other)
        wait_until(lambda: topic.told(other) > before, "it goes on")
        assert time.monotonic() - began < 10
        load.goes_on(5)
    topic.catch_up(other)
    topic.check(other)


def test_a_relay_that_slept_is_fenced(make_servers):
    servers = make_servers(2, settings=topic.SETTINGS)
    relay, (other,) = topic.owner(servers)
    slot = topic.holder(other)
    with topic.Load(other) as load:
        load.goes_on(5)
        relay.process.send_signal(signal.SIGSTOP)
        before = len(topic.events_of(other))
        wait_until(lambda: topic.holder(other) not in (None, slot), "another has the lease")
        load.goes_on(5)
        slept = len(topic.events_of(other)) - before
        relay.process.send_signal(signal.SIGCONT)
        load.goes_on(20)
        assert topic.holder(other) != slot
    topic.catch_up(other)
    _, repeated = topic.check(other)
    assert repeated < slept / 2, "it told what it had under way when it fell asleep, and nothing else"


# ---- The broker fails ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("failing, mended", [("kill", "start"), ("pause", "resume"), ("stop", "start")])
def test_a_broker_that_is_away_is_told_when_it_is_back(make_servers, failing, mended):
    (server,) = make_servers(1, settings=topic.SETTINGS)
    with topic.Load(server) as load:
        load.goes_on(5)
        wait_until(lambda: topic.kafka_of(server) and topic.told(server), "it is told")
        topic.control(failing)
        try:
            began, done = time.monotonic(), load.done
            load.goes_on(10)
            wait_until(lambda: topic.kafka_of(server)["oldest_ms_ago"] > 2000, "the lag is seen")
            assert load.done - done > (time.monotonic() - began), "writes are as quick as before"
        finally:
            topic.control(mended)
        load.goes_on(5)
    topic.catch_up(server, patience=90)
    topic.check(server)
    wait_until(lambda: topic.kafka_of(server)["waiting"] == 0, "nothing waits")
    wait_until(lambda: not topic.kafka_of(server)["trouble"], "and nothing is wrong any more")


def test_a_broker_that_is_away_from_the_beginning(make_servers):
    topic.control("stop")
    try:
        (server,) = make_servers(1, settings=topic.SETTINGS)
        topic.some_events(server)
        kafka = wait_until(lambda: topic.kafka_of(server), "it is wanted")
        wait_until(lambda: topic.kafka_of(server)["trouble"], "it says why")
        assert kafka["position"] == 0
        began = time.monotonic()
        server.user().publish()
        assert time.monotonic() - began < 5
    finally:
        topic.control("start")
    topic.catch_up(server)
    assert topic.check(server)[1] == 0
