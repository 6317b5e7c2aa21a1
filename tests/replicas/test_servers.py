"""Several servers on a log in MySQL."""
import os
import signal
import threading
import time

from conftest import leave, replica, wait_for_all, wait_for_role, writer_of
from support.server import make_database, tidings, wait_until

LEASE_S = 3


def test_a_change_is_in_the_next_exact_read_of_every_server(make_servers):
    servers = make_servers(3)
    writer = writer_of(servers)
    ann, bob = writer.users(2)
    bob.follow(ann)
    readers = [one.user(bob.id) for one in servers]
    for n in range(1, 40):
        ann.publish()
        assert [reader.badge() for reader in readers] == [n] * 3
    cursor = readers[0].send("GET", "/v1/inbox?limit=5").json["next_cursor"]
    pages = [reader.send("GET", f"/v1/inbox?limit=5&cursor={cursor}").json for reader in readers[1:]]
    assert pages[0]["items"] == pages[1]["items"] and len(pages[0]["items"]) == 5


def test_a_writer_that_ends_hands_over(make_servers):
    servers = make_servers(3)
    writer = writer_of(servers)
    writer.user(1).publish()
    others = [one for one in servers if one is not writer]
    writer.close_actors()
    writer.stop()
    began = time.monotonic()
    next_one = writer_of(others)
    assert time.monotonic() - began < LEASE_S  # nobody waited for a lease
    next_one.user(1).publish()
    writer.start()
    wait_for_all(servers)


def test_a_writer_that_is_killed_costs_its_lease_and_nothing_acknowledged(make_servers):
    servers = make_servers(3)
    writer = writer_of(servers)
    ann = writer.user(7)
    acknowledged = []

    def publish():
        try:
            while True:
                acknowledged.append(ann.publish()["id"])
        except (AssertionError, OSError):
            return

    thread = threading.Thread(target=publish)
    thread.start()
    wait_until(lambda: len(acknowledged) > 20, "some posts")
    writer.process.kill()
    thread.join()
    writer.process.wait()
    others = [one for one in servers if one is not writer]
    next_one = writer_of(others, patience=4 * LEASE_S)
    listed = {row["post_id"] for row in next_one.user(7).rows("/users/7/posts", limit=100)}
    assert set(acknowledged) <= listed
    writer.close_actors()
    writer.actors.clear()
    writer.start()  # what of its own log was never decided is dropped
    next_one.user(7).publish()
    wait_for_all(servers)
    for one in servers:
        one.close_actors()
        one.actors.clear()
        one.stop()
        checked = tidings("verify", "--data", one.data)
        assert checked.returncode == 0, checked.stdout
        one.start()


def test_a_writer_that_stands_still_is_replaced_and_follows(make_servers):
    servers = make_servers(2)
    writer = writer_of(servers)
    writer.user(1).publish()
    other = next(one for one in servers if one is not writer)
    os.kill(writer.process.pid, signal.SIGSTOP)
    try:
        wait_for_role(other, "writer", patience=4 * LEASE_S)
        other.user(1).publish()
    finally:
        os.kill(writer.process.pid, signal.SIGCONT)
    wait_for_role(writer, "follower")
    wait_for_all(servers)
    assert writer.user(1).send("GET", "/v1/users/1/posts").json["items"] == \
        other.user(1).send("GET", "/v1/users/1/posts").json["items"]


def test_a_directory_becomes_a_cluster_and_a_lone_server_again(make_server, make_servers):
    lone = make_server().start()
    lone.user(1).publish(title="alone")
    lone.close_actors()
    lone.actors.clear()
    lone.stop()
    first, = make_servers(1, data=lone.data)
    wait_for_role(first, "writer")
    first.user(1).publish(title="together")
    first.close_actors()
    first.actors.clear()
    first.stop()
    lone.start()
    assert [row["title"] for row in lone.user(1).rows("/users/1/posts")] == ["together", "alone"]
    lone.user(1).publish()


def test_a_directory_of_another_community_is_refused(make_server, make_servers):
    first, = make_servers(1)
    wait_for_role(first, "writer")
    stranger = make_server().start()
    stranger.user(1).publish()
    stranger.close_actors()
    stranger.actors.clear()
    stranger.stop()
    url = first.arguments[first.arguments.index("--mysql") + 1]
    done = tidings("serve", "--data", stranger.data, "--mysql", url, "--listen", "127.0.0.1:0", TIDINGS_JWT_SECRET=first.secret)
    assert done.returncode == 2, done.stderr
    assert "another cluster" in done.stderr, done.stderr


def test_all_go_on_on_an_empty_database_when_mysql_is_lost(make_servers):
    """As docs/operations/replicas.md says: the one with the highest position first. Their directories have one history."""
    servers = make_servers(3)
    writer_of(servers).user(7).publish()
    wait_for_all(servers)
    before = replica(servers[0])["position"]
    for one in servers:
        leave(one)
        one.stop()
    url = make_database(f"anew_{os.getpid()}")
    for one in servers:
        one.arguments[one.arguments.index("--mysql") + 1] = url
        one.start()
    writer_of(servers).user(7).publish()
    wait_for_all(servers)
    assert [len(one.user(7).rows("/users/7/posts")) for one in servers] == [2] * 3
    assert replica(servers[0])["position"] > before
