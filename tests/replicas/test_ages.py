"""Which answers may be old, and that they say so."""
import contextlib
import os
import socket
import subprocess
import threading

import pytest

from conftest import leave, replica, wait_for_all, wait_for_role, writer_of
from mariadbs import Relay
from support.server import wait_until

EXACT = {"Tidings-Freshness": "exact"}
BOUNDED = {"Tidings-Freshness": "bounded"}
LEASE_S = 3
DISK_MB = 64


def ask(server, user, headers=None):
    """The badge of a user, and what the answer says of its age."""
    actor = server.user(user)
    answer = actor.send("GET", "/v1/inbox/badge", None, headers)
    actor.close()
    server.actors.remove(actor)
    assert answer.status == 200, answer
    return answer.json["total"], answer.headers.get("tidings-age")


def others(servers, one):
    return [other for other in servers if other is not one]


def test_an_exact_answer_has_no_age_and_another_one_has(make_servers):
    servers = make_servers(3)
    writer = writer_of(servers)
    follower = others(servers, writer)[0]
    writer.user(2).follow(1)
    writer.user(1).publish()
    for server in servers:
        for headers in (None, EXACT):
            assert ask(server, 2, headers) == (1, None)
    assert int(ask(follower, 2, BOUNDED)[1]) >= 1
    assert ask(writer, 2, BOUNDED)[1] is None  # it has all anyway
    answer = follower.user(2).send("POST", "/v1/inbox/mark-read", {"up_to": follower.user(2).get("/inbox/unread")["as_of"]})
    assert answer.status == 200 and "tidings-age" not in answer.headers


class Deaf(Relay):
    """A relay on which answers can be held back."""

    def __init__(self, target):
        self.hears = threading.Event()
        self.hears.set()
        super().__init__(target)

    def pass_on(self, client):
        server = socket.socket(socket.AF_UNIX)
        server.connect(os.fspath(self.target))
        with self.lock:
            self.pairs.append((client, server))
        threading.Thread(target=self.copy, args=(client, server, None), daemon=True).start()
        self.copy(server, client, self.hears)

    def copy(self, source, target, may_pass):
        try:
            while data := source.recv(1 << 16):
                if may_pass:
                    may_pass.wait()
                target.sendall(data)
            target.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass


@pytest.fixture
def deaf_writer(make_servers, make_server):
    """A follower, and the writer, with a relay between it and MySQL."""
    follower, = make_servers(1)
    url = follower.arguments[follower.arguments.index("--mysql") + 1]
    place, _, path = url.partition("socket=")
    relay = Deaf(path)
    _, _, rest = place.partition("localhost")
    writer = make_server(arguments=["--mysql", f"mysql://root@127.0.0.1:{relay.port}{rest.rstrip('?&')}"]).start()
    follower.user(2).follow(1)
    wait_for_all([follower, writer])
    leave(follower)
    follower.restart()
    wait_for_role(writer, "writer")
    wait_until(lambda: replica(follower)["following"]["behind"] == 0, "it follows")
    writer.user(3).publish()  # its connection is there
    wait_for_all([follower, writer])
    yield writer, follower, relay
    relay.hears.set()
    relay.close()


@pytest.mark.parametrize("held_s", [0.5, LEASE_S + 1])
def test_what_another_server_has_shown_is_not_missing_while_the_writer_waits_for_its_append(deaf_writer, held_s):
    """
    MySQL has committed the writer's append, and its answer is held back: the follower shows the change. Whoever asks the writer then
    sees it, too, or is told that the answer may be old; also if it learns in the end that the append was refused, or learns nothing.
    """
    writer, follower, relay = deaf_writer
    relay.hears.clear()
    made = threading.Thread(target=lambda: writer.user(1).send("POST", "/v1/posts", {"kind": "note", "title": "t"}))
    made.start()
    wait_until(lambda: ask(follower, 2)[0] == 1, "the follower shows it", LEASE_S)
    said = []
    exact = threading.Thread(target=lambda: said.append(ask(writer, 2)))
    exact.start()
    said.append(ask(writer, 2, BOUNDED))
    exact.join(held_s)
    relay.hears.set()
    exact.join()
    made.join()
    assert len(said) == 2 and all(total == 1 or age for total, age in said), said


@pytest.fixture
def small_disk(tmp_path):
    place = tmp_path / "small"
    place.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={DISK_MB}m", "tidings-test", place], check=False).returncode:
        pytest.skip("nothing can be mounted here")
    yield place
    subprocess.run(["umount", "--lazy", place], check=False)


def fill(place):
    with open(place / "ballast", "wb", buffering=0) as file:
        with contextlib.suppress(OSError):
            while True:
                file.write(bytes(1 << 12))


def test_a_writer_whose_own_disk_is_full_is_not_the_writer(small_disk, make_servers, make_server):
    """MySQL has its batch, which it cannot show: others acknowledge it, so it must not answer as if it had all."""
    first, = make_servers(1, data=os.fspath(small_disk / "data"))
    wait_for_role(first, "writer")
    second = make_server(arguments=list(first.arguments)).start()
    second.user(2).follow(1)
    wait_for_all([first, second])
    fill(small_disk)
    published = 0
    for _ in range(200):  # until its log needs another page
        answer = second.user(1).send("POST", "/v1/posts", {"kind": "note", "title": "t", "body": "b" * 2000})
        published += answer.status == 201
        exact, age = ask(first, 2)
        assert exact >= published or age, (exact, published)
        if replica(first)["role"] != "writer":
            break
    wait_for_role(second, "writer")
    assert second.user(1).publish()
    os.unlink(small_disk / "ballast")
    leave(first)
    first.restart()
    wait_for_all([first, second])
    assert ask(first, 2)[0] == ask(second, 2)[0] > published
