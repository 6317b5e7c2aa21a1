"""When the database fails, as clients and load balancers see it. What the engine answers to each failure is proved in tests/cluster."""
import os
import signal
import socket
import threading

import pytest

from support.server import wait_until

NOTE = {"kind": "note", "title": "t", "body": "b"}


def database(word):
    """Tells the database's server what to do: see tests/support/with-mariadb."""
    with socket.socket(socket.AF_UNIX) as control:
        control.connect(os.environ["TIDINGS_TEST_MYSQL_CONTROL"])
        with control.makefile("rw") as lines:
            lines.write(word + "\n")
            lines.flush()
            assert lines.readline() == "ok\n"


def writable(client):
    """As /readyz has it, which is a refusal when there was no answer for some seconds."""
    answer = client.request("GET", "/readyz")
    return answer.status == 200 and answer.json["writable"]


def refused(actor, code, method, path, body=None):
    answer = actor.send(method, path, body)
    assert (answer.status, answer.json["code"]) == (503, code), answer
    assert int(answer.headers["retry-after"]) >= 1


@pytest.mark.parametrize("how, back, code", [("pause", "resume", "timeout"), ("kill", "start", "unreachable")])
def test_without_a_database_answers_are_503_and_all_is_well_afterwards(make_server, how, back, code):
    server = make_server(settings={"deadline_ms": 1000})
    author, fan = server.user(), server.user()
    fan.follow(author)
    author.publish()
    with server.client() as client:
        assert writable(client)
        database(how)
        try:
            refused(author, code, "POST", "/v1/posts", NOTE)
            refused(fan, code, "GET", "/v1/inbox/badge")
            assert client.request("GET", "/healthz").status == 200
            assert not writable(client)
            wait_until(lambda: client.request("GET", "/readyz").status == 503, "no answer for some seconds")
        finally:
            database(back)
        author.publish()
        wait_until(lambda: writable(client), "it can be written again")
        assert fan.check_adds_up() == 2


def publish_all(author, keys, answered):
    """Until the server no longer answers well; notes which keys it did."""
    for key in keys:
        try:
            answer = author.send("POST", "/v1/posts", NOTE, {"Idempotency-Key": key})
        except OSError:
            return
        if answer.status == 201:
            answered[key] = answer.json["id"]


SLOTS = 16  # an id's last bits are the slot of the server that made it


def start_in_slot(make_server, data, slot):
    """A server that has this slot, or None if it got another."""
    server = make_server(data=data)
    if server.user().publish()["id"] % SLOTS == slot:
        return server
    server.stop()
    return None


@pytest.mark.long
def test_a_server_that_slept_while_another_took_its_slot_writes_nothing_twice(make_server, tmp_path):
    """Put to sleep in the middle of its work, for longer than its lease; another one takes its slot and does the work."""
    sleeper = make_server(data=str(tmp_path / "data"))
    slot = sleeper.user().publish()["id"] % SLOTS
    authors = [sleeper.user() for _ in range(8)]
    keys = [f"key-{i}" for i in range(400)]
    early, late = [{} for _ in authors], [{} for _ in authors]
    threads = [threading.Thread(target=publish_all, args=(author, keys, done)) for author, done in zip(authors, early)]
    for thread in threads:
        thread.start()
    wait_until(lambda: all(len(done) > 20 for done in early), "work under way")
    sleeper.process.send_signal(signal.SIGSTOP)
    try:
        other = wait_until(lambda: start_in_slot(make_server, sleeper.data, slot), "another has its slot")
        elsewhere = [other.user(author.id) for author in authors]
        for author, done in zip(elsewhere, late):
            publish_all(author, keys, done)
    finally:
        sleeper.process.send_signal(signal.SIGCONT)
    for thread in threads:
        thread.join()
    for author, before, after in zip(elsewhere, early, late):
        assert len(after) == len(keys)
        assert all(after[key] == before[key] for key in before), "what was answered twice was one thing"
        assert author.get("/relation/counter", user_id=author.id)["posts"] == len(keys)
    sleeper.user().publish()
    for server in (sleeper, other):
        server.stop()
    sleeper.verify()
