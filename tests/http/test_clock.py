"""The server's clock is set back and ahead under a running server, by libfaketime, and between two runs of it."""
import glob
import os
import time

import pytest

from support.client import connect
from support.metrics import Metrics
from support.receiver import SECRET, Receiver, answer
from support.server import SANITIZED, tidings, wait_until
from support.tokens import token

LIBRARIES = glob.glob("/usr/lib/*/faketime/libfaketimeMT.so.1")
MINUTE, HOUR, DAY = 60, 3600, 86400
MONTH, YEAR = 30 * DAY, 365 * DAY

# A sanitizer wants to be the first library itself.
pytestmark = pytest.mark.skipif(SANITIZED, reason="libfaketime comes before the sanitizer")


class Clock:
    """What a server started with `environment` takes for the time: the real one and an offset."""

    def __init__(self, path):
        assert LIBRARIES, "libfaketime is not there; run scripts/setup"
        self.path = path
        self.ahead = 0
        self.set(0)
        self.environment = {
            "LD_PRELOAD": LIBRARIES[0],
            "FAKETIME_TIMESTAMP_FILE": str(path),
            "FAKETIME_NO_CACHE": "1",
            "DONT_FAKE_MONOTONIC": "1",  # CLOCK_BOOTTIME is none that it fakes
            "FAKETIME_FORCE_MONOTONIC_FIX": "0",  # otherwise waiting for the monotonic clock is no waiting
        }

    def set(self, ahead):
        self.ahead = ahead
        fresh = str(self.path) + ".new"
        with open(fresh, "w", encoding="ascii") as file:
            file.write(f"{ahead:+d}s\n")
        os.replace(fresh, self.path)

    def now_ms(self):
        return int((time.time() + self.ahead) * 1000)


@pytest.fixture
def clock(tmp_path):
    return Clock(tmp_path / "clock")


def serve(make_server, clock, **settings):
    return make_server(settings=settings, environment=clock.environment)


def somebody(server, role=None):
    """Whose token is good at any of the times here."""
    made = server.actor(role=role)
    made.bearer = token(server.secret, made.id, role, ttl=5 * YEAR)
    return made


def try_follow(fan, author):
    return fan.send("POST", "/v1/relation/follow", {"user_id": author.id})


def drain(fan, author):
    for _ in range(1000):
        answer = try_follow(fan, author)
        if answer.status == 429:
            assert int(answer.headers["retry-after"]) == 1
            return
        assert answer.status == 200
    raise AssertionError("the bucket has no bottom")


def assert_refills(fan, author):
    drain(fan, author)
    begin = time.monotonic()
    wait_until(lambda: try_follow(fan, author).status == 200, "a token", patience=20)
    assert time.monotonic() - begin > 0.2  # and no flood of them


def status(server):
    return somebody(server, "admin").get("/admin/status")


def metrics(server):
    return Metrics(server.client().request("GET", "/metrics").body.decode())


def count_events(server):
    rows, after = 0, 0
    reader = somebody(server, "service")
    while True:
        page = reader.get("/events", after=after, limit=100)
        if not page["items"]:
            return rows
        rows += len(page["items"])
        after = page["items"][-1]["event_id"]


def restored_posts(server, clock, tmp_path, author, make_server):
    """How many posts a restore to this moment has."""
    target = tmp_path / f"restored-{time.monotonic_ns()}"
    done = tidings("restore", server.data, "--data", str(target), "--until", str(clock.now_ms()))
    assert done.returncode == 0, done.stderr
    copy = make_server(data=str(target), environment=clock.environment)
    return somebody(copy).get("/relation/counter", user_id=author.id)["posts"]


def test_limits_refill_while_the_clock_jumps(make_server, clock):
    server = serve(make_server, clock, follow_burst=3)
    ann, bob = somebody(server), somebody(server)
    assert_refills(ann, bob)
    for ahead in (-30, 20 * HOUR, -2 * HOUR, -YEAR, 0):
        is_far = ahead - clock.ahead > DAY
        clock.set(ahead)
        if is_far:
            server.restart()
        assert_refills(ann, bob)


def test_limits_refill_after_a_year_ahead_and_back(make_server, clock):
    server = serve(make_server, clock, follow_burst=3)
    ann, bob = somebody(server), somebody(server)
    drain(ann, bob)
    server.restart(between=lambda: clock.set(YEAR))
    assert_refills(ann, bob)
    clock.set(0)
    assert_refills(ann, bob)
    server.restart()
    assert_refills(ann, bob)
    server.stop()
    server.verify()


def test_far_ahead_nothing_is_written_until_it_comes_back(make_server, clock):
    server = serve(make_server, clock)
    ann, bob = somebody(server), somebody(server)
    ann.follow(bob)
    post = bob.publish()
    assert status(server)["clock"] == {"jumps": 0, "last_jump": None, "stopped": False}
    clock.set(MONTH)
    for _ in range(3):
        bob.refused(503, "clock", "POST", "/v1/posts", {"kind": "note", "title": "t", "body": "b"})
    assert ann.badge() == 1 and ann.get(f"/posts/{post['id']}")["title"] == post["title"]
    told = status(server)
    assert told["writable"] is False and told["clock"]["jumps"] == 1 and told["clock"]["stopped"] is True
    assert abs(told["clock"]["last_jump"]["by_ms"] - MONTH * 1000) < 10_000
    assert ann.send("GET", "/readyz").json["writable"] is False
    assert metrics(server).samples["tidings_clock_stopped", ()] == 1
    lines = [line for line in server.log_lines() if line["message"].startswith("the clock jumped")]
    assert len(lines) == 1 and lines[0]["level"] == "error" and abs(lines[0]["by_ms"] - MONTH * 1000) < 10_000
    clock.set(0)
    later = bob.publish()
    assert abs(later["created_at"] - clock.now_ms()) < MINUTE * 1000 and later["id"] > post["id"]
    told = status(server)
    assert told["writable"] is True and told["clock"]["jumps"] == 2 and told["clock"]["stopped"] is False
    assert metrics(server).samples["tidings_clock_jumps_total", ()] == 2
    assert metrics(server).samples["tidings_clock_stopped", ()] == 0


def test_a_jump_is_told_though_nobody_writes(make_server, clock):
    server = serve(make_server, clock)
    somebody(server).publish()
    clock.set(-2 * MINUTE)
    wait_until(lambda: status(server)["clock"]["jumps"] == 1, "the jump is told")
    assert status(server)["writable"] is True
    lines = [line for line in server.log_lines() if line["message"] == "the clock jumped"]
    assert len(lines) == 1 and abs(lines[0]["by_ms"] + 2 * MINUTE * 1000) < 10_000


def test_started_again_it_takes_the_clock_as_it_is_and_sweeps_nothing(make_server, clock):
    server = serve(make_server, clock)
    bob = somebody(server)
    for _ in range(100):
        last = bob.publish()
    clock.set(MONTH)
    bob.refused(503, "clock", "POST", "/v1/posts", {"kind": "note", "title": "t", "body": "b"})
    server.restart()
    ahead = bob.publish()
    assert abs(ahead["created_at"] - clock.now_ms()) < MINUTE * 1000
    for _ in range(10):
        bob.publish()
    assert count_events(server) == 111
    wait_until(lambda: status(server)["clock"]["jumps"] == 1, "the jump is told")
    server.restart(between=lambda: clock.set(0))
    back = bob.publish()
    assert back["id"] > ahead["id"] > last["id"]
    assert count_events(server) == 112
    server.stop()
    server.verify()


def test_a_key_is_remembered_while_the_clock_jumps(make_server, clock):
    server = serve(make_server, clock)
    bob = somebody(server)
    key = {"Idempotency-Key": "the same"}
    first = bob.publish(headers=key)
    clock.set(23 * HOUR)
    bob.publish()
    assert bob.publish(headers=key)["id"] == first["id"]
    server.restart(between=lambda: clock.set(MONTH))
    bob.publish()
    assert bob.publish(headers=key)["id"] == first["id"]


def test_a_restore_until_now_has_what_was_acknowledged(make_server, clock, tmp_path):
    server = serve(make_server, clock)
    bob = somebody(server)
    bob.publish()
    clock.set(-30)
    bob.publish()
    assert restored_posts(server, clock, tmp_path, bob, make_server) == 2
    clock.set(HOUR)
    bob.publish()
    clock.set(0)
    wait_until(lambda: status(server)["clock"]["jumps"] == 2, "the jump is told")
    assert restored_posts(server, clock, tmp_path, bob, make_server) == 3
    server.restart(between=lambda: clock.set(YEAR))
    bob.publish()
    server.restart(between=lambda: clock.set(0))
    bob.publish()
    assert restored_posts(server, clock, tmp_path, bob, make_server) == 5


# ---- Webhooks -----------------------------------------------------------------------------------

@pytest.fixture
def gateway(make_server, clock):
    """A server with a webhook that leads to a receiver which fails: (server, admin, author, receiver)."""
    made = []

    def make(**settings):
        receiver = Receiver(how=answer(500))
        made.append(receiver)
        receiver.is_right = lambda *_: True  # by its own clock most calls are old
        server = serve(make_server, clock, webhook_allow=receiver.place, **settings)
        admin, author = somebody(server, "admin"), somebody(server)
        set_webhook(admin, receiver)
        return server, admin, author, receiver

    yield make
    for receiver in made:
        receiver.close()


def set_webhook(admin, receiver, name="gateway", events=("PostPublished",), secret=SECRET):
    admin.expect(200, "PUT", f"/v1/admin/webhooks/{name}", {
        "url": receiver.url("/" + name), "secret": secret, "events": list(events)})


def webhook(admin):
    return admin.expect(200, "GET", "/v1/admin/webhooks/gateway")


def test_a_clock_set_back_makes_no_webhook_wait(gateway, clock):
    server, admin, author, receiver = gateway(webhook_backoff_first_ms=1000, webhook_backoff_most_ms=2000)
    author.publish()
    wait_until(lambda: webhook(admin)["attempts"] >= 1, "it fails")
    clock.set(-20 * HOUR)
    before = len(receiver.calls)
    wait_until(lambda: len(receiver.calls) >= before + 2, "it is tried again", patience=20)
    receiver.how = answer(204)
    wait_until(lambda: webhook(admin)["delivered"] == 1, "it is told", patience=20)


def test_a_clock_set_ahead_makes_no_webhook_hurry(gateway, clock):
    server, admin, author, receiver = gateway(webhook_backoff_first_ms=20 * MINUTE * 1000,
                                              webhook_backoff_most_ms=20 * MINUTE * 1000)
    author.publish()
    wait_until(lambda: webhook(admin)["attempts"] == 1, "it fails")
    clock.set(HOUR)
    receiver.how = answer(204)
    set_webhook(admin, receiver, "other", ("FollowCreated",))
    author.follow(somebody(server))
    wait_until(lambda: any(call.path == "/other" for call in receiver.taken), "the other one is told")
    assert [call.path for call in receiver.calls] == ["/gateway", "/other"]


def test_a_clock_set_ahead_gives_nothing_up(gateway, clock):
    server, admin, author, receiver = gateway(webhook_backoff_first_ms=20, webhook_backoff_most_ms=20,
                                              webhook_give_up_hours=1)
    author.publish()
    wait_until(lambda: webhook(admin)["attempts"] >= 1, "it fails")
    clock.set(20 * HOUR)
    before = webhook(admin)["attempts"]
    wait_until(lambda: webhook(admin)["attempts"] > before + 3, "it is tried again")
    author.publish()
    assert webhook(admin)["dead"] == 0
    receiver.how = answer(204)
    wait_until(lambda: webhook(admin)["delivered"] == 2, "both are told")


def test_an_old_secret_goes_by_elapsed_time(gateway, clock):
    server, admin, author, receiver = gateway()
    receiver.how = answer(204)
    set_webhook(admin, receiver, secret="the next secret, long enough")
    for ahead in (20 * HOUR, 40 * HOUR, -DAY):
        clock.set(ahead)
        admin.expect(200, "POST", "/v1/admin/webhooks/gateway/retry")  # so that the secrets are looked up again
        told = len(receiver.taken)
        author.publish()
        wait_until(lambda: len(receiver.taken) > told, "it is told")
        assert len(receiver.taken[-1].headers["webhook-signature"].split(" ")) == 2


# ---- Tickets ------------------------------------------------------------------------------------

def open_with(server, ticket):
    """The status of a stream that is asked for with a ticket."""
    with connect(server) as sock:
        sock.sendall(f"GET /v1/stream?ticket={ticket} HTTP/1.1\r\nHost: x\r\n\r\n".encode())
        return int(sock.recv(65536).split()[1])


def test_a_ticket_is_good_for_half_a_minute(make_server, clock):
    del clock.environment["DONT_FAKE_MONOTONIC"]  # so that time passes
    server = serve(make_server, clock)
    ann = somebody(server)
    first, second, third = (ann.post("/stream/ticket", status=201)["ticket"] for _ in range(3))
    assert open_with(server, first) == 200
    clock.set(25)
    assert open_with(server, second) == 200
    clock.set(31)
    assert open_with(server, third) == 401


def test_a_ticket_goes_by_elapsed_time(make_server, clock):
    server = serve(make_server, clock)
    ann = somebody(server)
    for ahead in (HOUR, -HOUR, 0):
        ticket = ann.post("/stream/ticket", status=201)["ticket"]
        clock.set(ahead)
        assert open_with(server, ticket) == 200
