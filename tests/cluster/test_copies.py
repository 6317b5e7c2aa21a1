"""Keys in Redis that others read, as operators and others see them: their form, what they take, the status, and the commands. What
becomes of them whatever happens: test_copier.c."""
import json
import os
import struct
import subprocess

import database
import pytest
from support.metrics import scrape
from support.server import tidings, wait_until

HOST, PORT = os.environ.get("TIDINGS_TEST_REDIS", "none:0").split(",")[0].rsplit(":", 1)
COUNTS = ("following", "followers", "posts", "liked_posts", "faved_posts", "likes_received", "favs_received")


def redis(*words, raw=False):
    """What a client of somebody else gets."""
    done = subprocess.run(["redis-cli", "-c", "-h", HOST, "-p", PORT, *map(str, words)], capture_output=True, check=True)
    return done.stdout[:-1] if raw else done.stdout.decode().strip()


@pytest.fixture
def servers(make_servers):
    for node in os.environ["TIDINGS_TEST_REDIS"].split(","):
        subprocess.run(["redis-cli", "-h", HOST, "-p", node.rsplit(":", 1)[1], "FLUSHALL"], capture_output=True)  # replicas refuse
    return make_servers(2, settings={"redis": os.environ["TIDINGS_TEST_REDIS"], "follow_burst": 100_000})


def cluster_of(server):
    return server.admin().get("/admin/status")["cluster"]


def command(server, *words):
    return tidings("cluster", *words, "--mysql", database.url_of(server))


def settle(server):
    behind = "SELECT COUNT(*) FROM outbox_event WHERE position > (SELECT position FROM relay WHERE id=2)"
    wait_until(lambda: database.run(behind, database.name_of(server)) == ["0"], "all events were gone through")


def counts_of(user_id):
    value = redis("GET", f"ucnt:{user_id}", raw=True)
    assert len(value) == 36
    return dict(zip(COUNTS, struct.unpack(">7I", value[:28])))


def fill(client, user_id):
    client.get(f"/relation/counter?user_id={user_id}")
    wait_until(lambda: redis("EXISTS", f"ucnt:{user_id}") == "1", "it is filled")


def test_what_others_read_is_what_the_api_says(servers):
    first, second = servers
    ann, bob = first.user(), second.user()
    ann.follow(bob.id)
    post = bob.publish()["id"]
    ann.react(f"/posts/{post}/like")
    for user in (ann, bob):
        fill(first.user(), user.id)
    settle(first)
    for user in (ann, bob):
        said = ann.get(f"/relation/counter?user_id={user.id}")
        assert counts_of(user.id) == {name: said[name] for name in COUNTS}
    ann.get(f"/relation/followers?user_id={bob.id}")
    wait_until(lambda: redis("ZRANGE", f"uf:fans:{bob.id}", 0, -1) == str(ann.id), "the list is filled")
    assert 3600 * 0.99 <= int(redis("TTL", f"uf:fans:{bob.id}")) <= 6 * 3600


def memory(*keys):
    return sum(int(redis("MEMORY", "USAGE", key, "SAMPLES", 0) or 0) for key in keys)


def test_an_active_user_takes_three_kilobytes_without_lists(servers):
    first, _ = servers
    ann, name = first.user(), database.name_of(first)
    for author in range(10_000, 10_200):
        ann.follow(author)
    wait_until(lambda: cluster_of(first)["redis"]["remembers"], "they remember")
    epoch = database.run("SELECT epoch FROM memory_epoch", name)[0]
    version = f"tidings:{name}:{epoch}:{{{ann.id}}}"
    wait_until(lambda: ann.get("/inbox/badge") and redis("EXISTS", version) == "1", "the version is there")
    fill(ann, ann.id)
    ann.get(f"/relation/following?user_id={ann.id}")
    wait_until(lambda: redis("ZCARD", f"uf:flws:{ann.id}") == "200", "the list is filled")
    ann.get("/inbox/badge")
    without = memory(version, f"ucnt:{ann.id}")
    lists = memory(f"uf:flws:{ann.id}")
    print(f"version {memory(version)}, ucnt {memory(f'ucnt:{ann.id}')}, uf:flws of 200 {lists} bytes")
    assert 0 < without <= 3 * 1024 and 0 < lists <= 40 * 1024


def test_status_metrics_and_the_command_tell_of_them(servers):
    first, second = servers
    first.user().publish()
    settle(first)
    for server in (first, second):
        wait_until(lambda one=server: scrape(one).get("tidings_cluster_copies_keepers") == 1, "it is known who keeps them")
    fill(first.user(), 77)
    assert cluster_of(first)["redis"]["filled"] + cluster_of(second)["redis"]["filled"] >= 1
    status = json.loads(command(first, "status", "--json").stdout)
    assert status["copies"]["kept_by"] in (0, 1) and status["copies"]["trouble"] == ""
    assert status["copies"].keys() == cluster_of(first)["copies"].keys()
    assert "copies     kept up to " in command(first, "status").stdout


def test_rebuild_makes_them_anew_and_leaves_others_alone(servers):
    first, _ = servers
    ann = first.user()
    ann.publish()
    fill(ann, ann.id)
    settle(first)
    redis("SET", f"ucnt:{ann.id}", "x" * 36)
    redis("SET", "somebody:1", "theirs")
    done = command(first, "rebuild")
    assert done.returncode == 0 and "of ours removed" in done.stdout, done.stderr
    assert counts_of(ann.id)["posts"] == 1
    assert redis("GET", "somebody:1") == "theirs"


def test_rebuild_without_a_server_is_left_to_the_next(servers):
    first, second = servers
    fill(first.user(), 78)
    redis("SET", "ucnt:78", "x" * 36)
    second.stop()
    first.stop()
    done = command(first, "rebuild")
    assert done.returncode == 1 and "no server with --redis runs" in done.stderr
    first.start()
    wait_until(lambda: database.run("SELECT wanted = done FROM rebuild", database.name_of(first)) == ["1"], "it is done")
    assert sum(counts_of(78).values()) == 0
    second.start()


def test_replay_renews_by_events_again(servers):
    first, _ = servers
    ann = first.user()
    ann.publish()
    fill(ann, ann.id)
    settle(first)
    redis("SET", f"ucnt:{ann.id}", b"\1" * 4 + b"x")  # no position in it: older than any
    done = command(first, "replay", "copies", "--since", "1")
    assert done.returncode == 0 and "Keys are renewed again from event" in done.stdout
    wait_until(lambda: len(redis("GET", f"ucnt:{ann.id}", raw=True)) == 36, "it is renewed")
    assert counts_of(ann.id)["posts"] == 1
    assert "No keys were renewed" in command(first, "replay", "copies", "--since", "2100-01-01T00:00:00Z").stdout
