"""A server that dies between a commit and telling Redis of it: the mark that it put before keeps others from an answer without the change."""
import os
import signal
import socket
import threading
import time

import database
import pytest
from support.server import Server, wait_until

DELAY_S = 0.1  # less than a server waits for Redis, more than it takes to see a commit and to kill the server


class LateLink:
    """A link to Redis on which questions arrive late, or never if it is cut meanwhile; answers come at once."""

    def __init__(self, to):
        self.to, self.cut = to, False
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.address = "127.0.0.1:%d" % self.listener.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            try:
                ours, _ = self.listener.accept()
            except OSError:
                return
            theirs = socket.create_connection(self.to)
            threading.Thread(target=self.pass_on, args=(ours, theirs, DELAY_S), daemon=True).start()
            threading.Thread(target=self.pass_on, args=(theirs, ours, 0), daemon=True).start()

    def pass_on(self, source, sink, delay):
        try:
            while piece := source.recv(65536):
                time.sleep(delay)
                if self.cut:
                    break
                sink.sendall(piece)
        except OSError:
            pass
        sink.close()

    def close(self):
        self.listener.close()


@pytest.fixture
def late_link():
    host, _, port = os.environ["TIDINGS_TEST_REDIS"].partition(":")
    link = LateLink((host, int(port)))
    yield link
    link.close()


def remembers(actor):
    return actor.get("/admin/status")["cluster"]["redis"]["remembers"]


def try_to_open(actor, post, headers):
    try:
        actor.open(post, headers=headers)
    except OSError:
        pass  # its server was killed


def test_a_change_that_redis_was_not_told_of_is_in_the_next_badge(late_link):
    late = Server(arguments=["--redis", late_link.address]).start()
    other = Server(data=late.data, arguments=["--redis", os.environ["TIDINGS_TEST_REDIS"]]).start()
    try:
        ann, bob = late.users(2)
        here, admin = other.user(ann.id), other.admin()
        ann.follow(bob)
        post = bob.publish()["id"]
        wait_until(lambda: remembers(admin), "remembering")
        recalled = lambda: admin.get("/admin/status")["cluster"]["redis"]["recalled"]  # noqa: E731
        before = recalled()
        wait_until(lambda: here.badge() == 1 and recalled() > before, "a badge from memory")
        version = f"SELECT version FROM user WHERE user_id = {ann.id}"
        old = database.run(version, database.name_of(late))
        once = {"Idempotency-Key": "once"}
        asking = threading.Thread(target=try_to_open, args=(ann, post, once))
        asking.start()
        while database.run(version, database.name_of(late)) == old:
            pass
        late_link.cut = True
        late.process.send_signal(signal.SIGKILL)
        late.process.wait()
        asking.join()
        here.open(post, headers=once)  # it has happened, and is not done again
        assert here.badge() == 0
    finally:
        other.close()
        late.close_actors()
    other.verify()
