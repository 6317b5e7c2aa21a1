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


def run(world, record, sizes):
    users = sizes.s1_users
    tidings, redis = Tidings(world.directory / "s1"), Redis(world.directory / "s1-redis").start()
    try:
        tidings.fill(users, AUTHORS, POSTS, authors=AUTHORS)
        tidings.start("second")
        read_half(tidings, users)
        in_use = tidings.metrics()["tidings_data_bytes"]
        tidings.stop()
        tidings.start("second")  # what the engine needs in memory, not what filling left behind
        own, mapped = tidings.memory()
        empty = Tidings(world.directory / "s1-empty").start("second")
        own -= empty.memory()[0]
        empty.stop()
        before = redis.info("used_memory")
        redis.fill(users, AUTHORS, POSTS, authors=AUTHORS, read_percent=50)
        record.add("space", "memory", "redis", "bytes", (redis.info("used_memory") - before) / users)
        redis.sync("everysec")
        record.add("space", "disk", "redis", "bytes", redis.disk() / users)
        record.add("space", "disk", "tidings", "bytes", in_use / users)
        record.add("space", "memory", "tidings", "bytes", max(own, 0) / users + in_use / users)
        record.note("space", f"{users:,} users. Memory of Tidings: the process's own ({own / users:,.0f} bytes a user) and "
                    f"the whole data file, as if all of it were in use ({mapped / 1e6:.0f} MB were mapped). "
                    "S1 estimates 165 KB a user.")
    finally:
        tidings.stop()
        redis.stop()
        for name in ("s1", "s1-redis", "s1-empty"):
            remove(world.directory / name)
