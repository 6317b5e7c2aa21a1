"""What Kafka is told: everything, in order; and what is told when parts fail. Writes and answers go on all the while."""
import json
import os
import subprocess
import sys
import time

import database
import pytest
import topic
from confluent_kafka.admin import AdminClient, AlterConfigOpType, ConfigEntry, ConfigResource, ResourceType
from support.server import tidings, wait_until

KAFKA = {"kafka": topic.BROKER}


def some_events(server):
    ann, ben = server.users(2)
    post = ann.publish()["id"]
    ben.follow(ann)
    for _ in range(3):
        ben.react(f"/posts/{post}/like")
        ben.unreact(f"/posts/{post}/like")
    ben.comment(post, "first")
    return post


def test_every_event_is_told_in_order_with_its_key(make_servers):
    (server,) = make_servers(1, settings={**KAFKA, "kafka_partitions": 3})
    for _ in range(5):
        some_events(server)
    topic.catch_up(server)
    n, repeated = topic.check(server)
    assert n >= 40 and repeated == 0
    assert {message.partition() for message, _ in topic.read(server)} == {0, 1, 2}
    listed = server.admin().get("/events?limit=100")["items"]
    told = sorted((event for _, event in topic.read(server)), key=lambda event: event["event_id"])
    assert told[:100] == listed
