"""8: bytes a user at S1's own load: everybody follows 10 big authors who publish 5 posts a day for 30 days; half of it
has been read. What the posts themselves take is in it, too."""
import http.client
import json

from .services import Redis, Tidings, remove

AUTHORS, POSTS = 10, 150


def read_half(tidings, users):
    """Marks every second item, 500 in a request."""
    connection = http.client.HTTPConnection("127.0.0.1", tidings.port)
    headers = {"Authorization": f"Bearer {tidings.token(1, 'service')}"}

    def call(user, method, path, body=None):
        connection.request(method, path, json.dumps(body) if body else None, {**headers, "X-User-Id": str(user)})
        answer = connection.getresponse()
        text = answer.read()
        if answer.status != 200:
            raise RuntimeError(text.decode())
        return json.loads(text)

    for user in range(1, users + 1):
        ids, path = [], "/v1/inbox?limit=100"
        while path:
            page = call(user, "GET", path)
            ids += [item["post_id"] for item in page["items"]]
            path = page["next_cursor"] and f"/v1/inbox?limit=100&cursor={page['next_cursor']}"
        half = ids[::2]
        for first in range(0, len(half), 500):
            call(user, "POST", "/v1/inbox/mark-read", {"post_ids": half[first:first + 500]})


def of_tidings(world, record, users):
    tidings = Tidings(world.directory / "s1")
    empty = Tidings(world.directory / "s1-empty")
    try:
        tidings.fill(users, AUTHORS, POSTS, authors=AUTHORS)
        tidings.start("second")
        for case in ("nothing read", "half of it read"):
            if case != "nothing read":
                read_half(tidings, users)
            in_use = tidings.metrics()["tidings_data_bytes"]
            record.add("space", f"disk, {case}", "tidings", "bytes", in_use / users)
            tidings.stop()
            tidings.start("second")  # what the engine needs in memory, not what filling left behind
            empty.start("second")
            own = max(tidings.memory()[0] - empty.memory()[0], 0)
            empty.stop()
            record.add("space", f"memory, {case}", "tidings", "bytes", (own + in_use) / users)
    finally:
        tidings.stop()
        empty.stop()
        remove(tidings.directory)
        remove(empty.directory)


def of_redis(world, record, users):
    for case, percent in (("nothing read", 0), ("half of it read", 50)):
        redis = Redis(world.directory / "s1-redis").start()
        try:
            before = redis.info("used_memory")
            redis.fill(users, AUTHORS, POSTS, authors=AUTHORS, read_percent=percent)
            record.add("space", f"memory, {case}", "redis", "bytes", (redis.info("used_memory") - before) / users)
            redis.sync("everysec")
            record.add("space", f"disk, {case}", "redis", "bytes", redis.disk() / users)
        finally:
            redis.stop()
            remove(redis.directory)


def run(world, record, sizes):
    of_tidings(world, record, sizes.s1_users)
    of_redis(world, record, sizes.s1_users)
    record.note("space", f"{sizes.s1_users:,} users, {AUTHORS * POSTS:,} posts, whose own bytes are shared out among the "
                "users. Memory of Tidings: the process's own, and the whole data file in use, as if all of it were being "
                "read. Disk of Tidings: the data file in use; of Redis: its compacted file. S1 estimates 165 KB a user.")
