"""Of several servers one calls webhooks: in order, and once where nothing fails."""
import os
import signal

import pytest
from conftest import replicas, writer_of
from support.receiver import Stall, answer
from support.server import wait_until
from support.webhooks import QUICK, Author, look, make_receiver, put  # noqa: F401 (fixtures)

LEASE_S = 3


@pytest.fixture
def told(make_servers, make_receiver):  # noqa: F811
    """Three servers and a webhook: (servers, who makes changes, receiver)."""
    def make(**how):
        receiver = make_receiver(**how)
        servers = make_servers(3, settings={**QUICK, "webhook_allow": receiver.place})
        writer = writer_of(servers)
        put(writer.admin(), "gateway", receiver.url())
        return servers, writer, receiver
    return make


def write(author, server, n):
    """The author's scenes, sent to this server."""
    author.actor = server.user(author.actor.id)
    return author.go_on(n)


def leave(server, how=None):
    server.close_actors()
    server.actors.clear()
    how(server) if how else server.stop()


def times(receiver):
    """How often each scene was told."""
    seen = receiver.scenes()
    return [seen.count(scene) for scene in dict.fromkeys(seen)]


def test_one_of_three_servers_calls_and_each_event_once(told):
    servers, writer, receiver = told()
    author = Author(writer)
    receiver.wait_for(author.go_on(20))
    replicas.wait_for_all(servers)
    # A second round: whoever else would call has had every event by now.
    receiver.wait_for(author.go_on(20))
    wait_until(lambda: look(writer.admin())["delivered"] == 40, "it is noted")
    receiver.check(author.scenes)
    assert times(receiver) == [1] * 40
    for one in servers:
        assert look(one.admin())["position"] == look(writer.admin())["position"]


def test_a_writer_that_ends_hands_its_webhooks_over(told):
    servers, writer, receiver = told()
    author = Author(writer)
    receiver.wait_for(author.go_on(10))
    wait_until(lambda: look(writer.admin())["delivered"] == 10, "it is noted")
    leave(writer)
    others = [one for one in servers if one is not writer]
    following = writer_of(others)
    receiver.wait_for(write(author, following, 10))
    receiver.check(author.scenes)
    assert times(receiver) == [1] * 20
    writer.start()


def test_after_a_writer_was_killed_another_goes_on_where_it_was(told):
    servers, writer, receiver = told()
    author = Author(writer)
    receiver.wait_for(author.go_on(10))
    receiver.how = Stall()
    author.go_on(5)
    wait_until(lambda: len(receiver.calls) == 11, "the next one is called")
    leave(writer, lambda server: server.kill())
    stalled, receiver.how = receiver.how, answer(204)
    others = [one for one in servers if one is not writer]
    receiver.wait_for(author.scenes, patience=10 * LEASE_S)
    following = writer_of(others)
    receiver.wait_for(write(author, following, 5))
    receiver.check(author.scenes)
    assert times(receiver) == [1] * 20, "the answer to the one under way came to nobody"
    stalled.release()
    writer.start()


def test_a_writer_that_stood_still_calls_nobody_when_it_comes_back(told):
    servers, writer, receiver = told()
    author = Author(writer)
    receiver.wait_for(author.go_on(5))
    wait_until(lambda: look(writer.admin())["delivered"] == 5, "it is noted")
    receiver.how = answer(500)
    author.go_on(1)  # it waits for the next attempt, now and when it comes back
    wait_until(lambda: look(writer.admin())["failed"] > 0, "it fails")
    os.kill(writer.process.pid, signal.SIGSTOP)
    try:
        others = [one for one in servers if one is not writer]
        receiver.how = answer(204)
        following = writer_of(others, patience=10 * LEASE_S)
        receiver.wait_for(write(author, following, 5))
        wait_until(lambda: look(following.admin())["delivered"] == 11, "it is noted")
        calls = len(receiver.calls)
    finally:
        os.kill(writer.process.pid, signal.SIGCONT)
    replicas.wait_for_role(writer, "follower")
    replicas.wait_for_all(servers)
    receiver.wait_for(write(author, following, 3))
    receiver.check(author.scenes)
    assert times(receiver) == [1] * 14
    assert len(receiver.calls) == calls + 3
