"""Health, metrics, status, verify, the log; stopping in order."""
import glob
import http.client
import json
import re
import threading
import time

from support.client import Client, connect, exchange, read_answers
from support.metrics import Metrics, scrape
from support.server import SANITIZED, tidings, wait_until


# ---- Health -------------------------------------------------------------------------------------

def test_health_and_readiness_need_no_token(server):
    with server.client() as client:
        assert client.request("GET", "/healthz").json == {"status": "ok"}
        assert client.request("GET", "/readyz").json["status"] == "ready"


def test_readiness_goes_before_the_server_does(make_server):
    """While a request is under way after SIGTERM, /readyz on an open connection says 503."""
    server = make_server()
    ann = server.user()
    client = server.client()
    assert client.request("GET", "/readyz").status == 200
    with connect(server) as held:
        head = (f"POST /v1/posts HTTP/1.1\r\nHost: t\r\nAuthorization: Bearer {ann.bearer}\r\n"
                "Content-Length: 27\r\n\r\n").encode()
        held.sendall(head)
        asked = connect(server)
        asked.sendall(b"GET /readyz HTTP/1.1\r\nHost: t\r\nX: ")
        wait_until(lambda: server.admin().get("/admin/status")["connections"] >= 3, "both are being read")
        for actor in server.actors:
            actor.close()
        server.process.send_signal(15)
        wait_until(lambda: "stopping" in server.log_text(), "stopping")
        wait_until(lambda: refused(server), "no new connections")
        asked.sendall(b"y\r\n\r\n")
        answers = read_answers(asked)
        assert [answer.status for answer in answers] == [503] and answers[0].json["code"] == "stopping"
        held.sendall(b'{"kind":"note","title":"t"}')
        assert [answer.status for answer in read_answers(held)] == [201], "begun before, answered after"
        asked.close()
    client.close()
    assert server.wait() == 0


def refused(server):
    try:
        connect(server).close()
        return False
    except ConnectionRefusedError:
        return True


# ---- Threads ------------------------------------------------------------------------------------

def thread_names(server):
    names = []
    for task in glob.glob(f"/proc/{server.process.pid}/task/*/comm"):
        with open(task, encoding="ascii") as file:
            names.append(file.read().strip())
    return sorted(names)


def test_every_thread_has_a_name(make_server):
    server = make_server(settings={"threads": 3})
    engine = ["writer", "keeper"]
    expected = sorted(["tidings", *engine, "push", "teller", "samples", "http-0", "http-1", "http-2"])
    wait_until(lambda: set(expected) <= set(thread_names(server)), "names")
    if not SANITIZED:  # which has a thread of its own, with the program's name
        assert thread_names(server) == expected


# ---- Metrics ------------------------------------------------------------------------------------

def test_metrics_parse_and_count_exactly_what_was_sent(make_server):
    server = make_server()
    ann, bob = server.users(2)
    for _ in range(7):
        ann.badge()
    ann.follow(bob)
    bob.publish()
    bob.publish()
    ann.refused(404, "not_found", "GET", "/v1/posts/5")
    ann.refused(400, "invalid", "POST", "/v1/relation/follow", {"user_id": 0})
    with server.client() as client:
        for _ in range(3):
            assert client.request("GET", "/v1/inbox").status == 401
        assert client.request("GET", "/nowhere").status == 404
        assert client.request("PUT", "/healthz").status == 405
    exchange(server, b"GET /healthz HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n")
    metrics = scrape(server)
    metrics.check_histograms()

    def requests(operation, status):
        return metrics.get("tidings_requests_total", operation=operation, status=str(status))

    assert requests("getBadge", 200) == 7 and requests("follow", 200) == 1 and requests("publish", 201) == 2
    assert requests("getPost", 404) == 1 and requests("follow", 400) == 1 and requests("listInbox", 401) == 3
    assert requests("none", 404) == 1 and requests("none", 405) == 1
    assert metrics.get("tidings_request_seconds_count", operation="getBadge") == 7
    assert metrics.get("tidings_tokens_refused_total", reason="malformed") == 3
    assert metrics.get("tidings_http_refused_total", code="bad_host") == 1
    assert metrics.get("tidings_http_requests_total") == sum(
        v for (name, _), v in metrics.samples.items() if name == "tidings_requests_total") + 1, "and this one"
    assert metrics.get("tidings_batch_size_sum") >= 3
    assert metrics.get("tidings_write_queue") == 0 and metrics.get("tidings_batches_failed_total") == 0
    ann.badge()
    again = scrape(server)
    assert again.get("tidings_requests_total", operation="getBadge", status="200") == 8
    assert again.get("tidings_requests_total", operation="getMetrics", status="200") == 1


def test_admins_read_the_same_metrics_with_their_token(one_server):
    """For the console, behind a front that keeps /metrics to itself."""
    answer = one_server.admin().send("GET", "/v1/admin/metrics")
    assert answer.status == 200 and answer.headers["content-type"].startswith("text/plain; version=0.0.4")
    theirs = Metrics(answer.body.decode())
    assert theirs.types == scrape(one_server).types
    assert one_server.user().send("GET", "/v1/admin/metrics").status == 403
    with one_server.client() as client:
        assert client.request("GET", "/v1/admin/metrics").status == 401


def test_the_last_half_hour_is_remembered(make_server):
    """For charts that begin with what was: a sample from the start, one every ten seconds, and one of now."""
    server = make_server()
    ann, admin = server.user(), server.admin()
    for _ in range(20):
        ann.publish()
    answer = admin.get("/admin/samples")
    first, now = answer["items"][0], answer["items"][-1]
    assert first["requests"] == 0 and first["batches"] == 0 and first["at"] <= now["at"]
    assert len(first["latency"]) == len(answer["latency_bounds_us"]) + 1
    assert len(first["commit"]) == len(answer["commit_bounds_us"]) + 1
    metrics = scrape(server)
    publish = {"operation": "publish", "status": "201"}
    assert now["requests"] >= sum(now["latency"]) >= metrics.get("tidings_requests_total", **publish) == 20
    assert now["changes"] == metrics.get("tidings_batch_size_sum") and now["batches"] == sum(now["commit"])
    assert now["failures"] == 0 and now["connections"] > 0
    wait_until(lambda: len(admin.get("/admin/samples")["items"]) == len(answer["items"]) + 1, "another sample")
    kept = admin.get("/admin/samples")["items"][-2]
    assert first["at"] + answer["every_ms"] <= kept["at"] + 1000 and kept["requests"] >= now["requests"]
    ann.refused(403, "forbidden", "GET", "/v1/admin/samples")


def test_the_data_file_is_measured(server):
    admin = server.admin()
    sizes = [admin.get("/admin/status")["data_bytes"], admin.get("/admin/samples")["items"][-1]["data_bytes"],
             scrape(server).get("tidings_data_bytes")]
    assert all(size > 0 for size in sizes), sizes


def test_counters_never_fall(make_server):
    server = make_server()
    ann = server.user()
    before = scrape(server)
    for _ in range(20):
        ann.publish()
    after = scrape(server)
    for key, value in before.samples.items():
        family = re.sub(r"_(bucket|sum|count)$", "", key[0])
        if before.types.get(key[0]) == "counter" or before.types.get(family) == "histogram":
            assert after.samples[key] >= value, key


def test_every_operation_has_its_name_in_the_metrics(server, document):
    """The shared server has seen much by now; whatever label there is, is an operation."""
    server.user().badge()
    names = {op["operationId"] for item in document["paths"].values() for op in item.values()} | {"none"}
    seen = {dict(labels)["operation"] for name, labels in scrape(server).samples if name == "tidings_requests_total"}
    assert seen and seen <= names


def test_metrics_carry_no_user(server):
    ann = server.user()
    ann.badge()
    with server.client() as client:
        assert str(ann.id) not in client.request("GET", "/metrics").body.decode()


# ---- Status and verify --------------------------------------------------------------------------

def test_status(make_server):
    server = make_server()
    admin, ann = server.admin(), server.user()
    post = ann.publish()
    status = admin.get("/admin/status")
    assert status["ready"] is True and status["connections"] == 2 and status["streams"] == 0
    assert status["changes"] == 1 and status["batches"] == 1 and status["batches_failed"] == 0
    assert status["newest_id"] >= post["id"] and status["requests"] == 2
    assert 0 <= status["uptime_ms"] < 600_000


def test_verify_finds_nothing_wrong(server):
    admin = server.admin()
    server.user().publish()
    for body in (None, {}, {"repair": False}, {"repair": None}, {"repair": True}):
        answer = admin.send("POST", "/v1/admin/verify", body)
        while answer.status == 503 and body == {"repair": True} and len(server.members) > 1:
            assert answer.json["code"] == "standby"  # only the server that makes changes repairs: another one is next
            answer = admin.send("POST", "/v1/admin/verify", body)
        assert answer.status == 200, answer
        answer = answer.json
        assert answer["differences"] == answer["repaired"] == 0 and answer["checked"] > 0 and answer["report"] == ""
    for bad in ("yes", 1, []):
        admin.refused(400, "invalid", "POST", "/v1/admin/verify", {"repair": bad}, field="repair")


def test_verify_while_others_write(server):
    """Writing waits meanwhile, nothing is refused, and nothing is found."""
    admin, ann = server.admin(), server.user()
    stop = threading.Event()
    done = []

    def write():
        actor = server.user(ann.id)
        while not stop.is_set():
            done.append(actor.publish()["id"])

    thread = threading.Thread(target=write)
    thread.start()
    try:
        for _ in range(10):
            assert admin.post("/admin/verify")["differences"] == 0
    finally:
        stop.set()
        thread.join()
    assert ann.get("/relation/counter")["posts"] == len(done)


def test_two_verifications_at_once(server):
    """One runs; the other runs, too, or is told to come back."""
    statuses = []

    def ask():
        statuses.append(server.admin().send("POST", "/v1/admin/verify").status)

    threads = [threading.Thread(target=ask) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert 200 in statuses and set(statuses) <= {200, 503}


def test_the_status_tells_how_far_a_job_has_got(make_server):
    """It takes but a moment here, so it is started again and again until it is caught at work."""
    server = make_server()
    ann = server.user()
    for _ in range(300):
        ann.publish()
    stop = threading.Event()

    def verify():
        admin = server.admin()
        while not stop.is_set():
            admin.post("/admin/verify")

    admin = server.admin()
    assert admin.get("/admin/status")["job"] is None
    thread = threading.Thread(target=verify)
    thread.start()
    try:
        seen = []

        def caught():
            job = admin.get("/admin/status")["job"]
            if job:
                assert job["kind"] == "verify" and job["done"] <= job["total"]
                assert abs(job["started_at"] - time.time() * 1000) < 60_000
                seen.append(job)
            return job and job["part"] and job["total"] >= 300

        wait_until(caught, "a verify at work")
    finally:
        stop.set()
        thread.join()
    assert admin.get("/admin/status")["job"] is None


# ---- The log ------------------------------------------------------------------------------------

def test_every_request_has_a_line_with_its_id(make_server):
    server = make_server()
    ann = server.user()
    answers = [ann.send("GET", "/v1/inbox/badge"), ann.send("POST", "/v1/posts", {"kind": "note", "title": "t"}),
               ann.send("GET", "/v1/posts/x"), ann.send("GET", "/nowhere?secret=query")]
    ids = [answer.headers["x-request-id"] for answer in answers]
    assert len(set(ids)) == 4
    wait_until(lambda: server.log_text().count('"request"') >= 4, "the lines are there")
    lines = {line["request_id"]: line for line in server.log_lines() if line["message"] == "request"}
    for answer in answers:
        line = lines[answer.headers["x-request-id"]]
        assert line["status"] == answer.status and line["bytes"] > len(answer.body) and line["duration_us"] >= 0
        assert line["level"] == "info" and re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", line["time"])
    assert [lines[i]["method"] for i in ids] == ["GET", "POST", "GET", "GET"]
    assert lines[ids[3]]["path"] == "/nowhere", "without the query"


def test_the_log_holds_no_token_no_query_and_no_control_character(make_server):
    server = make_server()
    ann = server.user()
    ann.badge()
    ann.send("GET", f"/v1/inbox?access_token={ann.bearer}")
    ann.send("GET", "/v1/inbox", headers={"X-User-Id": "5"})
    ann.send("POST", "/v1/posts", {"kind": "note", "title": "line\nbreak \u0007 \u2028", "body": "private text"})
    ann.send("GET", "/%0a%1b[31mred%00")
    ann.send("GET", "/\"quoted\"\\")
    ann.send("GET", "/v1/posts/5", headers={"X-Request-Id": "forged\tid"})
    for raw in (b"GET /a\x1b[31m HTTP/1.1\r\nHost: t\r\n\r\n", b"GET /x\nfake HTTP/1.1\r\nHost: t\r\n\r\n",
                b"\x00\x01\x02\r\n\r\n", b"GET /\xff\xfe HTTP/1.1\r\nHost: t\r\n\r\n",
                f"GET /{ann.bearer} HTTP/1.1\r\nHost: t\r\nHost: t\r\nAuthorization: Bearer {ann.bearer}\r\n\r\n".encode()):
        exchange(server, raw)
    ann.close()
    server.stop()
    text = server.log_text()
    head, claims, signature = ann.bearer.split(".")
    assert server.secret not in text and "private text" not in text and "access_token" not in text
    assert "Bearer" not in text
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f]", text)
    for line in server.log_lines():
        if line["message"] == "request" and not line["path"].startswith("/eyJ"):
            assert signature not in json.dumps(line), line


def test_the_access_log_can_be_turned_off(make_server):
    server = make_server(settings={"access_log": 0})
    server.user().badge()
    server.user().publish()
    assert [line["message"] for line in server.log_lines()] == [server.log_lines()[0]["message"]]


# ---- Stopping -----------------------------------------------------------------------------------

def test_sigterm_under_load_answers_everything_it_accepted(make_server):
    """Every request that was sent whole gets an answer, or its connection was never taken; the posts
    that were acknowledged are there afterwards; the exit code is 0."""
    server = make_server()
    actors = server.users(8)
    acknowledged, lost = {actor.id: [] for actor in actors}, []

    def publish(actor):
        while True:
            try:
                answer = actor.send("POST", "/v1/posts", {"kind": "note", "title": "t"})
            except ConnectionRefusedError:
                return
            except (OSError, http.client.HTTPException) as error:
                lost.append(error)
                return
            if answer.status == 503:
                assert answer.json["code"] in ("closed", "busy"), answer
                continue
            acknowledged[actor.id].append(answer.json["id"])

    threads = [threading.Thread(target=publish, args=(actor,)) for actor in actors]
    for thread in threads:
        thread.start()
    wait_until(lambda: sum(map(len, acknowledged.values())) > 100, "there is load")
    server.process.send_signal(15)
    for thread in threads:
        thread.join()
    assert server.wait() == 0
    # A keep-alive connection may be closed between two answers, before it has read the next
    # request: the client sees the end without a byte of an answer, and knows nothing was done.
    assert all(isinstance(error, (http.client.RemoteDisconnected, ConnectionResetError, BrokenPipeError))
               for error in lost), lost
    logged = [line for line in server.log_lines() if line["message"] == "request" and line["status"] == 201]
    server.verify()
    for actor in actors:
        actor.close()
    server.start()
    for actor in actors:
        rows = actor.rows(f"/users/{actor.id}/posts", 100)
        assert sorted(row["post_id"] for row in rows) == acknowledged[actor.id], "nothing lost, nothing unasked for"
    assert len(logged) == sum(map(len, acknowledged.values()))


def test_pipelined_requests_are_answered_although_a_stop_comes(make_server):
    server = make_server()
    ann = server.user()
    request = (f"POST /v1/posts HTTP/1.1\r\nHost: t\r\nAuthorization: Bearer {ann.bearer}\r\n"
               'Content-Length: 27\r\n\r\n{"kind":"note","title":"t"}').encode()
    with connect(server) as sock:
        sock.sendall(request * 10)
        server.process.send_signal(15)
        answers = read_answers(sock)
    assert server.wait() == 0
    good = [answer for answer in answers if answer.status == 201]
    server.start()
    assert ann.get("/relation/counter")["posts"] == len(good)


def test_a_stop_is_quick_when_nothing_is_under_way(make_server):
    server = make_server()
    server.user().badge()
    for actor in server.actors:
        actor.close()
    start = time.monotonic()
    server.stop()
    assert time.monotonic() - start < 5


def test_a_request_that_never_ends_does_not_hold_the_stop_beyond_its_deadline(make_server):
    server = make_server(settings={"stop_timeout_ms": 500})
    with connect(server) as sock:
        sock.sendall(b"POST /v1/posts HTTP/1.1\r\nHost: t\r\nContent-Length: 100\r\n\r\nabc")
        wait_until(lambda: server.admin().get("/admin/status")["connections"] >= 2, "it is being read")
        for actor in server.actors:
            actor.close()
        start = time.monotonic()
        server.stop()
        assert 0.3 < time.monotonic() - start < 8


def test_sigint_stops_as_well(make_server):
    server = make_server()
    server.stop(how=2)


def test_what_was_acknowledged_survives_kill_9(make_server):
    server = make_server()
    actors = server.users(4)
    acknowledged = {actor.id: [] for actor in actors}

    def publish(actor):
        try:
            while True:
                acknowledged[actor.id].append(actor.publish()["id"])
        except (OSError, http.client.HTTPException):
            pass

    threads = [threading.Thread(target=publish, args=(actor,)) for actor in actors]
    for thread in threads:
        thread.start()
    wait_until(lambda: sum(map(len, acknowledged.values())) > 150, "there is load")
    server.process.kill()
    for thread in threads:
        thread.join()
    server.process.wait()
    server.verify()
    server.restart(how=9)
    for actor in actors:
        there = {row["post_id"] for row in actor.rows(f"/users/{actor.id}/posts", 100)}
        assert set(acknowledged[actor.id]) <= there and len(there) <= len(acknowledged[actor.id]) + 1


def test_one_client_in_each_protocol_version(server):
    answers = exchange(server, b"GET /healthz HTTP/1.0\r\n\r\n")
    assert [answer.status for answer in answers] == [200]
    with Client(server) as client:
        assert client.request("GET", "/healthz").status == 200


def test_full_storage_answers_503_reads_go_on_and_nothing_acknowledged_is_lost(make_server):
    server = make_server(settings={"map_mb": 16})
    ann, bob = server.users(2)
    ann.follow(bob)
    made = []
    while True:
        answer = bob.send("POST", "/v1/posts", {"kind": "note", "title": "t", "body": "x" * 60000})
        if answer.status != 201:
            break
        made.append(answer.json["id"])
        assert len(made) < 1000
    assert answer.status == 503 and answer.json["code"] == "no_space" and "retry-after" in answer.headers
    assert ann.check_adds_up() == len(made)
    assert [row["post_id"] for row in ann.inbox(limit=100)] == made[::-1]
    server.restart()
    assert [row["post_id"] for row in ann.inbox(limit=100)] == made[::-1]
    for actor in server.actors:
        actor.close()
    server.stop()
    done = tidings("verify", "--data", server.data)
    assert done.returncode == 0, done.stdout + done.stderr
