"""A server that comes: how long until it answers, and what the first badge of a user takes, of whom it has nothing in memory."""
import http.client
import threading
import time

from ..services import Tidings

ASKING = 16


def ask_badges(port, token, users):
    """Each of them once, on several connections at a time; microseconds, the slowest last."""
    times, waiting = [], list(users)

    def ask():
        connection = http.client.HTTPConnection("127.0.0.1", port)
        while waiting:
            user, began = waiting.pop(), time.monotonic()
            connection.request("GET", "/v1/inbox/badge", headers={"Authorization": f"Bearer {token}", "X-User-Id": str(user)})
            answer = connection.getresponse()
            answer.read()
            if answer.status != 200:
                raise RuntimeError(f"a badge was refused: {answer.status}")
            times.append((time.monotonic() - began) * 1e6)
        connection.close()

    threads = [threading.Thread(target=ask) for _ in range(ASKING)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return sorted(times)


def run(community, record, sizes):
    token = Tidings.token(Tidings, 1, "service")
    users = range(1, min(sizes.users, 2000) + 1)
    for number in range(sizes.rounds):
        server = community.server(f"start-{number}")
        began = time.monotonic()
        server.start(community.world.database)
        record.add("start", "until it listens", "tidings", "ms", (time.monotonic() - began) * 1000)
        for case in ("first badges", "second badges"):
            before = community.meter.read()
            times = ask_badges(server.port, token, users)
            for name, value in community.meter.between(before, community.meter.read(), len(users)).items():
                record.add("start", case, "tidings", name, value)
            record.add("start", case, "tidings", "p50_us", times[len(times) // 2])
            record.add("start", case, "tidings", "p99_us", times[len(times) * 99 // 100])
        server.stop()
        community.meter.servers.remove(server)
