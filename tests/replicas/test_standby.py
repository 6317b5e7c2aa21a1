"""serve --follow, and tidings promote."""
import os
import queue
import shutil
import socket
import threading
import time

import pytest

from conftest import leave, peer_port, replica, wait_for_all, wait_for_role
from support.server import tidings, wait_until
from support.receiver import Receiver


def promote(standby):
    return tidings("promote", f"tidings://127.0.0.1:{peer_port(standby)}", "--data", standby.data)


def test_a_standby_answers_reads_with_their_age_and_refuses_changes(make_standby):
    first, standby = make_standby()
    ann, bob = first.users(2)
    bob.follow(ann)
    ann.publish()
    wait_for_all([first, standby])
    there = standby.user(bob.id)
    assert there.badge() == 1
    answer = there.send("GET", "/v1/inbox/badge")
    assert int(answer.headers["tidings-age"]) >= 1
    there.refused(503, "standby", "POST", "/v1/posts", {"title": "t", "body": "b", "kind": "note"})
    said = replica(standby)
    assert said["role"] == "follower" and said["following"]["connected"] and said["following"]["behind"] == 0
    wait_until(lambda: [one["position"] for one in replica(first)["followers"]] == [said["position"]], "the first server has heard of it")


HELD_S = 2


class Late:
    """A port that leads to another one. What comes from there can be held back for so long."""

    def __init__(self, port):
        self.to, self.held_s, self.sockets = port, 0, []
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self):
        while True:
            try:
                client, _ = self.listener.accept()
                there = socket.create_connection(("127.0.0.1", self.to))
            except OSError:
                return
            self.sockets += [client, there]
            late = queue.Queue()
            for job in ((self.copy, client, there), (self.hold, there, late), (self.let_go, late, client)):
                threading.Thread(target=job[0], args=job[1:], daemon=True).start()

    def copy(self, source, target):
        try:
            while data := source.recv(1 << 16):
                target.sendall(data)
        except OSError:
            pass

    def hold(self, source, late):
        try:
            while data := source.recv(1 << 16):
                late.put((time.monotonic() + self.held_s, data))
        except OSError:
            pass

    def let_go(self, late, target):
        try:
            while True:
                when, data = late.get()
                time.sleep(max(0, when - time.monotonic()))
                target.sendall(data)
        except OSError:
            pass

    def close(self):
        self.listener.close()
        for one in self.sockets:
            one.close()


@pytest.fixture
def late_standby(make_server):
    """A server, one that follows it, and what is between them."""
    first = make_server(arguments=["--peer-listen", "127.0.0.1:0"]).start()
    late = Late(peer_port(first))
    standby = make_server(arguments=["--follow", f"tidings://127.0.0.1:{late.port}", "--peer-listen", "127.0.0.1:0"])
    shutil.copy(os.path.join(first.data, "peer.key"), standby.data)
    yield first, standby.start(), late
    late.close()


def badge_and_age(user):
    answer = user.send("GET", "/v1/inbox/badge")
    assert answer.status == 200, answer
    return answer.json["total"], int(answer.headers["tidings-age"])


def test_an_answer_is_as_old_as_it_says_when_the_first_servers_words_come_late(late_standby):
    first, standby, late = late_standby
    ann, bob = first.users(2)
    bob.follow(ann)
    wait_for_all([first, standby])
    there = standby.user(bob.id)
    late.held_s = HELD_S
    made, ages, end = [], [], time.monotonic() + 4 * HELD_S
    while time.monotonic() < end:
        if not made or time.monotonic() - made[-1] > 0.3:
            ann.publish()
            made.append(time.monotonic())  # at the latest, that is when it was acknowledged
        asked = time.monotonic()
        total, age = badge_and_age(there)
        assert total >= sum(acknowledged <= asked - age / 1000 for acknowledged in made), (total, age)
        if asked - made[0] > 2 * HELD_S:
            ages.append(age)
        time.sleep(0.01)
    assert min(ages) >= HELD_S * 1000
    assert max(ages) < 2 * HELD_S * 1000, "it does not ask while it waits for an answer"
    late.held_s = 0
    wait_until(lambda: badge_and_age(there)[1] < HELD_S * 1000, "the words are in time again")


def test_an_answer_is_hardly_old_while_somebody_reads_and_somebody_writes(make_standby):
    first, standby = make_standby()
    ann = first.user()
    wait_for_all([first, standby])
    there, ages, over = standby.user(ann.id), [], threading.Event()

    def write():
        while not over.is_set():
            ann.publish()

    writing = threading.Thread(target=write)
    for _ in range(2):
        for _ in range(50):
            ages.append(badge_and_age(there)[1])
            time.sleep(0.01)
        if not writing.is_alive() and not over.is_set():
            writing.start()
        assert sorted(ages)[len(ages) // 2] < 200, ages
        ages.clear()
    over.set()
    writing.join()


def test_a_standby_that_has_not_had_all_yet_knows_no_age(make_standby):
    """A year may have gone by since it was stopped."""
    first, standby = make_standby()
    ann = first.user()
    ann.publish()
    wait_for_all([first, standby])
    first.stop()
    age = badge_and_age(standby.user(ann.id))[1]
    leave(standby)
    standby.stop()
    standby.start()
    assert badge_and_age(standby.user(ann.id))[1] > 365 * 86400 * 1000 > age


def test_who_follows_a_standby_is_as_old_as_both(make_standby, make_server):
    first, standby = make_standby()
    ann = first.user()
    ann.publish()
    third = make_server(arguments=["--follow", f"tidings://127.0.0.1:{peer_port(standby)}"])
    shutil.copy(os.path.join(first.data, "peer.key"), third.data)
    third.start()
    wait_for_all([first, standby, third])
    there = third.user(ann.id)
    wait_until(lambda: badge_and_age(there)[1] < 1000, "it has all")
    first.kill()
    killed = time.monotonic()
    time.sleep(HELD_S)
    assert badge_and_age(there)[1] >= (time.monotonic() - killed - 0.1) * 1000


def test_who_follows_a_server_that_was_replaced_grows_older_and_so_does_that(make_standby, make_server):
    first, standby = make_standby()
    ann = first.user()
    ann.publish()
    third = make_server(arguments=["--follow", f"tidings://127.0.0.1:{peer_port(first)}"])
    shutil.copy(os.path.join(first.data, "peer.key"), third.data)
    third.start()
    wait_for_all([first, standby, third])
    assert "tidings-age" not in first.user(ann.id).send("GET", "/v1/inbox/badge").headers
    assert promote(standby).returncode == 0
    replaced = time.monotonic()
    time.sleep(HELD_S)
    for one in (first, third):
        assert badge_and_age(one.user(ann.id))[1] >= (time.monotonic() - replaced - 0.1) * 1000


def test_a_standby_does_not_open_what_it_takes_for_read(make_standby):
    """The first server may have marked it unread since."""
    first, standby = make_standby()
    ann, bob = first.users(2)
    bob.follow(ann)
    post = ann.publish()["id"]
    bob.expect(200, "POST", f"/v1/posts/{post}/open")
    wait_for_all([first, standby])
    standby.user(bob.id).refused(503, "standby", "POST", f"/v1/posts/{post}/open")


def test_a_standby_is_no_older_than_what_the_first_server_told(make_standby):
    first, standby = make_standby()
    first.user(1).publish()
    wait_for_all([first, standby])
    era, position = map(int, first.user(1).send("GET", "/v1/inbox/badge").headers["tidings-seen"].split("."))
    there = standby.user(1)
    assert there.send("GET", "/v1/inbox/badge", headers={"Tidings-Seen": f"{era}.{position}"}).status == 200
    there.refused(503, "unreachable", "GET", "/v1/inbox/badge", headers={"Tidings-Seen": f"{era}.{position + 100}"})


def test_a_standby_takes_over_in_order_and_nothing_is_lost(make_standby):
    first, standby = make_standby()
    ann, bob = first.users(2)
    bob.follow(ann)
    for _ in range(50):
        ann.publish()
    done = promote(standby)
    assert done.returncode == 0, done.stderr
    assert "era 1" in done.stdout
    assert replica(first)["role"] == "replaced"
    first.user(ann.id).refused(503, "standby", "POST", "/v1/posts", {"title": "t", "body": "b", "kind": "note"})
    there = standby.user(bob.id)
    assert there.badge() == 50
    standby.user(ann.id).publish()
    assert there.badge() == 51
    first.stop()
    refused = tidings("serve", "--data", first.data, "--listen", "127.0.0.1:0", TIDINGS_JWT_SECRET=first.secret)
    assert refused.returncode == 2 and "was replaced by" in refused.stderr
    assert promote(standby).returncode == 2  # it follows nobody any more


def test_a_standby_takes_over_from_one_that_was_killed(make_standby):
    first, standby = make_standby()
    ann = first.user()
    ann.publish()
    wait_for_all([first, standby])
    first.kill()
    done = promote(standby)
    assert done.returncode == 0, done.stderr
    standby.user(ann.id).publish()
    wait_for_role(standby, "writer")


def test_webhooks_are_called_by_whoever_makes_changes(make_standby):
    """Two servers and one webhook: each event comes once, in order, also across a promotion."""
    receiver = Receiver()
    first, standby = make_standby(settings={"webhook_allow": receiver.place})
    first.admin().expect(200, "PUT", "/v1/admin/webhooks/hook", {"url": receiver.url(), "secret": receiver.secret, "events": ["PostPublished"]})
    ann = first.user()
    posts = [ann.publish()["id"] for _ in range(5)]
    admin = first.admin()
    wait_until(lambda: admin.get("/admin/webhooks/hook")["delivered"] == 5, "five calls are noted")
    wait_for_all([first, standby])
    assert promote(standby).returncode == 0
    posts += [standby.user(ann.id).publish()["id"] for _ in range(5)]
    wait_until(lambda: len(receiver.taken) >= 10, "ten calls")
    assert [call.json["target_id"] for call in receiver.taken] == posts and not receiver.wrong
    receiver.close()


def test_a_wrong_key_and_a_missing_one_are_told(make_standby, make_server, tmp_path):
    first, _ = make_standby()
    port = peer_port(first)
    (tmp_path / "data").mkdir()
    how = ["serve", "--data", str(tmp_path / "data"), "--listen", "127.0.0.1:0", "--follow", f"tidings://127.0.0.1:{port}"]
    done = tidings(*how, TIDINGS_JWT_SECRET=first.secret)
    assert done.returncode == 2 and "peer.key" in done.stderr
    (tmp_path / "data" / "peer.key").write_text("0" * 64 + "\n", encoding="ascii")
    done = tidings(*how, TIDINGS_JWT_SECRET=first.secret)
    assert done.returncode == 2 and "same key" in done.stderr
    assert os.stat(os.path.join(first.data, "peer.key")).st_mode & 0o777 == 0o600
