"""What clients see of several servers on one log, while some of them come, go and stand still, or MySQL does."""
import json
import os
import select
import signal
import socket
import threading
import time

import pytest

from conftest import leave, sql, url_of, wait_for_all, wait_for_role, writer_of
from support.client import connect
from support.events import tail
from support.server import routes, wait_until
from support.sse import Stream
from test_changes import FREE, LEASE_S, Storm, database, others_of

NOTE = {"kind": "note", "title": "t"}


class Publisher(threading.Thread):
    """Publishes on one server, again and again; how long the longest took, and what was refused."""

    def __init__(self, server, user_id):
        super().__init__()
        self.actor = server.user(user_id)
        self.over, self.count, self.longest_s, self.wrong = threading.Event(), 0, 0, []

    def run(self):
        while not self.over.is_set():
            began = time.monotonic()
            answer = self.actor.send("POST", "/v1/posts", NOTE)
            self.longest_s = max(self.longest_s, time.monotonic() - began)
            self.count += 1
            if answer.status != 201:
                self.wrong.append(answer)

    def __enter__(self):
        self.start()
        self.wait_for(3)
        self.longest_s = 0
        return self

    def __exit__(self, *_):
        self.over.set()
        self.join()
        self.actor.close()

    def wait_for(self, count):
        wanted = self.count + count
        wait_until(lambda: self.count >= wanted, "changes go on")


def stopped(server):
    leave(server)
    server.stop()


# ---- Servers that come and go --------------------------------------------------------------------

def test_a_server_that_ends_in_order_hands_over_at_once(make_servers):
    """50 ms, if nobody else uses the machine: one of several times must be so."""
    servers = make_servers(3, settings=FREE)
    waits = []
    for n in range(6):
        writer = writer_of(servers)
        other = others_of(servers, writer)[n % 2]
        wait_for_all(servers)
        leave(writer)
        with Publisher(other, 20 + n) as publisher:
            writer.stop()
            publisher.wait_for(5)
            waits.append(publisher.longest_s)
        assert not publisher.wrong, publisher.wrong
        writer.start()
    print("changes waited " + ", ".join(f"{one * 1000:.0f}" for one in waits) + " ms")
    assert min(waits) < 0.05 and max(waits) < LEASE_S, waits


@pytest.mark.long
def test_a_server_that_is_started_a_hundred_times_holds_up_nobody(make_servers):
    servers = make_servers(3, settings=FREE)
    writer = writer_of(servers)
    restless, other = others_of(servers, writer)
    leave(restless)
    slowest_s = 0
    with Publisher(writer, 20) as one, Publisher(other, 21) as two:
        for n in range(100):
            if n % 2:
                restless.kill()
            else:
                restless.stop()
            began = time.monotonic()
            restless.start()
            slowest_s = max(slowest_s, time.monotonic() - began)
    print(f"changes waited {one.longest_s:.2f} and {two.longest_s:.2f} s, a start took {slowest_s:.2f} s")
    assert not one.wrong + two.wrong and max(one.longest_s, two.longest_s, slowest_s) < LEASE_S
    wait_for_all(servers)
    wait_until(lambda: sql(writer, "SELECT COUNT(*) FROM tidings_replica") == "3", "those that are gone are not listed")
    leave(writer)
    writer.kill()
    began = time.monotonic()
    writer_of(servers[1:] if writer is servers[0] else [restless, other])
    assert time.monotonic() - began < 2 * LEASE_S  # nobody waits for one of the hundred


@pytest.mark.long
@pytest.mark.parametrize("role", ["follower", "writer"])
def test_a_server_that_stands_still_for_half_a_minute(make_servers, make_server, role):
    servers = make_servers(2, settings=FREE)
    writer = writer_of(servers)
    still = writer if role == "writer" else others_of(servers, writer)[0]
    other = others_of(servers, still)[0]
    leave(still)
    os.kill(still.process.pid, signal.SIGSTOP)
    try:
        began = time.monotonic()
        with Publisher(other, 20) as publisher:
            publisher.wait_for(5)
            until_s = time.monotonic() - began
            third = make_server(arguments=list(other.arguments), settings=FREE).start()
            third.user(21).publish()
            started_s = time.monotonic() - began - until_s
            time.sleep(max(0, 30 - (time.monotonic() - began)))
        print(f"the first change after {until_s:.1f} s, a server more after {started_s:.1f} s")
        assert until_s < 2 * LEASE_S and started_s < LEASE_S and publisher.longest_s < LEASE_S and not publisher.wrong
    finally:
        os.kill(still.process.pid, signal.SIGCONT)
    wait_for_all([*servers, third])
    still.user(22).publish()


def test_a_change_is_in_the_next_exact_read_of_every_other_under_load(make_servers):
    servers = make_servers(3, settings=FREE)
    writer_of(servers)
    n = 0
    with Storm(servers):
        authors, readers = [one.user(11) for one in servers], [one.user(12) for one in servers]
        readers[0].follow(11)
        for _ in range(15):
            for author in authors:
                for reader in readers:
                    post = author.publish()["id"]
                    n += 1
                    assert reader.badge() == n
                    assert reader.get("/inbox", limit=1)["items"][0]["post_id"] == post


# ---- MySQL is away --------------------------------------------------------------------------------

# What is not made of the data, and so has no age.
AGELESS = {"stream", "getSession", "getStatus", "getAdminMetrics", "getSamples", "getConsole", "getAsset", "getOpenapi", "getDocs",
           "getHealth", "getReadiness", "getMetrics",
           "listUserIds"}  # a walk over what this server has
QUERIES = {"relationStatus": "user_id=2", "getCounters": "user_id=2", "listProfiles": "ids=1,2", "searchProfiles": "prefix=a",
           "listPostsById": "ids={post_id}", "listPostStats": "ids={post_id}", "getPostByKey": "key=k", "listMyLikes": "target=post",
           "listHot": "kind=note", "listComments": "", "listReading": ""}


def make_world(server):
    """One of everything that a path of the API names; the names and their values."""
    ann, bob = server.user(1), server.user(2)
    ann.expect(200, "PUT", "/v1/users/me", {"name": "Ann", "avatar": ""})
    bob.follow(ann)
    post = ann.publish()["id"]
    story = ann.story()
    bob.react(f"/posts/{post}/like")
    server.admin().expect(200, "PUT", "/v1/admin/webhooks/hook",
                          {"url": "http://127.0.0.1:1/", "secret": "s" * 40, "events": ["PostPublished"]})
    return {"user_id": 1, "post_id": post, "comment_id": bob.comment(post)["id"], "story_id": story,
            "scene_id": ann.scene(story)["id"], "tag": f"story:{story}", "name": "hook"}


def questions(names):
    """Operation, access and path of all that can be asked with GET."""
    for route in routes():
        if route["method"] == "GET" and route["operation"] not in AGELESS:
            query = QUERIES.get(route["operation"], "").format(**names)
            named = {**names, "name": f"webhook:{names['name']}"} if "/targets/" in route["path"] else names
            yield route["operation"], route["access"], route["path"].format(**named) + (f"?{query}" if query else "")


def ask_all(server, names, check):
    for operation, access, path in questions(names):
        actor = server.actor(2, role={"user": None}.get(access, access), acting_for=2 if access == "service" and "tags" not in path
                             and "events" not in path else None)
        began = time.monotonic()
        answer = actor.send("GET", path)
        check(operation, answer, time.monotonic() - began)
        actor.close()


@pytest.mark.parametrize("word, back", [("pause", "resume"), ("stop", "start")])
def test_every_read_is_answered_with_its_age_while_mysql_is_away(make_servers, word, back):
    servers = make_servers(3, settings={**FREE, "deadline_ms": 1000, "webhook_allow": "127.0.0.1"})
    writer = writer_of(servers)
    names = make_world(writer)
    wait_for_all(servers)

    def is_well(operation, answer, took_s):
        assert answer.status == (404 if operation == "getPostByKey" else 200), (operation, answer)
        assert took_s < 1, operation

    def has_age(operation, answer, took_s):
        is_well(operation, answer, took_s)
        assert int(answer.headers.get("tidings-age", 0)) >= 1, (operation, answer)

    ask_all(writer, names, is_well)
    database(word)
    try:
        for one in servers:  # until it is noticed, a read may wait, though not for long
            wait_until(lambda: int(one.user(2).send("GET", "/v1/inbox/badge").headers.get("tidings-age", 0)) > 500,  # pylint: disable=cell-var-from-loop
                       "it is noticed", 3 * LEASE_S)
        for one in servers:
            ask_all(one, names, has_age)
            refused = one.user(2).send("POST", "/v1/posts", NOTE)
            assert refused.status == 503 and int(refused.headers["retry-after"]) >= 1, refused
            assert refused.json["code"] in ("unreachable", "uncertain"), refused
    finally:
        database(back)
    wait_until(lambda: all(one.user(3).send("POST", "/v1/posts", NOTE).status == 201 for one in servers), "changes go on")
    wait_for_all(servers)
    for one in servers:
        ask_all(one, names, is_well)


class Lane:
    """A port that leads to MySQL's socket; everything comes so much later."""

    def __init__(self, target, delay_s):
        self.target, self.delay_s = target, delay_s
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self):
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self.pass_on, args=(client,), daemon=True).start()

    def pass_on(self, client):
        with client, socket.socket(socket.AF_UNIX) as server:
            try:
                server.connect(self.target)
                while True:
                    for one in select.select([client, server], [], [])[0]:
                        data = one.recv(1 << 20)
                        if not data:
                            return
                        time.sleep(self.delay_s)
                        (server if one is client else client).sendall(data)
            except OSError:
                return

    def close(self):
        self.listener.close()


def test_a_database_that_is_20_ms_away(make_servers, make_server):
    first, = make_servers(1)
    path = url_of(first).split("socket=")[1]
    lane = Lane(path, 0.010)  # there, and back
    name = url_of(first).split("?")[0].split("/")[-1]
    stopped(first)
    far = ["--mysql", f"mysql://root@127.0.0.1:{lane.port}/{name}", "--freshness", "exact"]
    servers = [make_server(arguments=far, settings=FREE).start() for _ in range(3)]
    try:
        writer = writer_of(servers)
        other, third = others_of(servers, writer)
        reader = third.user(2)
        reader.follow(1)
        took = []
        for n in range(1, 31):
            began = time.monotonic()
            other.user(1).publish()
            took.append(time.monotonic() - began)
            assert reader.badge() == n
            leave(other)
        print(f"a change took {sorted(took)[15] * 1000:.0f} ms")
        with Publisher(other, 7) as publisher:
            stopped(writer)
            publisher.wait_for(3)
        assert not publisher.wrong and publisher.longest_s < LEASE_S
        writer_of([other, third])
        writer.start()
        wait_for_all(servers)
    finally:
        for one in servers:
            leave(one)
            one.process.kill()
            one.process.wait()
        lane.close()


# ---- What clients hold in their hands --------------------------------------------------------------

class Held:
    """A reader in the middle of things: pages begun, a moment, a key, a reading position, events, from one server."""

    def __init__(self, server, first=1):
        self.ann_id, self.bob_id = first, first + 1
        ann, bob, service = server.user(self.ann_id), server.user(self.bob_id), server.service()
        for author in (ann.id, *range(1000, 1012)):
            bob.follow(author)
        self.posts = [ann.publish(title=f"t{n}")["id"] for n in range(12)]
        self.story = ann.story()
        self.scene = ann.scene(self.story)["id"]
        self.keyed = {"Idempotency-Key": f"key-{first}"}
        self.answered = ann.expect(201, "POST", "/v1/posts", {**NOTE, "title": "keyed"}, self.keyed)
        self.whole = {path: bob.rows(path, limit=100) for path in self.paths()}
        self.begun = {path: bob.get(path, limit=5) for path in self.paths()}
        self.total, self.as_of = bob.badge(), bob.get("/inbox")["as_of"]
        self.events = tail(service, 0)
        self.half = self.events[len(self.events) // 2]["event_id"]
        self.since = bob.get("/reading", since=0)["version"]
        bob.read_to(self.story, scene_id=self.scene)
        self.later = []

    def paths(self):
        return ["/inbox", f"/users/{self.ann_id}/posts", "/relation/following"]

    def goes_on(self, server):
        """What was begun elsewhere goes on here as if nothing had been."""
        ann, bob, service = server.user(self.ann_id), server.user(self.bob_id), server.service()
        self.later.append(ann.publish(title="later")["id"])
        for path in self.paths():
            cursor, rows = self.begun[path]["next_cursor"], list(self.begun[path]["items"])
            while cursor:
                page = bob.get(path, limit=5, cursor=cursor)
                rows, cursor = rows + page["items"], page["next_cursor"]
            assert [json.dumps(row, sort_keys=True) for row in rows] == \
                [json.dumps(row, sort_keys=True) for row in self.whole[path]], path
        again = ann.expect(201, "POST", "/v1/posts", {**NOTE, "title": "keyed"}, self.keyed)
        assert again == self.answered
        events = tail(service, self.half)
        assert events[:len(self.events) - len(self.events) // 2 - 1] == self.events[len(self.events) // 2 + 1:]
        assert events[-1]["target_id"] == self.later[-1]
        assert [row["story_id"] for row in bob.get("/reading", since=self.since)["items"]] == [self.story]

    def ends(self, server):
        """Up to the moment that was told at the beginning, and no further."""
        bob = server.user(self.bob_id)
        assert bob.mark_read(up_to=self.as_of)["marked"] == self.total
        assert bob.badge() == len(self.later)


def test_what_clients_hold_is_good_on_every_server_and_across_takeovers(make_servers):
    servers = make_servers(3, settings=FREE)
    writer = writer_of(servers)
    held = Held(others_of(servers, writer)[0])
    for one in servers:
        held.goes_on(one)
    leave(writer)
    writer.kill()
    others = others_of(servers, writer)
    for one in others:
        held.goes_on(one)
    writer.start()
    held.goes_on(writer)
    stopped(writer_of(servers))
    left = [one for one in servers if one.process.poll() is None]
    held.goes_on(left[0])
    held.ends(left[1])


def test_a_lone_directory_a_cluster_and_a_lone_one_again(make_server, make_servers):
    """Clients go on with all that they hold; only --mysql comes and goes."""
    lone = make_server(settings=FREE).start()
    held = Held(lone)
    stopped(lone)
    first, = make_servers(1, data=lone.data, settings=FREE)
    wait_for_role(first, "writer")
    held.goes_on(first)
    second = make_server(arguments=list(first.arguments), settings=FREE).start()
    held.goes_on(second)
    wait_for_all([first, second])
    stopped(first)
    held.goes_on(second)
    stopped(second)
    alone = make_server(data=second.data, settings=FREE).start()
    held.goes_on(alone)
    held.ends(alone)
    stopped(alone)
    second.start()  # and once more
    wait_for_role(second, "writer")
    assert second.user(held.bob_id).badge() == len(held.later)


def test_streams_and_tickets_are_any_servers(make_servers):
    servers = make_servers(3, settings=FREE)
    writer = writer_of(servers)
    follower, other = others_of(servers, writer)
    bob = writer.user(2)
    bob.follow(1)
    ticket = follower.user(2).post("/stream/ticket", status=201)["ticket"]
    for one, status in ((other, 200), (writer, 401), (follower, 401)):
        with connect(one) as connection:
            connection.sendall(f"GET /v1/stream?ticket={ticket} HTTP/1.1\r\nHost: x\r\n\r\n".encode())
            assert int(connection.recv(65536).split()[1]) == status, one
    streams = [Stream(one, bob.bearer) for one in (follower, other)]
    for one in streams:
        one.until("badge")
    leave(writer)
    writer.kill()
    post = other.user(1).publish()["id"]  # waits for the lease
    for one in streams:
        assert one.until("post").data["post_id"] == post
        one.close()
