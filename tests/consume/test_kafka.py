"""What Kafka is told, by a lone server and by three: everything, in order, also when the broker or the writer fails."""
import itertools
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import table_rows
import topic
from conftest import replicas, writer_of
from support.metrics import scrape
from support.server import make_database, wait_until

LEASE_S = 3
numbers = itertools.count()


@pytest.fixture
def make_lone(make_server):
    """A server alone, with a topic that nobody else has."""
    def make(settings=None, **how):
        name = f"tests.{os.getpid()}.{next(numbers)}"
        return make_server(settings={**topic.SETTINGS, "kafka_topic": name, **(settings or {})}, **how).start()
    return make


def leave(server, how):
    server.close_actors()
    server.actors.clear()
    how(server)


# ---- One server ------------------------------------------------------------------------------------------------------


def test_every_event_is_told_in_order_with_its_key(make_lone):
    server = make_lone({"kafka_partitions": 3})
    for _ in range(5):
        topic.some_events(server)
    topic.catch_up(server)
    n, repeated = topic.check(server)
    assert n >= 40 and repeated == 0
    assert len({message.partition() for message, _ in topic.read(server)}) > 1
    told = sorted((event for _, event in topic.read(server)), key=lambda event: event["event_id"])
    assert told[:100] == server.admin().get("/events?limit=100")["items"]
    wait_until(lambda: topic.kafka_of(server)["told"] == n, "they are counted")
    assert scrape(server).get("tidings_consumer_told_total", consumer="kafka") == n
    assert scrape(server).get("tidings_consumer_failing", consumer="kafka") == 0
    assert not server.admin().get("/admin/webhooks")["items"], "it is no webhook"


def test_reads_are_told_if_they_are_kept(make_lone):
    server = make_lone({"read_events": 1})
    ann, ben = server.users(2)
    ben.follow(ann)
    post = ann.publish()["id"]
    ben.post(f"/posts/{post}/open")
    topic.catch_up(server)
    assert "PostRead" in [event["type"] for _, event in topic.read(server)]
    topic.check(server)


def test_a_server_that_starts_again_goes_on_where_it_was(make_lone):
    server = make_lone()
    topic.some_events(server)
    topic.catch_up(server)
    server.actors.clear()
    server.restart()
    topic.some_events(server)
    topic.catch_up(server)
    assert topic.check(server)[1] == 0


def test_an_example_in_another_language_counts_each_event_once(make_lone, tmp_path):
    server = make_lone()
    topic.some_events(server)
    topic.catch_up(server)
    command = [sys.executable, topic.ROOT / "examples/consumer.py", "--kafka", topic.BROKER, "--topic", topic.name_of(server),
               "--state", tmp_path / "state.db", "--until-idle", "2"]
    counted = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert counted == "CommentCreated 1\nFollowCreated 1\nPostPublished 1\nReactionCreated 3\nReactionDeleted 3\n"


def test_an_event_that_no_broker_takes_is_passed_over_and_told_of(make_lone):
    server = make_lone()
    ann = server.user()
    post = ann.publish()["id"]
    topic.catch_up(server)
    topic.limit_messages(server, topic.size_of_a_post(server) + 4)  # a comment's event is longer, by its post_id
    ann.comment(post)
    ann.publish()
    topic.catch_up(server)
    wait_until(lambda: topic.kafka_of(server)["refused"] == 1, "it is counted")
    line, = [line for line in server.log_lines() if line["message"].startswith("nobody takes an event")]
    types = {event["event_id"]: event["type"] for event in server.admin().get("/events?limit=100")["items"]}
    assert types[line["event_id"]] == "CommentCreated"
    topic.check(server, but=[line["event_id"]])
    letter, = server.admin().get("/admin/targets/kafka/dead")["items"]
    assert letter["event_id"] == line["event_id"] and "no message of its size" in letter["reason"]
    # What the brokers take by now is no dead letter any more, and comes behind what was told since.
    topic.limit_messages(server, 1_000_000)
    server.admin().post("/admin/targets/kafka/retry")
    wait_until(lambda: server.admin().get("/admin/targets/kafka/dead")["kept"] == 0, "it is told")
    assert line["event_id"] in [event["event_id"] for _, event in topic.read(server)]


@pytest.mark.parametrize("failing, mended", [("kill", "start"), ("pause", "resume")])
def test_a_broker_that_is_away_is_told_when_it_is_back(make_lone, failing, mended):
    server = make_lone()
    with topic.Load(server) as load:
        load.goes_on(5)
        wait_until(lambda: topic.told(server), "it is told")
        topic.control(failing)
        try:
            began, done = time.monotonic(), load.done
            load.goes_on(10)
            assert load.done - done > (time.monotonic() - began), "writes are as quick as before"
            if failing == "kill":
                wait_until(lambda: topic.kafka_of(server)["trouble"], "it says why")
        finally:
            topic.control(mended)
        load.goes_on(5)
    topic.catch_up(server, patience=90)
    topic.check(server)
    wait_until(lambda: not topic.kafka_of(server)["trouble"], "and nothing is wrong any more")
    if failing == "kill":
        said = [line["message"] for line in server.log_lines() if line.get("consumer") == "kafka"]
        assert said == ["the consumer fails", "the consumer works again"]


def test_the_outbox_says_how_far_kafka_is(make_lone):
    database = f"tables_kafka_{os.getpid()}"
    make_database(database)
    server = make_lone({"tables": table_rows.url_of(database)})
    topic.some_events(server)
    topic.catch_up(server)
    wait_until(lambda: table_rows.place(database)[1] == "ready", "the tables are filled")

    def statuses():
        return table_rows.sql(database, "SELECT DISTINCT status FROM yl_outbox_event ORDER BY status")

    wait_until(lambda: statuses() == [("3",)], "Kafka was told")
    topic.control("pause")
    try:
        topic.some_events(server)
        table_rows.catch_up(server, database)
        assert statuses() == [("1",), ("3",)]
    finally:
        topic.control("resume")
    wait_until(lambda: statuses() == [("3",)], "Kafka was told")
    payloads = {int(row[0]): json.loads(row[1]) for row in table_rows.sql(database, "SELECT id,payload FROM yl_outbox_event")}
    assert payloads == {event["event_id"]: event["yl"] for _, event in topic.read(server) if "yl" in event}


# ---- Several servers ---------------------------------------------------------------------------------------------------


def test_one_of_three_servers_tells_and_another_goes_on_when_it_ends(make_servers):
    servers = make_servers(3, settings=topic.SETTINGS)
    writer = writer_of(servers)
    topic.some_events(writer)
    topic.catch_up(writer)
    leave(writer, lambda server: server.stop())
    others = [one for one in servers if one is not writer]
    following = writer_of(others)
    topic.some_events(following)
    topic.catch_up(following)
    assert topic.check(following)[1] == 0
    replicas.wait_for_all(others)
    assert len({topic.told(one) for one in others}) == 1, "every server says the same"


def test_after_a_writer_was_killed_under_load_nothing_is_missing(make_servers):
    servers = make_servers(2, settings=topic.SETTINGS)
    writer = writer_of(servers)
    other = next(one for one in servers if one is not writer)
    with topic.Load(writer) as load:
        load.goes_on(10)
        writer.kill()
    writer.actors.clear()
    replicas.wait_for_role(other, "writer", patience=10 * LEASE_S)
    topic.some_events(other)
    topic.catch_up(other)
    topic.check(other)


def test_a_writer_that_stood_still_tells_nothing_behind_another(make_servers):
    servers = make_servers(2, settings=topic.SETTINGS)
    writer = writer_of(servers)
    other = next(one for one in servers if one is not writer)
    topic.some_events(writer)
    topic.catch_up(writer)
    os.kill(writer.process.pid, signal.SIGSTOP)
    try:
        replicas.wait_for_role(other, "writer", patience=10 * LEASE_S)
        topic.some_events(other)
        topic.catch_up(other)
    finally:
        os.kill(writer.process.pid, signal.SIGCONT)
    replicas.wait_for_role(writer, "follower")
    replicas.wait_for_all(servers)
    topic.some_events(other)
    topic.catch_up(other)
    assert topic.check(other)[1] == 0


# ---- Who may sign in -----------------------------------------------------------------------------------------------------


PASSWORD = "open sesame"  # of tests/support/with-kafka


def how_to(listener, sasl=None, ca="ca.pem", password=PASSWORD):
    """Of a server that uses this listener."""
    settings = {"kafka": os.environ[f"TIDINGS_TEST_KAFKA_{listener}"]}
    if "TLS" in listener:
        settings |= {"kafka_tls": 1, "kafka_ca_file": Path(os.environ["TIDINGS_TEST_KAFKA_CA"]).parent / ca}
    if sasl:
        settings |= {"kafka_sasl": sasl, "kafka_user": "tidings"}
    return {"settings": settings, "environment": {"TIDINGS_KAFKA_PASSWORD": password}}


def all_that_is_said(server):
    admin = server.admin()
    return "".join([server.log_text(), Path(f"/proc/{server.process.pid}/cmdline").read_text(),
                    str(admin.get("/admin/status")), str(admin.send("GET", "/v1/admin/metrics").body)])


@pytest.mark.parametrize("listener, sasl", [("SASL", "plain"), ("TLS", None), ("SASL_TLS", "scram-sha-512")])
def test_brokers_that_want_passwords_and_tls(make_lone, listener, sasl):
    server = make_lone(**how_to(listener, sasl))
    topic.some_events(server)
    topic.catch_up(server)
    topic.check(server)
    assert PASSWORD not in all_that_is_said(server)


@pytest.mark.parametrize("how, why", [
    ({"listener": "TLS", "ca": "other.pem"}, "certificate verify failed"),
    ({"listener": "SASL", "sasl": "plain", "password": "close sesame"}, "uthentication failed"),
])
def test_a_broker_that_cannot_be_trusted_or_does_not_trust_is_told_of_and_hurts_nobody(make_lone, how, why):
    server = make_lone(**how_to(**how))
    topic.some_events(server)
    wait_until(lambda: why in (topic.kafka_of(server) or {"trouble": ""})["trouble"], "it says why")
    assert topic.kafka_of(server)["told"] == 0
    assert "sesame" not in all_that_is_said(server)


def test_settings_that_make_no_sense_are_refused(make_server):
    server = make_server(settings={"kafka": topic.BROKER, "kafka_sasl": "plain"})
    with pytest.raises(AssertionError, match="SASL wants a user and a password"):
        server.start()
