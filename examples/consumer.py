#!/usr/bin/env python3
"""Follows the events of Tidings in Kafka and counts them, exactly once each (docs/EVENTS.md):

    pip install confluent-kafka
    examples/consumer.py --kafka 127.0.0.1:9092 --topic tidings.tidings.events --state events.db

It keeps its own position, in the transaction that holds what it made of the events: whatever is told twice, and whenever it is
killed, it counts each event once. --until-idle SECONDS ends it when nothing new has come for so long.
"""
import argparse
import json
import sqlite3
import time

from confluent_kafka import Consumer, KafkaException, TopicPartition

TABLES = """
CREATE TABLE IF NOT EXISTS position (partition INTEGER PRIMARY KEY, next_offset INTEGER NOT NULL, event_id INTEGER NOT NULL);
CREATE TABLE IF NOT EXISTS late (event_id INTEGER PRIMARY KEY);
CREATE TABLE IF NOT EXISTS counts (type TEXT PRIMARY KEY, n INTEGER NOT NULL);
"""


def is_new(db, message, event):
    """Events of a partition come in the order of their ids, but for what is told again; and but for late ones, which say so."""
    if dict(message.headers() or []).get("late"):
        return db.execute("INSERT OR IGNORE INTO late VALUES (?)", [event["event_id"]]).rowcount > 0
    row = db.execute("SELECT event_id FROM position WHERE partition = ?", [message.partition()]).fetchone()
    return row is None or event["event_id"] > row[0]


def take(db, message):
    """What this consumer is for, and its position: together or not at all."""
    event = json.loads(message.value())
    with db:
        new = is_new(db, message, event)
        if new:
            db.execute("INSERT INTO counts VALUES (?, 1) ON CONFLICT DO UPDATE SET n = n + 1", [event["type"]])
        db.execute("INSERT INTO position VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET next_offset = excluded.next_offset, "
                   "event_id = MAX(event_id, excluded.event_id)",
                   [message.partition(), message.offset() + 1, event["event_id"] if new else 0])


def assign(consumer, db, topic):
    """All partitions, each from where this consumer got to."""
    known = dict(db.execute("SELECT partition, next_offset FROM position"))
    found = consumer.list_topics(topic, timeout=30).topics[topic]
    if found.error:
        raise KafkaException(found.error)
    consumer.assign([TopicPartition(topic, number, known.get(number, 0)) for number in found.partitions])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kafka", required=True)
    parser.add_argument("--topic", required=True)
    parser.add_argument("--state", required=True)
    parser.add_argument("--until-idle", type=float)
    arguments = parser.parse_args()
    db = sqlite3.connect(arguments.state)
    db.executescript(TABLES)
    # The offsets are this consumer's own: the group is only a name that the library wants.
    consumer = Consumer({"bootstrap.servers": arguments.kafka, "group.id": "example", "enable.auto.commit": False,
                         "auto.offset.reset": "earliest"})
    assign(consumer, db, arguments.topic)
    came = time.monotonic()
    while arguments.until_idle is None or time.monotonic() - came < arguments.until_idle:
        message = consumer.poll(0.5)
        if message is None:
            continue
        if message.error():
            raise KafkaException(message.error())
        take(db, message)
        came = time.monotonic()
    consumer.close()
    for name, n in db.execute("SELECT type, n FROM counts ORDER BY type"):
        print(name, n)


if __name__ == "__main__":
    main()
