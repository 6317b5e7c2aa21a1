"""MySQL fails over, is switched over, or goes back in time: what was acknowledged stays, or its loss is reported."""
import hashlib
import json
import os
import shutil
import signal

import pytest

from conftest import leave, replica, wait_for_all, wait_for_rejoin, wait_for_role, writer_of
from mariadbs import Pair, make_template
from support.server import tidings, wait_until

LEASE_S = 3


@pytest.fixture(scope="module")
def template():
    directory = make_template()
    yield directory
    shutil.rmtree(directory, ignore_errors=True)


@pytest.fixture
def make_pair(template):
    made = []

    def make(**how):
        made.append(Pair(template, **how))
        return made[-1]

    yield make
    for one in made:
        one.close()


@pytest.fixture
def start_on(make_server):
    """So many servers on the log at the pair's address."""
    def start(pair, count, user="plain"):
        servers = [make_server(arguments=["--mysql", pair.url(user), "--freshness", "exact"]) for _ in range(count)]
        return [one.start() for one in servers]

    return start


def publishes(servers, posts):
    """Whether somebody takes a post of user 7."""
    for one in servers:
        user = one.user(7)
        answer = user.send("POST", "/v1/posts", {"kind": "note", "title": "t"})
        user.close()
        one.actors.remove(user)
        if answer.status == 201:
            posts.append(answer.json["id"])
            return True
    return False


def metric(server, name):
    admin = server.admin()
    lines = admin.send("GET", "/metrics").body.decode().splitlines()
    admin.close()
    server.actors.remove(admin)
    return next(float(line.split()[1]) for line in lines if line.startswith(f"tidings_{name} "))


def check_same(servers, posts):
    """All have these posts of user 7, and the same data."""
    wait_for_all(servers)
    for one in servers:
        listed = {row["post_id"] for row in one.user(7).rows("/users/7/posts", limit=100)}
        assert set(posts) <= listed
    exports = set()
    for one in servers:
        done = tidings("export", "--data", one.data, "-")
        assert done.returncode == 0, done.stderr
        exports.add(hashlib.sha256(done.stdout.encode()).hexdigest())
    assert len(exports) == 1


def test_commits_that_a_failover_lost_are_appended_again(make_pair, start_on):
    pair = make_pair()
    servers = start_on(pair, 3)
    writer = writer_of(servers)
    ann = writer.user(7)
    posts = [ann.publish()["id"]]
    pair.wait_for_spare()
    pair.spare.run("STOP SLAVE IO_THREAD")
    posts += [ann.publish()["id"] for _ in range(20)]
    wait_for_all(servers)
    end = replica(writer)["position"]
    pair.primary.kill()
    pair.promote()
    assert pair.primary.position() < end  # or this tests nothing
    wait_until(lambda: publishes(servers, posts), "changes go on", 8 * LEASE_S)
    check_same(servers, posts)
    assert pair.primary.position() > end
    assert sum(metric(one, "replica_reappended_total") for one in servers) == 20
    assert {replica(one)["era"] for one in servers} == {0}  # nothing was lost


def test_a_server_that_lacks_the_tail_takes_it_from_another(make_pair, start_on):
    pair = make_pair()
    servers = start_on(pair, 3)
    writer = writer_of(servers)
    ann = writer.user(7)
    posts = [ann.publish()["id"]]
    pair.wait_for_spare()
    late = next(one for one in servers if one is not writer)
    others = [one for one in servers if one is not late]
    leave(late)
    late.stop()
    pair.wait_for_spare()
    pair.spare.run("STOP SLAVE IO_THREAD")
    posts += [ann.publish()["id"] for _ in range(20)]
    wait_for_all(others)
    pair.primary.kill()
    pair.promote()
    fence = int(pair.primary.run("SELECT fence FROM tidings.tidings_writer"))
    for one in others:
        leave(one)
        os.kill(one.process.pid, signal.SIGSTOP)
    try:
        late.start()
        wait_until(lambda: int(pair.primary.run("SELECT fence FROM tidings.tidings_writer")) > fence, "the late one takes over")
    finally:
        for one in others:
            os.kill(one.process.pid, signal.SIGCONT)
    wait_for_role(late, "writer")
    posts.append(late.user(7).publish()["id"])
    check_same(servers, posts)
    assert replica(late)["era"] == 0


def test_what_nobody_has_is_reported_and_begins_an_era(make_pair, start_on):
    pair = make_pair()
    servers = start_on(pair, 2)
    writer = writer_of(servers)
    other = next(one for one in servers if one is not writer)
    ann = writer.user(7)
    kept = ann.publish()["id"]
    leave(other)
    other.stop()
    pair.wait_for_spare()
    pair.spare.run("STOP SLAVE IO_THREAD")
    lost = ann.publish(headers={"Idempotency-Key": "the lost one"})["id"]
    ann.publish()
    end = replica(writer)["position"]
    leave(writer)
    writer.kill()
    pair.primary.kill()
    pair.promote()
    common = pair.primary.position()
    other.start()
    wait_for_role(other, "writer")
    assert replica(other)["era"] == 1
    assert "does not answer: what it alone has" in other.log_text()
    posts = [other.user(7).publish()["id"] for _ in range(3)]

    writer.start()  # comes back with what was lost, puts it aside and joins anew
    wait_for_rejoin(writer)
    wait_for_all([other, writer])
    assert f"after position {common} that the log in MySQL does not have" in writer.log_text()
    assert f"dropped: position {common + 1} of " in writer.log_text()
    assert metric(writer, "replica_diverged") == 1
    assert "state" in os.listdir(os.path.join(writer.data, f"diverged-{end}"))
    with open(os.path.join(writer.data, f"diverged-{common}.log"), encoding="ascii") as file:
        dropped = [json.loads(line) for line in file]
    assert [row["position"] for row in dropped] == list(range(common + 1, end + 1))
    key = hashlib.sha256(b"/v1/posts\0the lost one").hexdigest()[:32]
    assert [row["operations"] for row in dropped if row["operations"]] == [[{"user_id": 7, "key": key}]]
    for server in (other, writer):
        listed = [row["post_id"] for row in server.user(7).rows("/users/7/posts")]
        assert kept in listed and lost not in listed and set(posts) <= set(listed)


@pytest.mark.parametrize("user, cut", [("plain", True), ("plain", False), ("root", False)])
def test_a_former_primary_that_is_read_only_is_left(make_pair, start_on, user, cut):
    pair = make_pair()
    servers = start_on(pair, 2, user)
    posts = [writer_of(servers).user(7).publish()["id"]]
    former = pair.primary
    former.run("SET GLOBAL read_only=1")
    pair.wait_for_spare()
    end = former.position()
    pair.promote(cut=cut)

    wait_until(lambda: publishes(servers, posts), "changes go on", 8 * LEASE_S)
    check_same(servers, posts)
    assert pair.primary.position() > end
    assert former.position() == end  # nobody wrote there


def test_a_database_that_went_back_in_time_is_completed(make_pair, start_on):
    pair = make_pair(count=1)
    servers = start_on(pair, 2)
    ann = writer_of(servers).user(7)
    posts = [ann.publish()["id"]]
    wait_for_all(servers)
    saved = os.fspath(pair.primary.directory) + ".saved"
    pair.primary.stop()
    pair.relay.cut()
    shutil.copytree(pair.primary.directory / "data", saved)
    try:
        pair.primary.start()
        wait_until(lambda: publishes(servers, posts), "changes go on")
        for _ in range(5):
            assert wait_until(lambda: publishes(servers, posts), "changes go on")
        wait_for_all(servers)
        end = pair.primary.position()
        pair.primary.stop()
        shutil.rmtree(pair.primary.directory / "data")
        shutil.copytree(saved, pair.primary.directory / "data")
    finally:
        shutil.rmtree(saved)
    pair.primary.start()
    assert pair.primary.position() < end
    wait_until(lambda: publishes(servers, posts), "changes go on", 8 * LEASE_S)
    check_same(servers, posts)
    assert pair.primary.position() > end
    assert sum(metric(one, "replica_reappended_total") for one in servers) >= 6
