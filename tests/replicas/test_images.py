"""Joining a log in MySQL by images, the image that MySQL keeps, and trimming."""
import os
import shutil
import signal
import subprocess
import threading

import pytest

from conftest import replica, sql, wait_for_all, wait_for_rejoin, wait_for_role
from support.server import tidings, wait_until

# An image after each MiB of log, and no log behind it that is kept for its age.
SMALL = {"snapshot_log_mb": 1, "log_mysql_hours": 0, "log_segment_mb": 1}
MANY = 24  # posts of 64 KB: more than a MiB


def publish_much(server, user=1):
    ann = server.user(user)
    for _ in range(MANY):
        ann.publish(body="x" * 65000)


def stop(server):
    server.close_actors()
    server.actors.clear()
    server.stop()


def image_of(server):
    return replica(server)["log"]["image"]


def wait_for_image(server, beyond=0):
    return wait_until(lambda: (image_of(server) or {"position": -1})["position"] > beyond and image_of(server), "an image in MySQL")


def wait_for_trim(server):
    wait_until(lambda: int(sql(server, "SELECT COALESCE(MIN(position),999999999) FROM tidings_log")) > 1, "a log that is trimmed")


def exported(server):
    """All facts of a server that is stopped."""
    target = server.data + ".facts"
    done = tidings("export", "--data", server.data, target)
    assert done.returncode == 0, done.stderr
    with open(target, "rb") as file:
        facts = file.read()
    os.unlink(target)
    return facts


@pytest.fixture
def make_second(make_server):
    """Another server of the same log, with an empty directory, not started."""
    def make(first, settings=None, **how):
        return make_server(arguments=list(first.arguments), settings={**first.settings, **(settings or {})}, **how)

    return make


@pytest.fixture
def with_history(make_server, make_servers):
    """The first server of a log that begins with the history of its directory."""
    def make(settings=None):
        lone = make_server(settings=settings).start()
        lone.user(1).publish(title="alone")
        stop(lone)
        first, = make_servers(1, data=lone.data, settings=settings)
        wait_for_role(first, "writer")
        return first

    return make


def test_a_log_that_began_with_a_history_is_joined_at_once_while_changes_go_on(with_history, make_second):
    first = with_history()
    going, published = threading.Event(), []

    def publish():
        ann = first.user(7)
        while not going.is_set():
            published.append(ann.publish()["id"])

    thread = threading.Thread(target=publish)
    thread.start()
    second = make_second(first).start()
    wait_until(lambda: len(published) > 20, "some posts")
    going.set()
    thread.join()
    wait_for_all([first, second])
    assert [row["title"] for row in second.user(1).rows("/users/1/posts")] == ["alone"]
    assert {row["post_id"] for row in second.user(1).rows("/users/7/posts", limit=100)} >= set(published[:90])
    stop(first)
    stop(second)
    assert exported(first) == exported(second)
    second.verify()


def test_mysql_alone_rebuilds_everything(with_history, make_second):
    first = with_history()
    first.user(2).publish(title="before the image, or behind it")
    wait_for_image(first)
    first.user(3).publish(title="behind the image")
    stop(first)
    facts = exported(first)
    shutil.rmtree(first.data)
    second = make_second(first).start()
    wait_for_role(second, "writer")
    second.user(1).publish()
    stop(second)
    second.verify()
    third = make_second(first).start()
    wait_for_role(third, "writer")
    assert [row["title"] for row in third.user(1).rows("/users/3/posts")] == ["behind the image"]
    stop(third)
    assert exported(third) == exported(second) != facts


@pytest.mark.parametrize("damage, words", [
    ("UPDATE tidings_image SET bytes=CONCAT(LEFT(bytes,5000),'x',SUBSTRING(bytes,5002)) WHERE piece=0", "damaged"),
    ("UPDATE tidings_image SET bytes=LEFT(bytes,5000) WHERE piece=0", "damaged"),
    ("UPDATE tidings_image SET bytes=CONCAT(bytes,'x') WHERE piece=0", "longer than it says"),
    ("UPDATE tidings_image_head SET position=position-1", "not what it is called"),
])
def test_an_image_in_mysql_that_is_damaged_is_refused(with_history, make_second, damage, words):
    first = with_history()
    wait_for_image(first)
    stop(first)
    sql(first, damage)
    second = make_second(first)
    done = tidings("serve", "--data", second.data, "--listen", "127.0.0.1:0", *second.arguments, TIDINGS_JWT_SECRET=first.secret)
    assert done.returncode != 0 and words in done.stderr, done.stderr
    assert set(os.listdir(second.data)) <= {"lock"}
    first.start()  # and another source is taken
    second.start()
    wait_for_all([first, second])


def test_the_log_is_trimmed_and_one_that_was_stopped_meanwhile_joins_anew(make_servers):
    first, second = make_servers(2, settings=SMALL)
    wait_for_role(first, "writer")
    first.user(5).publish(title="early")
    wait_for_all([first, second])
    stop(second)
    publish_much(first)
    wait_for_image(first)
    wait_for_trim(first)
    wait_until(lambda: replica(first)["log"]["records"] < MANY, "few records in the log")
    second.start()
    wait_for_all([first, second])
    assert [row["title"] for row in second.user(1).rows("/users/5/posts")] == ["early"]
    aside = [name for name in os.listdir(second.data) if name.startswith("outdated-")]
    assert len(aside) == 1 and "state" in os.listdir(os.path.join(second.data, aside[0]))
    assert not {"rejoin", "joining", "joined"} & set(os.listdir(second.data))
    stop(first)
    stop(second)
    assert exported(first) == exported(second)


def test_one_that_stands_still_past_the_trim_joins_anew_by_itself(make_servers):
    first, second = make_servers(2, settings=SMALL)
    wait_for_role(first, "writer")
    wait_for_all([first, second])
    second.close_actors()
    second.actors.clear()
    os.kill(second.process.pid, signal.SIGSTOP)
    try:
        publish_much(first)
        wait_for_trim(first)
    finally:
        os.kill(second.process.pid, signal.SIGCONT)
    wait_for_rejoin(second)
    wait_for_all([first, second])


def test_data_that_are_too_large_for_mysql_are_trimmed_behind_two_replicas(make_servers):
    first, second = make_servers(2, settings={**SMALL, "image_mysql_mb": 0})
    wait_for_role(first, "writer")
    publish_much(first)
    wait_until(lambda: "image_mysql_mb" in replica(first)["log"]["warning"], "a warning")
    wait_for_trim(first)
    assert sql(first, "SELECT COUNT(*) FROM tidings_image_head") == "0"
    held = sorted(map(int, sql(first, "SELECT image_position FROM tidings_replica").split()))
    assert int(sql(first, "SELECT COALESCE(MIN(position),0) FROM tidings_log")) <= held[0] + 1
    wait_for_all([first, second])


def test_a_new_writer_goes_on_with_images(make_servers):
    first, second = make_servers(2, settings=SMALL)
    wait_for_role(first, "writer")
    publish_much(first)
    before = wait_for_image(first)["position"]
    stop(first)
    wait_for_role(second, "writer")
    publish_much(second)
    publish_much(second)
    wait_for_image(second, beyond=before)
    wait_until(lambda: sql(second, "SELECT COUNT(*) FROM tidings_image_head") == "1", "one image")


@pytest.mark.skipif(os.geteuid() != 0, reason="needs a small file system of its own")
def test_a_disk_that_is_full_while_it_joins_is_told_and_joining_goes_on_later(with_history, make_second, tmp_path):
    first = with_history()
    publish_much(first)
    place = str(tmp_path / "small")
    os.mkdir(place)
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=700k", "tmpfs", place], check=False).returncode:
        pytest.skip("mounting is not allowed")
    try:
        second = make_second(first, data=os.path.join(place, "data"))
        done = tidings("serve", "--data", second.data, "--listen", "127.0.0.1:0", *second.arguments, TIDINGS_JWT_SECRET=first.secret)
        assert done.returncode != 0 and "No space left" in done.stderr, done.stderr
        assert not {"joining", "joined", "state"} & set(os.listdir(second.data))
        subprocess.run(["mount", "-o", "remount,size=1g", place], check=True)
        second.start()
        wait_for_all([first, second])
        stop(second)
    finally:
        subprocess.run(["umount", "--lazy", place], check=True)
