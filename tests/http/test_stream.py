"""GET /v1/stream: a badge moves without polling."""
import socket
import threading
import time

import pytest

from support.client import connect, new_user_id
from support.server import SANITIZED, wait_until
from support.sse import Stream
from support.tokens import token


@pytest.fixture
def listen():
    """Opens streams that end with the test."""
    opened = []

    def make(actor, **how):
        opened.append(Stream(actor.server, actor.bearer, **how))
        return opened[-1]

    yield make
    for stream in opened:
        stream.close()


def open_streams(server):
    return server.admin().get("/admin/status")["streams"]


def no_streams(server):
    """Waits until those of the tests before, which are closed, are forgotten."""
    admin = server.admin()
    wait_until(lambda: admin.get("/admin/status")["streams"] == 0, "no stream is open")


def nothing_but(stream, marker, *allowed):
    """Reads up to the event that `marker` causes; those before it, which must be allowed."""
    seen = []
    while True:
        event = stream.next()
        assert event, seen
        if marker(event):
            return seen
        assert event.name in allowed, event
        seen.append(event)


def test_the_badge_comes_at_once(server, listen):
    ann, bob = server.users(2)
    ann.follow(bob)
    bob.publish()
    stream = listen(ann)
    assert stream.answer.status == 200 and stream.answer.headers["content-type"] == "text/event-stream"
    assert stream.answer.headers["cache-control"] == "no-store"
    event = stream.next()
    assert event.name == "badge" and event.data == {"total": 1}
    assert event.id, "there must be one to come back with"


def test_publishing_tells_the_fans_within_a_second(server, listen, measure):
    """From the publisher's request to the fan's event, ten times."""
    ann, bob = server.users(2)
    ann.follow(bob)
    stream = listen(ann)
    stream.until("badge", total=0)
    worst = 0
    for i in range(1, 11):
        start = time.monotonic()
        post = bob.publish(f"t{i}")
        event = stream.until("post", post_id=post["id"])
        badge = stream.until("badge", total=i)
        worst = max(worst, badge.at - start, event.at - start)
        assert event.data == {"post_id": post["id"], "kind": "note", "author_id": bob.id, "author_name": "",
                              "title": f"t{i}", "created_at": post["created_at"]}
        assert badge.id == 0, "only posts have ids, and the first badge of a new client"
    assert worst < 1
    measure(f"publish to badge, worst of 10: {worst * 1000:.1f} ms")


def test_many_fans_hear_within_a_second(server, listen, measure):
    bob = server.user()
    fans = server.users(200)
    for fan in fans:
        fan.follow(bob)
        fan.close()
    streams = [listen(fan) for fan in fans]
    for stream in streams:
        stream.until("badge", total=0)
    start = time.monotonic()
    bob.publish()
    worst = max(stream.until("badge", total=1).at - start for stream in streams)
    measure(f"publish to the last of 200 badges: {worst * 1000:.1f} ms")
    assert worst < 1


def test_deletion_moves_the_badge_back(server, listen):
    ann, bob = server.users(2)
    ann.follow(bob)
    posts = [bob.publish()["id"] for _ in range(2)]
    ann.open(posts[0])
    stream = listen(ann)
    stream.until("badge", total=1)
    bob.delete(posts[0])  # read: moves nothing
    bob.delete(posts[1])
    changes = nothing_but(stream, lambda event: (event.name, event.data) == ("badge", {"total": 0}), "changed")
    assert [event.data["post_id"] for event in changes] == posts


def test_deletion_reaches_those_who_no_longer_follow(server, listen):
    ann, bob = server.users(2)
    ann.follow(bob)
    post = bob.publish()["id"]
    ann.unfollow(bob)
    stream = listen(ann)
    stream.until("badge", total=1)
    server.admin().delete(post)
    stream.until("badge", total=0)


def test_own_marks_on_another_device_move_it(server, listen):
    ann, bob = server.users(2)
    ann.follow(bob)
    posts = [bob.publish()["id"] for _ in range(4)]
    streams = [listen(ann), listen(ann)]
    phone = server.user(ann.id)

    def all_hear(total):
        for stream in streams:
            stream.until("badge", total=total)

    all_hear(4)
    phone.open(posts[0])
    all_hear(3)
    phone.mark_read(post_ids=[posts[1]])
    all_hear(2)
    phone.post("/inbox/mark-unread", {"post_ids": posts[:2]})
    all_hear(4)
    phone.mark_read(up_to=phone.get("/inbox")["as_of"])
    all_hear(0)
    phone.post("/inbox/mark-unread", {"post_ids": posts[:1]})
    all_hear(1)
    phone.unfollow(bob, purge_inbox=True)
    all_hear(0)


def test_keyed_requests_move_it_once(server, listen):
    ann, bob = server.users(2)
    ann.follow(bob)
    stream = listen(ann)
    stream.until("badge", total=0)
    headers = {"Idempotency-Key": "stream"}
    first = bob.publish(headers=headers)
    bob.publish(headers=headers)
    stream.until("post", post_id=first["id"])
    last = bob.publish("last")
    seen = nothing_but(stream, lambda e: e.name == "post" and e.data["post_id"] == last["id"], "badge")
    assert [event.data for event in seen] == [{"total": 1}], "the repeat told nobody anything"


def test_only_those_concerned_hear(server, listen):
    """Never followed, unfollowed, the author: silent. Their own publish ends the waiting."""
    bob = server.user()
    stranger, former, fan = server.users(3)
    former.follow(bob)
    fan.follow(bob)
    former.unfollow(bob)
    listeners = [stranger, former, bob]
    streams = [listen(actor) for actor in listeners]
    for stream in streams:
        stream.until("badge", total=0)
    heard = listen(fan)
    heard.until("badge", total=0)
    bob.publish("not for you")
    heard.until("post", title="not for you")
    other = server.user()
    for actor in listeners:
        actor.follow(other)
    mark = other.publish("for all")
    for stream in streams:
        event = stream.next()
        assert event.name == "post" and event.data["post_id"] == mark["id"], event


def test_a_service_listens_for_a_user(server):
    ann, bob = server.users(2)
    ann.follow(bob)
    with Stream(server, server.service().bearer, acting_for=ann.id) as stream:
        stream.until("badge", total=0)
        bob.publish()
        stream.until("badge", total=1)


def test_the_first_badge_is_enough_to_come_back_with(server, listen):
    ann, bob = server.users(2)
    ann.follow(bob)
    old = bob.publish()["id"]
    stream = listen(ann)
    first = stream.next()
    stream.close()
    missed = bob.publish()["id"]
    again = listen(ann, last_event_id=first.id)
    assert again.next().data["post_id"] == missed != old
    again.until("badge", total=2)


def test_last_event_id_replays_what_was_missed(server, listen):
    ann, bob = server.users(2)
    ann.follow(bob)
    stream = listen(ann)
    stream.until("badge", total=0)
    seen = bob.publish("seen")
    last = stream.until("post", post_id=seen["id"]).id
    stream.close()
    missed = [bob.publish(f"missed {i}")["id"] for i in range(5)]
    bob.delete(missed[2])
    again = listen(ann, last_event_id=last)
    events = [again.next() for _ in range(5)]
    assert [e.data.get("post_id") for e in events[:4]] == [m for i, m in enumerate(missed) if i != 2], "oldest first"
    assert events[4].name == "badge" and events[4].data == {"total": 5}
    newest = listen(ann, last_event_id=events[3].id)
    assert newest.next().name == "badge", "nothing missed, nothing replayed"


def test_replay_goes_back_a_hundred_items(server, listen):
    ann, bob = server.users(2)
    ann.follow(bob)
    posts = [bob.publish()["id"] for _ in range(105)]
    stream = listen(ann, last_event_id=posts[0])
    ids = [stream.next().data["post_id"] for _ in range(100)]
    assert ids == posts[-100:]


@pytest.mark.parametrize("value", ["x", "-1", "01", "1.5", "9007199254740992", "1 2"])
def test_bad_last_event_id(server, value):
    ann = server.user()
    ann.refused(400, "invalid", "GET", "/v1/stream", headers={"Last-Event-ID": value}, field="Last-Event-ID")


def test_empty_and_zero_last_event_id_are_a_beginning(server, listen):
    for value in ("", "0"):
        assert listen(server.user(), last_event_id=value).next().data == {"total": 0}


def test_heartbeat(make_server, listen):
    server = make_server(settings={"http_heartbeat_ms": 50})
    stream = listen(server.user())
    stream.until("badge", total=0)
    start = time.monotonic()
    wait_until(lambda: stream.events_so_far() == [] and stream.heartbeats >= 5, "five heartbeats")
    assert time.monotonic() - start >= 0.15, "and no faster than asked for"


def test_the_stream_ends_when_its_token_has_expired(make_server):
    """Nothing is sent after it: the next event ends the stream instead."""
    server = make_server()
    ann, bob = server.users(2)
    ann.follow(bob)
    bearer = token(server.secret, ann.id, ttl=2)
    expires = int(time.time()) + 2
    with Stream(server, bearer) as stream:
        stream.until("badge", total=0)
        wait_until(lambda: time.time() >= expires + 0.1, "the token is over")
        bob.publish()
        assert stream.wait_end() == []


def test_head_of_a_stream_leaves_nothing_behind(one_server):
    ann = one_server.user()
    no_streams(one_server)
    for _ in range(5):
        assert ann.send("HEAD", "/v1/stream").status == 200
    assert open_streams(one_server) == 0


def test_closed_streams_are_forgotten(one_server, listen):
    no_streams(one_server)
    ann = one_server.user()
    streams = [listen(ann) for _ in range(20)]
    for stream in streams:
        stream.until("badge", total=0)
    assert open_streams(one_server) == 20
    for stream in streams:
        stream.close()
    no_streams(one_server)


def test_a_reader_that_does_not_read_is_cut_and_others_go_on(make_server, listen):
    server = make_server(settings={"http_stream_output_max": 32768})
    ann, bob = server.users(2)
    ann.follow(bob)
    good = listen(ann)
    good.until("badge", total=0)
    slow = socket.socket()
    slow.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)  # what the kernel takes does not count
    slow.connect(("127.0.0.1", server.port))
    slow.sendall(f"GET /v1/stream HTTP/1.1\r\nHost: t\r\nAuthorization: Bearer {ann.bearer}\r\n\r\n".encode())
    wait_until(lambda: open_streams(server) == 2, "both are open")
    n = 0
    while open_streams(server) == 2:
        for _ in range(10):  # few, or the good one would be slow, too
            n += 1
            bob.publish("𝒳" * 200)
        good.until("badge", total=n)
        assert n < 60_000
    bob.publish("still there")
    good.until("post", title="still there")
    slow.close()


def test_every_device_hears_although_another_comes_online_at_that_moment(make_server, listen):
    """A second device that connects between a change and its telling must not keep it from the
    first."""
    server = make_server(settings={"threads": 1})
    ann, bob = server.users(2)
    ann.follow(bob)
    first = listen(ann)
    first.until("badge", total=0)
    request = f"GET /v1/stream HTTP/1.1\r\nHost: t\r\nAuthorization: Bearer {ann.bearer}\r\n\r\n".encode()
    for i in range(1, 151):
        second = connect(server)
        thread = threading.Thread(target=bob.publish)
        thread.start()
        time.sleep((i % 10) * 0.0002)  # not to be right: to meet the moment
        second.sendall(request)
        thread.join()
        first.until("badge", patience=5, total=i)
        second.close()


def test_no_header_is_sent_twice(server, listen):
    names = [name.lower() for name, _ in listen(server.user()).answer.fields]
    assert sorted(names) == sorted(set(names))


def test_follow_then_publish_while_online(server, listen):
    ann, bob = server.users(2)
    stream = listen(ann)
    stream.until("badge", total=0)
    ann.follow(bob)
    post = bob.publish()
    assert stream.next().data["post_id"] == post["id"]
    stream.until("badge", total=1)
    ann.unfollow(bob)
    bob.publish()
    ann.open(post["id"])
    event = stream.next()
    assert (event.name, event.data) == ("badge", {"total": 0})


def test_graceful_stop_closes_streams(make_server, listen):
    server = make_server()
    streams = [listen(actor) for actor in server.users(30)]
    for stream in streams:
        stream.until("badge", total=0)
    for actor in server.actors:
        actor.close()
    start = time.monotonic()
    server.process.send_signal(15)
    for stream in streams:
        assert stream.wait_end() == []
        stream.close()
    assert server.wait() == 0
    assert time.monotonic() - start < 8, "without waiting for the deadline"


def test_idle_streams_cost_little(make_server, measure):
    """2,000 open at once; a badge still reaches one of them within a second."""
    count = 2000
    server = make_server(settings={"http_connections_per_address": 0, "access_log": 0})
    ann, bob = server.users(2)
    ann.follow(bob)
    bob.publish()
    requests = [f"GET /v1/stream HTTP/1.1\r\nHost: t\r\nAuthorization: Bearer {token(server.secret, new_user_id())}"
                "\r\n\r\n".encode() for _ in range(count)]
    ann.badge()
    before = server.rss_bytes()
    sockets = []
    try:
        for request in requests:
            sockets.append(connect(server))
            sockets[-1].sendall(request)
        admin = server.admin()
        wait_until(lambda: admin.get("/admin/status")["streams"] == count, f"{count} streams")
        each = (server.rss_bytes() - before) / count
        measure(f"{count} idle streams: {each:.0f} bytes of RSS each")
        with Stream(server, ann.bearer) as stream:
            stream.until("badge", total=1)
            start = time.monotonic()
            bob.publish()
            latency = stream.until("badge", total=2).at - start
            measure(f"publish to badge beside them: {latency * 1000:.1f} ms")
            assert latency < 1
        assert SANITIZED or each < 8192
        for actor in server.actors:
            actor.close()
        server.process.send_signal(15)
        for sock in sockets:
            sock.settimeout(60)
            while sock.recv(4096):
                pass
    finally:
        for sock in sockets:
            sock.close()
    assert server.wait() == 0



def test_more_than_can_be_told_leaves_every_badge_right(make_server, listen):
    """With room for one event, most of a batch is not told one by one: all is counted anew. Lost events would leave badges
    as they were."""
    server = make_server(settings={"stream_backlog": 1})
    author = server.user()
    story = author.story()
    fans = server.users(20)
    for fan in fans:
        fan.follow(author)
        fan.subscribe(story)
    posts = [author.publish()["id"] for _ in range(3)]
    scene = author.scene(story)["id"]
    streams = [listen(fan) for fan in fans]
    for stream in streams:
        stream.until("badge", total=3)
    for _ in range(5):
        act_together(fans, "/inbox/mark-read", {"post_ids": posts})
        for stream in streams:
            stream.until("badge", total=0)
        act_together(fans, "/inbox/mark-unread", {"post_ids": posts})
        for stream in streams:
            stream.until("badge", total=3)
    act_together(fans, "/notifications/mark-read", {"ids": [scene]})
    for stream in streams:
        stream.until("unread", notifications=0)


def act_together(actors, path, body):
    """All of them at once, so that the engine makes batches of what they ask."""
    threads = [threading.Thread(target=actor.post, args=(path, body)) for actor in actors]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


# ---- Tickets ------------------------------------------------------------------------------------

def ticket_of(actor):
    return actor.post("/stream/ticket", status=201)["ticket"]


def open_with(server, ticket):
    """The status line of a stream's answer, over a connection of its own, and what comes first."""
    with connect(server) as connection:
        connection.sendall(f"GET /v1/stream?ticket={ticket} HTTP/1.1\r\nHost: x\r\n\r\n".encode())
        got = b""
        while b"\n\n" not in got and b'"code"' not in got:
            got += connection.recv(65536)
    return int(got.split()[1]), got


def test_a_ticket_opens_one_stream(server):
    """On whichever of several servers it is used: given out by one, used on another, and never again on any."""
    ann, bob = server.users(2)
    ann.follow(bob)
    bob.publish()
    first, *others = server.members
    ticket = ticket_of(ann)
    status, got = open_with((others or [first])[0], ticket)
    assert status == 200 and b'event: badge' in got and b'{"total":1}' in got
    for one in reversed(server.members):
        status, got = open_with(one, ticket)
        assert status == 401 and b'"ticket_invalid"' in got, "used"
    # It opens streams and nothing else.
    ann.refused(400, "invalid", "GET", f"/v1/inbox?ticket={ticket_of(ann)}", field="ticket")


def test_a_ticket_cannot_be_made_up(server):
    ann, bob = server.users(2)
    ticket = ticket_of(ann)
    turned = [ticket[:i] + ("B" if ticket[i] == "A" else "A") + ticket[i + 1:] for i in range(len(ticket))]
    sealed = ann.get("/inbox")["as_of"]  # with the same secret, for something else
    for bad in ("", "x", ticket[:-1], ticket + "A", "A" * 43, "A" * 4000, ticket_of(bob)[:40] + ticket[40:], sealed, *turned):
        status, got = open_with(server, bad)
        assert status == 401 and b'"ticket_invalid"' in got, bad
    assert open_with(server, ticket)[0] == 200


def test_a_ticket_that_many_use_at_once_opens_one_stream(server):
    ann, = server.users(1)
    for _ in range(5):
        ticket, statuses = ticket_of(ann), []
        threads = [threading.Thread(target=lambda: statuses.append(open_with(server, ticket)[0])) for _ in range(9)]  # pylint: disable=cell-var-from-loop
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert sorted(statuses) == [200] + [401] * 8


def test_a_ticket_is_not_spent_on_what_cannot_be(server):
    ann, = server.users(1)
    ticket = ticket_of(ann)
    assert open_with(server, f"{ticket}&post_ids=x")[0] == 400
    assert open_with(server, ticket)[0] == 200


def test_a_user_opens_64_streams_with_tickets_in_a_while(server):
    ann, bob = server.users(2)
    assert [open_with(server, ticket_of(ann))[0] for _ in range(64)] == [200] * 64
    status, got = open_with(server, ticket_of(ann))
    assert status == 429 and b'"rate_limited"' in got
    assert 0 < int(got.lower().split(b"retry-after:")[1].split()[0]) <= 90
    assert open_with(server, ticket_of(bob))[0] == 200


def test_who_goes_away_while_a_ticket_is_spent_leaves_no_stream(one_server):
    ann, = one_server.users(1)
    no_streams(one_server)
    for _ in range(20):
        with connect(one_server) as connection:
            connection.sendall(f"GET /v1/stream?ticket={ticket_of(ann)} HTTP/1.1\r\nHost: x\r\n\r\n".encode())
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")  # a reset, at once
    no_streams(one_server)


def test_a_ticket_outlives_a_restart_and_its_use_does_too(make_server):
    server = make_server()
    ann = server.user()
    used, left = ticket_of(ann), ticket_of(ann)
    assert open_with(server, used)[0] == 200
    server.stop()
    server.start()
    assert open_with(server, used)[0] == 401
    assert open_with(server, left)[0] == 200


def test_no_log_and_no_metric_shows_a_ticket(make_server):
    server = make_server()
    ticket = ticket_of(server.user())
    assert [open_with(server, ticket)[0] for _ in range(2)] == [200, 401]
    metrics = server.admin().send("GET", "/metrics").body
    server.stop()
    assert '"/v1/stream"' in server.log_text() and ticket not in server.log_text()
    assert ticket.encode() not in metrics


def test_a_ticket_does_not_outlive_its_token(server):
    made = server.actor(bearer=token(server.secret, new_user_id(), ttl=2))
    answer = made.post("/stream/ticket", status=201)
    assert answer["expires_at"] <= time.time() * 1000 + 2000
    wait_until(lambda: time.time() * 1000 >= answer["expires_at"], "it is too old")
    assert open_with(server, answer["ticket"])[0] == 401


def test_a_change_of_a_post_is_told_whether_it_is_read_or_not(server, listen):
    ann, bob, cat, eve = server.users(4)
    ann.follow(bob)
    cat.follow(bob)
    read, unread = [bob.publish()["id"] for _ in range(2)]
    ann.post("/inbox/mark-read", {"post_ids": [read]})
    cat.expect(200, "POST", "/v1/relation/unfollow", {"user_id": bob.id})
    streams = [listen(ann), listen(ann, post_ids=[read]), listen(cat)]
    stranger = listen(eve)
    for stream in (*streams, stranger):
        stream.until("badge")
    for post in (read, unread):
        bob.expect(200, "PATCH", f"/v1/posts/{post}", {"title": "Another"})
        for stream in streams:
            assert stream.until("changed").data == {"post_id": post, "type": "PostEdited"}
    bob.delete(read)
    for stream in streams:
        assert stream.until("changed").data == {"post_id": read, "type": "PostDeleted"}
    eve.follow(bob)
    late = bob.publish()["id"]
    assert nothing_but(stranger, lambda event: event.name == "post" and event.data["post_id"] == late, "badge") == []


def test_many_changes_at_once_are_told_as_one(make_server, listen):
    """With room for one event, what a batch does cannot be told one by one; among it may be a change."""
    server = make_server(settings={"stream_backlog": 1})
    ann, bob, *fans = server.users(22)
    stream = listen(ann)
    stream.until("badge")
    for fan in fans:
        fan.follow(bob)
    late = {"post_ids": [bob.publish()["id"]]}
    told = []
    for _ in range(50):
        act_together(fans, "/inbox/mark-read", late)
        act_together(fans, "/inbox/mark-unread", late)
        told += [event.data for event in stream.events_so_far() if event.name == "changed"]
        if told:
            break
    assert told[0] == {"post_id": None, "type": None}
