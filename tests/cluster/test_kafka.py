"""What Kafka is told: everything, in order, once; dead letters, telling again, and what is kept. How it is when servers and the broker
fail: test_kafka_failures.py."""
import json
import os
import pty
import re
import subprocess
import sys
import threading
import time
from pathlib import Path

import database
import pytest
import topic
from support.server import BIN, clean_environment, tidings, wait_until


def test_every_event_is_told_in_order_with_its_key(make_servers):
    (server,) = make_servers(1, settings={**topic.SETTINGS, "kafka_partitions": 3})
    for _ in range(5):
        topic.some_events(server)
    topic.catch_up(server)
    n, repeated = topic.check(server)
    assert n >= 40 and repeated == 0
    assert len({message.partition() for message, _ in topic.read(server)}) > 1
    listed = server.admin().get("/events?limit=100")["items"]
    told = sorted((event for _, event in topic.read(server)), key=lambda event: event["event_id"])
    assert told[:100] == listed


def test_an_example_in_another_language_counts_each_event_once(make_servers, tmp_path):
    (server,) = make_servers(1, settings=topic.SETTINGS)
    post = topic.some_events(server)
    topic.catch_up(server)
    command = [sys.executable, topic.ROOT / "examples/consumer.py", "--kafka", topic.BROKER, "--topic", topic.name_of(server),
               "--state", tmp_path / "state.db", "--until-idle", "2"]
    counted = [subprocess.run(command, capture_output=True, text=True, check=True).stdout]
    replay(server, topic.events_of(server)[0])
    wait_until(lambda: len(topic.read(server)) == 2 * len(topic.events_of(server)), "all were told again")
    counted.append(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    assert counted[0] == counted[1] == "CommentCreated 1\nFollowCreated 1\nPostPublished 1\nReactionCreated 3\nReactionDeleted 3\n"
    server.user().react(f"/posts/{post}/like")
    topic.catch_up(server)
    assert "ReactionCreated 4\n" in subprocess.run(command, capture_output=True, text=True, check=True).stdout


# ---- Events that cannot be told ------------------------------------------------------------------------------------


def dead(server, *more):
    done = tidings("cluster", "dead", "--json", "--mysql", database.url_of(server), *more)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def replay(server, since, *more):
    done = tidings("cluster", "replay", "kafka", "--since", str(since), "--mysql", database.url_of(server), *more)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_damaged_event_is_a_dead_letter_and_the_rest_goes_on(make_servers):
    (server,) = make_servers(1, settings={**topic.SETTINGS, "workers": 0})
    for _ in range(3):
        topic.some_events(server)
    assert topic.holder(server) is None and topic.told(server) == 0, "without workers nobody relays"
    ids = topic.events_of(server)
    poison = {ids[4]: "event_type = 250", ids[11]: "event_type = 0", ids[-1]: "reaction = 77"}
    name = database.name_of(server)
    right = {}
    for number, damage in poison.items():
        column = damage.split()[0]
        right[number] = f"{column} = " + database.run(f"SELECT {column} FROM outbox_event WHERE position = {number}", name)[0]
        database.run(f"UPDATE outbox_event SET {damage} WHERE position = {number}", name)
    server.settings["workers"] = 1
    server.restart()
    topic.catch_up(server)
    topic.check(server, but=poison)
    assert [letter["event_id"] for letter in dead(server)] == sorted(poison)
    assert all("damaged" in letter["reason"] for letter in dead(server))
    wait_until(lambda: topic.kafka_of(server)["dead"] == 3, "they are counted")
    # Unmended they are dead again; mended they are told, late.
    assert all(letter["again"] for letter in dead(server, "--retry"))
    wait_until(lambda: not any(letter["again"] for letter in dead(server)), "they were tried")
    assert [letter["again"] for letter in dead(server, "--retry", "--wait")] == [False] * 3
    for number, mended in right.items():
        database.run(f"UPDATE dead_letter SET {mended} WHERE position = {number}; "
                     f"UPDATE outbox_event SET {mended} WHERE position = {number}", name)
    assert not dead(server, "--retry", "--wait"), "they are told"
    topic.check(server)


def test_an_event_that_no_broker_takes_is_a_dead_letter(make_servers):
    (server,) = make_servers(1, settings=topic.SETTINGS)
    ann = server.user()
    post = ann.publish()["id"]
    topic.catch_up(server)
    topic.limit_messages(server, topic.size_of_a_post(server) + 4)  # a comment's event is longer, by its post_id
    ann.comment(post)
    ann.publish()
    topic.catch_up(server)
    letters = dead(server)
    types = {event["event_id"]: event["type"] for event in server.admin().get("/events?limit=100")["items"]}
    assert [types[letter["event_id"]] for letter in letters] == ["CommentCreated"], (letters, types)
    topic.check(server, but=[letters[0]["event_id"]])
    topic.limit_messages(server, 1_000_000)
    dead(server, "--retry")
    wait_until(lambda: not dead(server), "it is told")
    topic.check(server)


# ---- Telling again -------------------------------------------------------------------------------------------------


def test_replay_tells_again_what_was_told_since(make_servers):
    (server,) = make_servers(1, settings=topic.SETTINGS)
    for _ in range(3):
        topic.some_events(server)
    topic.catch_up(server)
    ids = topic.events_of(server)
    assert f"from event {ids[10]} on" in replay(server, ids[10])
    wait_until(lambda: len(topic.read(server)) == len(ids) + len(ids[10:]), "they are told again")
    assert topic.check(server) == (len(ids), len(ids[10:]))
    assert "from event" in replay(server, "2026-01-01T00:00:00Z")
    wait_until(lambda: len(topic.read(server)) == 2 * len(ids) + len(ids[10:]), "all of them are")
    assert "from event" in replay(server, ids[0], "--wait")
    assert len(topic.read(server)) == 3 * len(ids) + len(ids[10:]), "when it returns they are"
    assert "not been told" in replay(server, ids[-1] + 1000)
    assert "not been told" in replay(server, "2100-01-01T00:00:00Z")


BEGAN_MS = 1767225600000  # 2026-01-01T00:00:00Z
MANY = 20000


def test_a_time_is_found_without_reading_all_events(make_servers):
    """A second apart, in an order that is wrong by up to a minute."""
    (server,) = make_servers(1, settings={**topic.SETTINGS, "workers": 0})
    name = database.name_of(server)
    server.stop()
    database.run(f"INSERT INTO outbox_event SELECT seq * 3, 1, {BEGAN_MS} + seq * 1000 + seq * 7919 % 60000, 1, 1, 1, 1, 0, 0, 0 "
                 f"FROM seq_1_to_{MANY}; UPDATE relay SET position = 3 * {MANY}", name)

    def rows_read():
        return int(database.run("SHOW GLOBAL STATUS LIKE 'Handler_read_next'")[0].split()[1])

    for hours in (5, 3, 1, 0):
        (first,) = database.run(f"SELECT MIN(position) FROM outbox_event WHERE happened_at >= {BEGAN_MS} + {hours} * 3600000", name)
        before = rows_read()
        assert f"from event {first} on" in replay(server, f"2026-01-01T{hours:02}:00:00Z"), hours
        assert rows_read() - before < MANY / 10
        database.run(f"UPDATE relay SET position = 3 * {MANY}", name)
    assert "not been told" in replay(server, "2026-01-01T06:00:00Z")
    database.run("DELETE FROM outbox_event; UPDATE relay SET position = 0", name)


def on_a_terminal(*command):
    """What it writes to one."""
    ours, its = pty.openpty()
    try:
        subprocess.run(command, env=clean_environment(), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=its, check=True)
        return os.read(ours, 65536).decode()
    finally:
        os.close(its)
        os.close(ours)


def test_who_waits_on_a_terminal_sees_how_far_it_is(make_servers):
    (server,) = make_servers(1, settings=topic.SETTINGS)
    topic.some_events(server)
    topic.catch_up(server)
    n = len(topic.events_of(server))
    topic.control("pause")
    mended = threading.Timer(2, topic.control, ["resume"])
    mended.start()
    said = on_a_terminal(BIN, "cluster", "replay", "kafka", "--since", str(topic.events_of(server)[0]), "--wait", "--mysql",
                         database.url_of(server))
    mended.join()
    assert re.search(rf"told again +0 of {n}\b", said), said


# ---- Who may sign in; what is kept ----------------------------------------------------------------------------------


PASSWORD = "open sesame"  # of tests/support/with-kafka


def how_to(listener, sasl=None, ca="ca.pem", password=PASSWORD, **more):
    """Of a server that uses this listener."""
    settings = {"kafka": os.environ[f"TIDINGS_TEST_KAFKA_{listener}"]}
    if "TLS" in listener:
        settings |= {"kafka_tls": 1, "kafka_ca_file": Path(os.environ["TIDINGS_TEST_KAFKA_CA"]).parent / ca}
    if sasl:
        settings |= {"kafka_sasl": sasl, "kafka_user": "tidings"}
    return {"settings": settings, "environment": more or {"TIDINGS_KAFKA_PASSWORD": password}}


def all_that_is_said(server):
    """By a server, to whoever may look; and by the command."""
    admin = server.admin()
    said = [server.log_text(), Path(f"/proc/{server.process.pid}/cmdline").read_text(), str(admin.get("/admin/status")),
            str(admin.send("GET", "/v1/admin/metrics").body),
            tidings("cluster", "status", "--json", "--mysql", database.url_of(server)).stdout]
    assert all(said)
    return "".join(said)


@pytest.mark.parametrize("listener, sasl", [("SASL", "plain"), ("SASL", "scram-sha-256"), ("TLS", None), ("SASL_TLS", "plain"),
                                            ("SASL_TLS", "scram-sha-512")])
def test_brokers_that_want_passwords_and_tls(make_servers, listener, sasl):
    (server,) = make_servers(1, **how_to(listener, sasl))
    topic.some_events(server)
    topic.catch_up(server)
    topic.check(server)
    assert PASSWORD not in all_that_is_said(server)


def test_the_password_may_be_in_a_file(make_servers, tmp_path):
    (tmp_path / "password").write_text(PASSWORD + "\n")
    (server,) = make_servers(1, **how_to("SASL_TLS", "scram-sha-256", TIDINGS_KAFKA_PASSWORD_FILE=os.fspath(tmp_path / "password")))
    topic.some_events(server)
    topic.catch_up(server)


@pytest.mark.parametrize("how, why", [
    ({"listener": "TLS", "ca": "other.pem"}, "certificate verify failed"),
    ({"listener": "SASL_TLS", "sasl": "scram-sha-512", "ca": "other.pem"}, "certificate verify failed"),
    ({"listener": "SASL_TLS", "sasl": "scram-sha-512", "password": "close sesame"}, "uthentication failed"),
    ({"listener": "SASL", "sasl": "plain", "password": "close sesame"}, "uthentication failed"),
])
def test_a_broker_that_cannot_be_trusted_or_does_not_trust_is_told_of_and_hurts_nobody(make_servers, how, why):
    (server,) = make_servers(1, **how_to(**how))
    topic.some_events(server)
    wait_until(lambda: why in (topic.kafka_of(server) or {"trouble": ""})["trouble"], "it says why")
    assert topic.told(server) == 0
    said = all_that_is_said(server)
    assert why in said and "sesame" not in said


def test_what_was_not_told_is_kept_twice_as_long(make_servers):
    (server,) = make_servers(1, settings={"kafka": "127.0.0.1:1", "event_days": 1})
    topic.some_events(server)
    name = database.name_of(server)
    wait_until(lambda: topic.holder(server) is not None, "Kafka is wanted")
    ids = topic.events_of(server)
    age = "UPDATE outbox_event SET happened_at = happened_at - {} * 3600000 WHERE position = {}"
    database.run(age.format(60, ids[0]) + ";" + age.format(30, ids[1]), name)
    wait_until(lambda: topic.events_of(server) == ids[1:], "the one that is too old for that is removed")
    assert topic.kafka_of(server)["missed"] in (0, 1)
    wait_until(lambda: topic.kafka_of(server)["missed"] == 1, "it is counted")
    # Nobody has wanted to tell Kafka for a day: it is kept no longer than others.
    server.settings.pop("kafka")
    server.restart()
    database.run("UPDATE relay SET wanted_at = wanted_at - INTERVAL 2 DAY WHERE id=1", name)
    wait_until(lambda: topic.events_of(server) == ids[2:], "it is removed")


def test_a_server_that_stops_in_order_hands_over_at_once(make_servers):
    servers = make_servers(2, settings=topic.SETTINGS)
    relay, (other,) = topic.owner(servers)
    began = time.monotonic()
    relay.stop()
    other.user().publish()
    topic.catch_up(other)
    assert time.monotonic() - began < 5
    assert topic.check(other) == (1, 0)
