"""The broker that tests/support/with-kafka has started: the topic of a database as a consumer reads it, and the broker's failing."""
import json
import os
import socket
import threading
from pathlib import Path

import database
from confluent_kafka import Consumer, TopicPartition
from confluent_kafka.admin import AdminClient, AlterConfigOpType, ConfigEntry, ConfigResource, ResourceType
from jsonschema import Draft202012Validator
from support.server import wait_until

ROOT = Path(__file__).resolve().parents[2]
BROKER = os.environ.get("TIDINGS_TEST_KAFKA", "none")
SETTINGS = {"kafka": BROKER, "react_burst": 1_000_000}  # of servers; those who write do so as fast as they can
SCHEMA = Draft202012Validator(json.loads((ROOT / "docs/events.schema.json").read_text()))


def control(word):
    with socket.socket(socket.AF_UNIX) as client, client.makefile("rw") as lines:
        client.connect(os.environ["TIDINGS_TEST_KAFKA_CONTROL"])
        lines.write(word + "\n")
        lines.flush()
        assert lines.readline() == "ok\n"


def name_of(server):
    return f"tidings.{database.name_of(server)}.events"


def events_of(server):
    """The ids of all events, by the outbox."""
    return [int(row) for row in database.run("SELECT position FROM outbox_event ORDER BY position", database.name_of(server))]


def told(server):
    return int(database.run("SELECT position FROM relay WHERE id=1", database.name_of(server))[0])


def holder(server):
    """The slot of who has the lease, or None."""
    rows = database.run("SELECT slot FROM relay WHERE id=1 AND held_until > NOW(3)", database.name_of(server))
    return int(rows[0]) if rows else None


def is_caught_up(server):
    return told(server) >= max(events_of(server), default=0)


def catch_up(server, patience=60):
    wait_until(lambda: is_caught_up(server), "all events were told", patience)


def read(server, from_offsets=None):
    """Every message of the topic up to now; each is as the schema says."""
    consumer = Consumer({"bootstrap.servers": BROKER, "group.id": "test", "enable.auto.commit": False,
                         "enable.partition.eof": False})
    topic, found = name_of(server), []
    try:
        partitions = consumer.list_topics(topic, timeout=30).topics[topic].partitions
        ends = {number: consumer.get_watermark_offsets(TopicPartition(topic, number), timeout=30)[1] for number in partitions}
        consumer.assign([TopicPartition(topic, number, (from_offsets or {}).get(number, 0)) for number in partitions])
        missing = {number: end - (from_offsets or {}).get(number, 0) for number, end in ends.items()}
        while sum(missing.values()) > 0:
            message = consumer.poll(30)
            assert message is not None and not message.error(), message and message.error()
            missing[message.partition()] -= 1
            event = json.loads(message.value())
            SCHEMA.validate(event)
            found.append((message, event))
    finally:
        consumer.close()
    return found


def size_of_a_post(server):
    """Of the largest batch of one that tells of a post."""
    sizes = [len(message.key()) + len(message.value()) for message, event in read(server) if event["type"] == "PostPublished"]
    return max(sizes) + 70  # what it has besides key and value


def limit_messages(server, n):
    """The topic takes no larger ones."""
    resource = ConfigResource(ResourceType.TOPIC, name_of(server), incremental_configs=[
        ConfigEntry("max.message.bytes", str(n), incremental_operation=AlterConfigOpType.SET)])
    admin = AdminClient({"bootstrap.servers": BROKER})
    for future in admin.incremental_alter_configs([resource]).values():
        future.result(30)


def key_of(event):
    post = event["target_id"] if event["target_type"] == "post" else event["post_id"]
    return f"post:{post}" if post else f"user:{event['actor_user_id']}"


def check(server, but=()):
    """All events are there, by the first time that each was told in their order in each partition; repetitions may stand between.
    How many there were."""
    last, seen, repeated = {}, set(), 0
    for message, event in read(server):
        assert message.key().decode() == key_of(event)
        late = dict(message.headers() or []).get("late")
        if event["event_id"] in seen:
            repeated += 1
            continue
        seen.add(event["event_id"])
        if not late:
            assert event["event_id"] > last.get(message.partition(), 0), "not in order"
            last[message.partition()] = event["event_id"]
    assert seen == set(events_of(server)) - set(but)
    return len(seen), repeated


class Load:
    """Users who publish and react until it is stopped. What a server does not answer is done again."""

    def __init__(self, *servers, writers=4):
        self.stopping = threading.Event()
        self.done = 0
        self.threads = [threading.Thread(target=self.write, args=[servers[i % len(servers)]]) for i in range(writers)]

    def write(self, server):
        user = server.user()
        while not self.stopping.is_set():
            try:
                post = user.publish()["id"]
                for _ in range(5):
                    user.react(f"/posts/{post}/like")
                    user.unreact(f"/posts/{post}/like")
                self.done += 1
            except OSError:
                return  # that server is gone

    def __enter__(self):
        for thread in self.threads:
            thread.start()
        return self

    def __exit__(self, *_):
        self.stopping.set()
        for thread in self.threads:
            thread.join()

    def goes_on(self, n):
        until = self.done + n
        wait_until(lambda: self.done >= until, "writing goes on")


def kafka_of(server):
    """As an operator sees it. One connection is enough for one who asks again and again."""
    asking = getattr(server, "asking", None) or server.admin()
    server.asking = asking
    return asking.get("/admin/status")["cluster"]["kafka"]


def some_events(server):
    ann, ben = server.users(2)
    post = ann.publish()["id"]
    ben.follow(ann)
    for _ in range(3):
        ben.react(f"/posts/{post}/like")
        ben.unreact(f"/posts/{post}/like")
    ben.comment(post, "first")
    return post


def owner(servers):
    """Of the lease; and the others."""
    slot = wait_until(lambda: holder(servers[0]) is not None and [holder(servers[0])], "somebody relays")[0]
    return servers[slot], [one for one in servers if one is not servers[slot]]
