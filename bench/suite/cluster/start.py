"""A server that comes again, and one that comes with an empty directory: how long until it is ready, and what the first badge of a user takes, of
whom it has nothing in memory."""
import http.client
import threading
import time

from .. import services
from .community import Server

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


def measure(community, record, sizes, case, server):
    began = time.monotonic()
    server.start(community.replicas.database)
    community.meter.servers.append(server)
    record.add("start", case, "tidings", "ms", (time.monotonic() - began) * 1000)
    token = server.token(1, "service")
    for asked in ("first badges", "second badges") if case == "again" else ():
        before = community.meter.read()
        times = ask_badges(server.port, token, range(1, min(sizes.users, 2000) + 1))
        for name, value in community.meter.between(before, community.meter.read(), len(times)).items():
            record.add("start", asked, "tidings", name, value)
        record.add("start", asked, "tidings", "p50_us", times[len(times) // 2])
        record.add("start", asked, "tidings", "p99_us", times[len(times) * 99 // 100])
    server.stop()
    community.meter.servers.remove(server)


def run(community, record, sizes):
    for number in range(sizes.rounds):
        server = Server(community.directory / f"start-{number}")
        for case in ("joins", "again"):
            measure(community, record, sizes, case, server)
        services.remove(server.directory)
