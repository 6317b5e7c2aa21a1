"""The broker that tests/support/with-kafka has started: a topic as a consumer reads it, and the broker's failing."""
import json
import os
import socket
import threading
from pathlib import Path

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
    """The topic that the server's flags name, or that of its database."""
    if "kafka_topic" in server.settings:
        return server.settings["kafka_topic"]
    url = server.arguments[server.arguments.index("--mysql") + 1]
    return f"tidings.{url.split('?')[0].rpartition('/')[2]}.events"


def admin_of(server):
    """One connection is enough for one who asks again and again."""
    if getattr(server, "asking", None) not in server.actors:
        server.asking = server.admin()
    return server.asking


def events_of(server):
    """The ids of all events."""
    found, after = [], 0
    while True:
        page = admin_of(server).get(f"/events?limit=100&after={after}")["items"]
        if not page:
            return found
        found += [event["event_id"] for event in page]
        after = found[-1]


def kafka_of(server):
    """As an operator sees it; None before anybody has made its row."""
    rows = admin_of(server).get("/admin/status")["consumers"]
    return next((row for row in rows if row["name"] == "kafka"), None)


def told(server):
    row = kafka_of(server)
    return row["position"] if row else 0


def catch_up(server, patience=60):
    wait_until(lambda: told(server) >= max(events_of(server), default=0), "all events were told", patience)


def read(server):
    """Every message of the topic up to now; each is as the schema says."""
    consumer = Consumer({"bootstrap.servers": BROKER, "group.id": "test", "enable.auto.commit": False})
    topic, found = name_of(server), []
    try:
        partitions = consumer.list_topics(topic, timeout=30).topics[topic].partitions
        ends = {number: consumer.get_watermark_offsets(TopicPartition(topic, number), timeout=30)[1] for number in partitions}
        consumer.assign([TopicPartition(topic, number, 0) for number in partitions])
        missing = sum(ends.values())
        while missing > 0:
            message = consumer.poll(30)
            assert message is not None and not message.error(), message and message.error()
            missing -= 1
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
        if event["event_id"] in seen:
            repeated += 1
            continue
        seen.add(event["event_id"])
        assert event["event_id"] > last.get(message.partition(), 0), "not in order"
        last[message.partition()] = event["event_id"]
    assert seen == set(events_of(server)) - set(but)
    return len(seen), repeated


class Load:
    """Users who publish and react until it is stopped. Who is not answered stops."""

    def __init__(self, server, writers=4):
        self.stopping = threading.Event()
        self.done = 0
        users = [server.user() for _ in range(writers)]
        self.threads = [threading.Thread(target=self.write, args=[user]) for user in users]

    def write(self, user):
        while not self.stopping.is_set():
            try:
                post = user.publish()["id"]
                for _ in range(5):
                    user.react(f"/posts/{post}/like")
                    user.unreact(f"/posts/{post}/like")
                self.done += 1
            except (OSError, AssertionError):
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


def some_events(server):
    ann, ben = server.users(2)
    post = ann.publish()["id"]
    ben.follow(ann)
    for _ in range(3):
        ben.react(f"/posts/{post}/like")
        ben.unreact(f"/posts/{post}/like")
    ben.comment(post, "first")
    return post
