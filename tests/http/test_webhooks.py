"""Webhooks: who may set them and where they may lead; what they are told, in order, also when calls fail."""
import time

import pytest

from support.metrics import scrape
from support.receiver import SECRET, Stall, answer, drop, in_turn, verify
from support.server import SECRET as JWT_SECRET
from support.server import tidings, wait_until
from support.webhooks import PATH, QUICK, Author, look, make_receiver, put, retry, told, wait_for_state  # noqa: F401 (fixtures)

# ---- Setting them -------------------------------------------------------------------------------

def test_making_changing_and_removing(server):
    admin = server.admin()
    made = put(admin, "crud", "https://push.example.org/a")
    assert made["name"] == "crud" and made["state"] == "ok" and made["url"] == "https://push.example.org/a"
    assert (made["attempts"], made["delivered"], made["failed"], made["dead"]) == (0, 0, 0, 0)
    assert made["last_error"] is made["retry_at"] is made["waiting_since"] is made["failing_since"] is None
    assert look(admin, "crud") == made
    changed = put(admin, "crud", "https://push.example.org/b", secret=None, disabled=True)
    assert changed["state"] == "disabled" and changed["url"].endswith("/b")
    assert changed["position"] == made["position"] and changed["created_at"] == made["created_at"]
    put(admin, "another", "https://push.example.org/")
    names = [row["name"] for row in admin.get("/admin/webhooks")["items"]]
    assert names == sorted(names) and {"crud", "another"} <= set(names)
    for name in ("crud", "another"):
        admin.expect(204, "DELETE", f"{PATH}/{name}")
        admin.refused(404, "not_found", "DELETE", f"{PATH}/{name}")
        admin.refused(404, "not_found", "GET", f"{PATH}/{name}")
        admin.refused(404, "not_found", "POST", f"{PATH}/{name}/retry")


def test_a_secret_is_needed_once_and_never_given_out(make_server):
    server = make_server()
    admin = server.admin()
    admin.refused(400, "invalid", "PUT", f"{PATH}/quiet", {"url": "https://a.example/"}, field="secret")
    for bad in ("short", "x" * 15, "x" * 257, "", 5):
        admin.refused(400, "invalid", "PUT", f"{PATH}/quiet", {"url": "https://a.example/", "secret": bad},
                      field="secret")
    secret = "never to be seen again"
    put(admin, "quiet", "https://a.example/", secret)
    put(admin, "quiet", "https://b.example/", None)
    answers = [admin.send("GET", PATH), admin.send("GET", f"{PATH}/quiet"), admin.send("POST", f"{PATH}/quiet/retry")]
    with server.client() as client:
        answers.append(client.request("GET", "/metrics"))
    for one in answers:
        assert one.status == 200 and secret not in one.body.decode()
    admin.close()
    server.stop()
    assert secret not in server.log_text()


@pytest.mark.parametrize("name", ["a.b", "a%20b", "a:b", "x" * 31, "%C3%A9", "a%2Fb", "~"])
def test_bad_names(server, name):
    admin = server.admin()
    admin.refused(400, "invalid", "PUT", f"{PATH}/{name}", {"url": "https://a.example/", "secret": SECRET}, field="name")
    admin.refused(400, "invalid", "GET", f"{PATH}/{name}", field="name")


@pytest.mark.parametrize("url", [
    "http://example.org/", "https://127.0.0.1/", "https://localhost/", "https://[::1]/", "https://2130706433/",
    "https://0x7f.1/", "https://10.0.0.1:8443/", "https://169.254.169.254/latest/", "https://[::ffff:10.0.0.1]/",
    "https://[64:ff9b::a00:1]/", "https://[2002:a00:1::]/", "https://100.64.0.1/", "https://0.0.0.0/",
    "https://user:password@example.org/", "https://user@example.org/", "ftp://example.org/", "file:///etc/passwd",
    "gopher://example.org/", "example.org", "", "https://", "https://exam ple.org/", "https://example.org/\u00e9",
    "https://example.org/" + "x" * 2048, "https://example.org/#part", 5, None])
def test_where_a_webhook_may_not_lead(server, url):
    server.admin().refused(400, "invalid", "PUT", f"{PATH}/inside", {"url": url, "secret": SECRET}, field="url")


def test_there_is_a_limit(make_server):
    server = make_server(settings={"webhooks_max": 2})
    admin = server.admin()
    put(admin, "a", "https://a.example/")
    put(admin, "b", "https://a.example/")
    admin.refused(403, "webhook_limit", "PUT", f"{PATH}/c", {"url": "https://a.example/", "secret": SECRET})
    put(admin, "b", "https://b.example/")


@pytest.mark.parametrize("allow", ["a b", "http://a", "a:0", "a:x", "[::1"])
def test_a_malformed_allow_list_is_refused(tmp_path, allow):
    done = tidings("serve", "--data", str(tmp_path / "data"), "--listen", "127.0.0.1:0", "--webhook-allow", allow,
                   TIDINGS_JWT_SECRET=JWT_SECRET)
    assert done.returncode == 2 and "webhook_allow" in done.stderr


def test_a_missing_ca_file_is_noticed_at_the_start(tmp_path):
    done = tidings("serve", "--data", str(tmp_path / "data"), "--listen", "127.0.0.1:0", "--webhook-ca-file",
                   str(tmp_path / "none.pem"), TIDINGS_JWT_SECRET=JWT_SECRET)
    assert done.returncode not in (0, None) and "webhook_ca_file" in done.stderr


@pytest.mark.parametrize("events", [[], ["Postpublished"], ["PostPublished", "WebhookChanged"], [5], "PostPublished", {},
                                    ["PostPublished", None]])
def test_what_is_no_set_of_events(server, events):
    problem = server.admin().refused(400, "invalid", "PUT", f"{PATH}/none", {
        "url": "https://a.example/", "secret": SECRET, "events": events}, field="events")
    assert problem["detail"] == "events: names of events' types, at least one"


def test_a_secret_that_is_too_short_says_how_long(server):
    problem = server.admin().refused(400, "invalid", "PUT", f"{PATH}/short", {"url": "https://a.example/", "secret": "short"},
                                     field="secret")
    assert problem["detail"] == "secret: 16 to 256 characters"
    problem = server.admin().refused(400, "invalid", "PUT", f"{PATH}/a.b", {"url": "https://a.example/", "secret": SECRET},
                                     field="name")
    assert problem["detail"] == "name: 1 to 30 letters, digits, - and _"


@pytest.mark.parametrize("secret", ["whsec_", "whsec_c2hvcnQ=", "whsec_" + "A" * 31, "whsec_" + "-" * 32, "whsec_" + "A" * 88])
def test_what_is_no_secret_of_the_standard(server, secret):
    server.admin().refused(400, "invalid", "PUT", f"{PATH}/none", {"url": "https://a.example/", "secret": secret},
                           field="secret")


# ---- Being told ---------------------------------------------------------------------------------

def test_one_signed_call_an_event_in_order(told):
    server, admin, receiver = told()
    author = Author(server, 3)
    scenes = author.go_on(20)
    receiver.wait_for(scenes)
    receiver.check(scenes)
    assert len(receiver.calls) == 20, "nothing failed, so nothing was repeated"
    events = {row["target_id"]: row for row in server.service().get("/events", limit=100)["items"]
              if row["type"] == "ScenePublished"}
    for i, call in enumerate(receiver.calls):
        event = events[scenes[i]]
        story = author.stories[i % 3]
        assert call.json == {"event_id": event["event_id"], "type": "ScenePublished", "tag": f"story:{story}",
                             "happened_at": event["happened_at"], "story_id": story, "scene_id": scenes[i],
                             "author_id": author.actor.id, "attempt": 1}
    wait_until(lambda: look(admin)["delivered"] == 20, "it is noted")
    seen = look(admin)
    assert seen["state"] == "ok" and seen["failed"] == seen["dead"] == 0 and seen["waiting_since"] is None
    assert not verify("another secret of some length", receiver.calls[0].headers, receiver.calls[0].body)


def test_only_what_happens_later_is_told(make_server, make_receiver):
    receiver = make_receiver()
    server = make_server(settings={**QUICK, "webhook_allow": receiver.place})
    author = Author(server)
    author.go_on(3)
    put(server.admin(), "late", receiver.url())
    scenes = author.go_on(2)
    receiver.wait_for(scenes)
    receiver.check(scenes)


def test_a_new_secret_and_url_count_at_once(told):
    server, admin, receiver = told()
    author = Author(server)
    receiver.wait_for(author.go_on())
    receiver.secret = "the next secret, also long enough"
    put(admin, "gateway", receiver.url("/other"), receiver.secret)
    receiver.wait_for(author.go_on())
    receiver.check(author.scenes)
    assert receiver.calls[-1].path == "/other"

@pytest.mark.parametrize("bad", [answer(500), answer(404), answer(302, [("Location", "/elsewhere")]), answer(304),
                                 drop, answer(429)], ids=["500", "404", "302", "304", "drop", "429"])
def test_what_fails_is_tried_again(told, bad):
    server, admin, receiver = told(how=in_turn(bad, bad, bad, answer(200, body=b"thank you")))
    author = Author(server)
    scenes = author.go_on(3)
    receiver.wait_for(scenes)
    receiver.check(scenes)
    assert [call.json["attempt"] for call in receiver.calls] == [1, 2, 3, 4, 1, 1]
    assert {call.path for call in receiver.calls} == {"/hook"}, "no redirect is followed"
    wait_until(lambda: look(admin)["delivered"] == 3, "it is noted")
    seen = look(admin)
    assert seen["failed"] == 3 and seen["state"] == "ok" and seen["dead"] == 0 and seen["last_error"]


def test_backoff_grows(told):
    server, admin, receiver = told({"webhook_backoff_first_ms": 50, "webhook_backoff_most_ms": 100000},
                                   how=in_turn(*[answer(503)] * 5, answer(204)))
    receiver.wait_for(Author(server).go_on())
    gaps = [b.at - a.at for a, b in zip(receiver.calls, receiver.calls[1:])]
    for i, gap in enumerate(gaps):
        assert gap >= 0.05 * 2 ** i / 2 - 0.005, gaps


def test_state_while_it_fails(told):
    server, admin, receiver = told({"webhook_backoff_first_ms": 3600000, "webhook_backoff_most_ms": 3600000},
                                   how=answer(500))
    author = Author(server)
    author.go_on(2)
    seen = wait_for_state(admin, "retrying")
    assert seen["attempts"] == 1 and seen["failed"] == 1 and seen["last_error"] == "status 500"
    now = time.time() * 1000
    assert now + 1500000 < seen["retry_at"] < now + 3700000
    assert now - 60000 < seen["waiting_since"] <= seen["failing_since"] <= now + 1000
    metrics = scrape(server)
    assert metrics.get("tidings_webhook_state", webhook="gateway", state="retrying") == 1
    assert metrics.get("tidings_webhook_state", webhook="gateway", state="ok") == 0
    assert metrics.get("tidings_webhook_failed_total", webhook="gateway") == 1
    wait_until(lambda: scrape(server).get("tidings_webhook_backlog_seconds", webhook="gateway") >= 1, "it ages")

    receiver.how = answer(204)
    assert retry(admin)["state"] == "ok"
    receiver.wait_for(author.scenes)
    receiver.check(author.scenes)
    wait_until(lambda: look(admin)["delivered"] == 2, "it is noted")
    metrics = scrape(server)
    assert metrics.get("tidings_webhook_delivered_total", webhook="gateway") == 2
    assert metrics.get("tidings_webhook_backlog_seconds", webhook="gateway") == 0


def test_disabled_waits_and_goes_on(told):
    server, admin, receiver = told()
    author = Author(server)
    receiver.wait_for(author.go_on(2))
    wait_until(lambda: look(admin)["delivered"] == 2, "it is noted")
    put(admin, "gateway", receiver.url(), None, disabled=True)
    author.go_on(3)
    other = make_other(admin, receiver)
    author.go_on(1)
    wait_until(lambda: look(admin, other)["delivered"] == 1, "the other is told")
    assert [call.path for call in receiver.calls] == ["/hook", "/hook", "/other"]
    put(admin, "gateway", receiver.url(), None)
    wait_until(lambda: look(admin)["delivered"] == 6, "all of it")
    told_here = [call.json["scene_id"] for call in receiver.taken if call.path == "/hook"]
    assert told_here == author.scenes


def make_other(admin, receiver):
    put(admin, "other", receiver.url("/other"))
    return "other"


def test_a_removed_one_is_told_no_more(told):
    stall = Stall()
    server, admin, receiver = told(how=stall)
    author = Author(server)
    author.go_on(3)
    wait_until(lambda: receiver.calls, "the first call is there")
    admin.expect(204, "DELETE", f"{PATH}/gateway")
    stall.release()
    put(admin, "gateway", receiver.url())
    last = author.go_on(1)
    receiver.wait_for(last)
    assert {call.json["scene_id"] for call in receiver.calls} == {author.scenes[0], last[0]}


def test_events_that_are_for_nobody_are_passed_by(told):
    server, admin, receiver = told()
    author = Author(server)
    for i in range(5):
        for _ in range(30):
            author.actor.publish()
        author.go_on()
    receiver.wait_for(author.scenes)
    receiver.check(author.scenes)


def test_passing_by_writes_nothing(told):
    server, admin, receiver = told()
    author = Author(server)
    receiver.wait_for(author.go_on())
    wait_until(lambda: look(admin)["delivered"] == 1, "it is noted")
    before = admin.get("/admin/status")["changes"]
    for _ in range(50):
        author.actor.publish()
    time.sleep(0.3)
    assert admin.get("/admin/status")["changes"] == before + 50


def test_every_call_of_one_webhook_comes_after_the_last_was_answered(told):
    busy, most = [], []

    def slow(handler, call):
        busy.append(call)
        most.append(len(busy))
        time.sleep(0.02)
        busy.remove(call)
        answer(204)(handler, call)

    server, admin, receiver = told(how=slow)
    author = Author(server, 4)
    scenes = author.go_on(20)
    receiver.wait_for(scenes)
    receiver.check(scenes)
    assert max(most) == 1


def test_a_stuck_webhook_holds_up_no_other(told, make_receiver):
    stall = Stall()
    server, admin, receiver = told(how=stall)
    for i in range(5):
        put(admin, f"fine-{i}", receiver.url(f"/fine-{i}"))
    receiver.how = lambda handler, call: (stall if call.path == "/hook" else answer(204))(handler, call)
    author = Author(server)
    scenes = author.go_on(10)
    for i in range(5):
        wait_until(lambda n=i: look(admin, f"fine-{n}")["delivered"] == 10, "the others are told")
        mine = [call.json["scene_id"] for call in receiver.taken if call.path == f"/fine-{i}"]
        assert mine == scenes
    assert look(admin)["delivered"] == 0 and sum(call.path == "/hook" for call in receiver.calls) == 1
    stall.release()
    wait_until(lambda: look(admin)["delivered"] == 10, "and then this one")


def test_a_call_that_takes_too_long_fails(told):
    stall = Stall()
    server, admin, receiver = told({"webhook_timeout_ms": 500}, how=in_turn(stall, answer(204)))
    scenes = Author(server).go_on(2)
    receiver.wait_for(scenes)
    stall.release()
    wait_until(lambda: look(admin)["delivered"] == 2, "it is noted")
    assert look(admin)["failed"] >= 1 and "imeout" in look(admin)["last_error"]


def endless(handler, call):
    handler.server.receiver.took(call)
    handler.send_response(200)
    handler.end_headers()
    try:
        while True:
            handler.wfile.write(b"x" * 65536)
    except OSError:
        pass


def endless_head(handler, _call):
    try:
        handler.wfile.write(b"HTTP/1.1 200 OK\r\n")
        while True:
            handler.wfile.write(b"X-Much: " + b"x" * 1000 + b"\r\n")
    except OSError:
        pass


def test_an_endless_answer_is_not_read_to_its_end(told):
    server, admin, receiver = told(how=in_turn(endless, endless_head, answer(204)))
    scenes = Author(server).go_on(2)
    receiver.wait_for(scenes)
    wait_until(lambda: look(admin)["delivered"] == 2, "it is noted")
    seen = look(admin)
    assert seen["failed"] == 1 and seen["last_error"] == "the answer's head is too long"
