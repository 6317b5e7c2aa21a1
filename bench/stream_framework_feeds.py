#!/usr/bin/env python3
"""Stream-Framework's feeds on Redis: adds and pages of ten a second by one thread, and a fan-out as its tasks do it. Run by
bench/suite/cluster/peer.py, in an environment that scripts/setup-bench makes.

    tests/support/with-redis --single build/venv-stream-framework/bin/python bench/stream_framework_feeds.py SECONDS FANS...

Its feed managers cannot be imported by today's Python (`async` is a word of the language), so what they do for a publish is done here by their feeds:
the activity is stored once, then added to each follower's feed, a hundred in a pipeline.
"""
import json
import os
import sys
import time
from datetime import datetime, timedelta

from stream_framework import settings
from stream_framework.activity import Activity
from stream_framework.feeds.redis import RedisFeed
from stream_framework.verbs.base import Add

CHUNK = 100
PAGE = 10


class Feed(RedisFeed):
    key_format = "feed:%(user_id)s"


def activity(number):
    return Activity(actor=number % 1000, verb=Add, object=number, time=datetime(2026, 1, 1) + timedelta(seconds=number))


def a_second(seconds, step):
    began, n = time.monotonic(), 0
    while time.monotonic() - began < seconds:
        step(n)
        n += 1
    return n / (time.monotonic() - began)


def add(n):
    one = activity(n)
    Feed.insert_activity(one)
    Feed(1 + n % 50).add(one)


def page(n):
    if len(Feed(1 + n % 50)[:PAGE]) != PAGE:
        raise SystemExit("a page is not full: more must be added before")


def publish(number, fans):
    began, one = time.monotonic(), activity(number)
    Feed.insert_activity(one)
    for first in range(0, fans, CHUNK):
        with Feed.get_timeline_batch_interface() as batch:
            for fan in range(first, min(first + CHUNK, fans)):
                Feed(1000 + fan).add(one, batch_interface=batch, trim=False)
    return (time.monotonic() - began) * 1000


def main():
    seconds, fans = float(sys.argv[1]), [int(word) for word in sys.argv[2:]]
    port = int(os.environ["TIDINGS_TEST_REDIS"].rpartition(":")[2])
    settings.STREAM_REDIS_CONFIG = {"default": {"host": "127.0.0.1", "port": port, "db": 0, "password": None}}
    for n in range(50 * PAGE):
        add(n)
    found = {"add": a_second(seconds, lambda n: add(50 * PAGE + n)), "page": a_second(seconds, page)}
    found["publish"] = {n: publish(10_000_000 + n, n) for n in fans}
    print(json.dumps(found))


if __name__ == "__main__":
    main()
