"""8: bytes a user at one load: everybody follows 10 big authors who publish 5 posts a day for 30 days. The classic design thinks of a
million users, among whom the posts themselves count for nothing: so it is what one more user takes, the difference between
two sizes. Once with nothing read, and once with half of it read."""
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


CASES = {"nothing read": 0, "half of it read": 50}


def bytes_of_tidings(world, users):
    """{case: {memory and disk}}"""
    tidings, found = Tidings(world.directory / "s1"), {}
    try:
        tidings.fill(users, AUTHORS, POSTS, authors=AUTHORS)
        tidings.start("second")
        for case, percent in CASES.items():
            if percent:
                read_half(tidings, users)
            in_use = tidings.metrics()["tidings_data_bytes"]
            tidings.stop()
            tidings.start("second")  # what the engine needs in memory, not what filling left behind
            found[case] = {"disk": in_use, "memory": in_use + tidings.memory()[0]}
    finally:
        tidings.stop()
        remove(tidings.directory)
    return found


def bytes_of_redis(world, users):
    found = {}
    for case, percent in CASES.items():
        redis = Redis(world.directory / "s1-redis").start()
        try:
            redis.fill(users, AUTHORS, POSTS, authors=AUTHORS, read_percent=percent)
            memory = redis.info("used_memory")
            redis.sync("everysec")
            found[case] = {"disk": redis.disk(), "memory": memory}
        finally:
            redis.stop()
            remove(redis.directory)
    return found


def run(world, record, sizes):
    users = sizes.s1_users
    for who, measure in (("tidings", bytes_of_tidings), ("redis", bytes_of_redis)):
        few, many = measure(world, users), measure(world, 2 * users)
        for case in CASES:
            for what in ("memory", "disk"):
                record.add("space", f"{what}, {case}", who, "bytes", (many[case][what] - few[case][what]) / users)
    record.note("space", f"What {users:,} users add to {users:,} others, {AUTHORS * POSTS:,} posts. Memory of Tidings: the "
                "process's own, and the whole data file in use, as if all of it were being read, but no recent pairs "
                "(recent_mb at most, however many users there are). Disk of Tidings: the data "
                "file in use; of Redis: its compacted file. Besides, Tidings keeps base images and the log of the days that "
                "one may want to go back to. The classic design was estimated at 165 KB a user.")
