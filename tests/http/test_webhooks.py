"""Webhooks: who may set them and where they may lead; delivery that survives whatever happens to either side."""
import base64
import random
import socket
import subprocess
import time

import pytest
from standardwebhooks.webhooks import Webhook, WebhookVerificationError

from support.metrics import scrape
from support.receiver import SECRET, Receiver, Stall, answer, drop, in_turn, tls_context, verify
from support.server import SECRET as JWT_SECRET
from support.server import tidings, wait_until

QUICK = {"webhook_backoff_first_ms": 20, "webhook_backoff_most_ms": 100, "webhook_timeout_ms": 20000}
PATH = "/v1/admin/webhooks"


@pytest.fixture
def make_receiver():
    made = []

    def make(**how):
        made.append(Receiver(**how))
        return made[-1]

    yield make
    for one in made:
        one.close()


@pytest.fixture
def told(make_server, make_receiver):
    """A server with a webhook "gateway" that leads to a receiver: (server, admin, receiver)."""
    def make(settings=None, **how):
        receiver = make_receiver(**how)
        server = make_server(settings={**QUICK, "webhook_allow": receiver.place, **(settings or {})})
        admin = server.admin()
        put(admin, "gateway", receiver.url())
        return server, admin, receiver
    return make


def put(admin, name, url, secret=SECRET, status=200, **more):
    body = {"url": url, **more}
    if secret is not None:
        body["secret"] = secret
    return admin.expect(status, "PUT", f"{PATH}/{name}", body)


def look(admin, name="gateway"):
    return admin.expect(200, "GET", f"{PATH}/{name}")


def retry(admin, name="gateway"):
    return admin.expect(200, "POST", f"{PATH}/{name}/retry")


def wait_for_state(admin, state, name="gateway"):
    wait_until(lambda: look(admin, name)["state"] == state, f"{name} is {state}")
    return look(admin, name)


class Author:
    """Someone who writes stories, scene by scene."""

    def __init__(self, server, n=1):
        self.actor = server.user()
        self.stories = [self.actor.publish(kind="story")["id"] for _ in range(n)]
        self.scenes = []

    def go_on(self, n=1):
        for _ in range(n):
            story = self.stories[len(self.scenes) % len(self.stories)]
            body = {"title": "A scene", "messages": ["Hello"]}
            self.scenes.append(self.actor.post(f"/stories/{story}/scenes", body, 201)["id"])
        return self.scenes[-n:]


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


# ---- In the form of Standard Webhooks -----------------------------------------------------------

WHSEC = "whsec_" + base64.b64encode(bytes(range(200, 232))).decode()
OTHER_WHSEC = "whsec_" + base64.b64encode(b"another key, of 24 bytes").decode()


def holds(secret, call):
    """What the standard's own library says of it."""
    webhook = Webhook(secret if secret.startswith("whsec_") else secret.encode())
    try:
        return webhook.verify(call.body, dict(call.headers)) == call.json
    except WebhookVerificationError:
        return False


@pytest.mark.parametrize("secret", [SECRET, WHSEC])
def test_the_library_of_the_standard_verifies_every_call(told, secret):
    server, admin, receiver = told(how=in_turn(answer(500), answer(503), answer(204)))
    receiver.secret = secret
    admin.expect(204, "DELETE", f"{PATH}/gateway")
    put(admin, "gateway", receiver.url(), secret)
    scenes = Author(server).go_on(2)
    receiver.wait_for(scenes)
    receiver.check(scenes)
    assert all(holds(secret, call) for call in receiver.calls)
    assert not any(holds(OTHER_WHSEC, call) for call in receiver.calls)
    ids = [call.headers["webhook-id"] for call in receiver.calls]
    assert ids[0] == ids[1] == ids[2] != ids[3], "a repeat has the id of the first call"
    assert [call.json["attempt"] for call in receiver.calls] == [1, 2, 3, 1]
    call = receiver.calls[-1]
    for header, value in (("webhook-id", "evt_1"), ("webhook-timestamp", str(int(call.headers["webhook-timestamp"]) + 1))):
        forged = dict(call.headers, **{header: value})
        with pytest.raises(WebhookVerificationError):
            Webhook(secret if secret == WHSEC else secret.encode()).verify(call.body, forged)


def test_after_a_rotation_both_secrets_hold(told):
    server, admin, receiver = told()
    author = Author(server)
    receiver.wait_for(author.go_on())
    receiver.secret = WHSEC
    put(admin, "gateway", receiver.url(), WHSEC)
    receiver.wait_for(author.go_on())
    server.restart(how=9)
    receiver.wait_for(author.go_on())
    receiver.check(author.scenes)
    first, *later = receiver.calls
    assert holds(SECRET, first) and not holds(WHSEC, first)
    for call in later:
        assert holds(SECRET, call) and holds(WHSEC, call)
        assert len(call.headers["webhook-signature"].split(" ")) == 2
    receiver.secret = OTHER_WHSEC
    put(admin, "gateway", receiver.url(), OTHER_WHSEC)
    receiver.wait_for(author.go_on())
    assert holds(OTHER_WHSEC, receiver.calls[-1]) and holds(WHSEC, receiver.calls[-1])
    assert not holds(SECRET, receiver.calls[-1]), "two, not all there ever were"


def told_of(receiver):
    with receiver.lock:
        return [{name: value for name, value in call.json.items() if name not in ("tag", "attempt")}
                for call in receiver.taken]


def test_any_events_as_the_log_has_them(told):
    server, admin, receiver = told()
    wanted = ["ReactionCreated", "FollowCreated", "CommentCreated", "ScenePublished", "ReactionCreated"]
    made = put(admin, "gateway", receiver.url(), events=wanted)
    assert made["events"] == ["FollowCreated", "ReactionCreated", "CommentCreated", "ScenePublished"]
    assert look(admin)["events"] == made["events"]
    author = Author(server)
    ann, bob = server.users(2)
    ann.follow(bob)
    ann.unfollow(bob)
    post = bob.publish()["id"]
    ann.react(f"/posts/{post}/like")
    comment = ann.comment(post)["id"]
    bob.react(f"/comments/{comment}/like")
    bob.unreact(f"/comments/{comment}/like")
    scene, = author.go_on()
    events = [row for row in server.service().get("/events", after=made["position"], limit=100)["items"]
              if row["type"] in wanted]
    assert [row["target_id"] for row in events] == [bob.id, post, comment, comment, scene]
    wait_until(lambda: len(told_of(receiver)) >= len(events), "all of them are told")
    assert told_of(receiver) == events and not receiver.wrong
    assert [call.json["tag"] for call in receiver.taken] == [None] * 4 + [f"story:{author.stories[0]}"]
    wait_until(lambda: look(admin)["delivered"] == len(events), "it is noted")
    # Without events it is told of scenes again, as one that never had any.
    assert put(admin, "gateway", receiver.url())["events"] is None
    ann.follow(bob)
    scene, = author.go_on()
    receiver.wait_for([scene])
    assert receiver.calls[-1].json == {
        "event_id": receiver.calls[-1].json["event_id"], "type": "ScenePublished", "tag": f"story:{author.stories[0]}",
        "happened_at": receiver.calls[-1].json["happened_at"], "story_id": author.stories[0], "scene_id": scene,
        "author_id": author.actor.id, "attempt": 1}
    assert len(receiver.calls) == len(events) + 1


def test_every_event_that_there_is(told, document):
    server, admin, receiver = told(settings={"read_events": 1})
    types = document["components"]["schemas"]["EventType"]["enum"]
    made = put(admin, "gateway", receiver.url(), WHSEC, events=types)
    receiver.secret = WHSEC
    assert made["events"] == types
    author = Author(server)
    ann = server.user()
    ann.follow(author.actor)
    author.go_on(2)
    ann.open(author.actor.publish()["id"])
    after = server.service().get("/events", after=made["position"], limit=100)["items"]
    assert {"PostRead", "FollowCreated", "ScenePublished", "PostPublished"} <= {row["type"] for row in after}
    wait_until(lambda: len(told_of(receiver)) >= len(after), "all of them are told")
    assert told_of(receiver) == after and not receiver.wrong
    assert all(holds(WHSEC, call) for call in receiver.calls)


def test_other_events_are_told_from_then_on(told):
    server, admin, receiver = told()
    ann = server.user()
    for _ in range(5):
        ann.publish()
    put(admin, "gateway", receiver.url(), events=["PostPublished"])
    post = ann.publish()["id"]
    wait_until(lambda: told_of(receiver), "it is told")
    assert [row["target_id"] for row in told_of(receiver)] == [post]


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


# ---- Given up -----------------------------------------------------------------------------------

AT_ONCE = {"webhook_give_up_hours": 0}


def test_what_is_given_up_is_counted_and_the_next_is_told(told):
    server, admin, receiver = told(AT_ONCE, how=in_turn(answer(500), answer(400), answer(204)))
    author = Author(server)
    scenes = author.go_on(4)
    receiver.wait_for(scenes[2:])
    receiver.check(scenes[2:])
    assert [call.json["scene_id"] for call in receiver.calls] == scenes, "one attempt each"
    wait_until(lambda: look(admin)["delivered"] == 2, "it is noted")
    seen = look(admin)
    assert seen["dead"] == 2 and seen["failed"] == 2 and seen["state"] == "ok"
    assert scrape(server).get("tidings_webhook_dead_total", webhook="gateway") == 2
    assert any(line["message"] == "the webhook's event is given up" and line["webhook"] == "gateway"
               for line in server.log_lines())
    server.restart()
    assert look(admin) == seen


def test_a_dead_webhook_is_told_everything_after_a_retry(told):
    server, admin, receiver = told(AT_ONCE)
    author = Author(server)
    receiver.wait_for(author.go_on(2))
    receiver.how = answer(503)
    author.go_on(4)
    wait_until(lambda: look(admin)["dead"] == 4, "all are given up")
    seen = look(admin)
    assert seen["state"] == "dead" and seen["waiting_since"] is None and seen["last_error"] == "status 503"
    assert scrape(server).get("tidings_webhook_state", webhook="gateway", state="dead") == 1
    server.restart(how=9)
    assert look(admin)["state"] == "dead"
    receiver.how = answer(204)
    assert retry(admin)["state"] == "ok"
    author.go_on(1)
    receiver.wait_for(author.scenes)
    receiver.check(author.scenes)
    wait_until(lambda: look(admin)["delivered"] == 7, "it is noted")
    assert look(admin)["state"] == "ok" and look(admin)["dead"] == 4, "that they were given up once stays counted"


def test_retry_on_a_healthy_webhook_changes_nothing(told):
    server, admin, receiver = told()
    author = Author(server)
    receiver.wait_for(author.go_on(2))
    wait_until(lambda: look(admin)["delivered"] == 2, "it is noted")
    retry(admin)
    receiver.wait_for(author.go_on(1))
    receiver.check(author.scenes)
    assert len(receiver.calls) == 3


# ---- Crashes ------------------------------------------------------------------------------------

def test_a_receiver_that_dies_and_comes_back(told):
    server, admin, receiver = told()
    author = Author(server)
    receiver.wait_for(author.go_on(3))
    receiver.die()
    author.go_on(5)
    seen = wait_for_state(admin, "retrying")
    assert "onnect" in seen["last_error"]
    receiver.start()
    author.go_on(2)
    receiver.wait_for(author.scenes)
    receiver.check(author.scenes)


def moody(seed):
    """Fails, drops, stalls a moment or takes it."""
    rng = random.Random(seed)

    def how(handler, call):
        mood = rng.random()
        if mood < 0.3:
            (answer(500) if mood < 0.15 else drop)(handler, call)
            return
        if mood < 0.35:
            time.sleep(0.3)
        answer(204)(handler, call)
    return how


def test_kill_9_in_the_middle_loses_none(told):
    """Both sides misbehave: the receiver fails, drops and dies, the server is killed again and again."""
    seed = random.randrange(2 ** 32)
    print("seed", seed)
    rng = random.Random(seed)
    server, admin, receiver = told({"webhook_timeout_ms": 200}, how=moody(seed))
    put(admin, "second", receiver.url("/second"))
    author = Author(server, 3)
    for round_ in range(6):
        author.go_on(10)
        time.sleep(rng.random() * 0.15)
        if round_ % 3 == 2:
            receiver.die()
        server.restart(how=9)
        if not receiver.listener:
            author.go_on(2)
            receiver.start()
    receiver.how = answer(204)
    wait_until(lambda: all(look(admin, name)["waiting_since"] is None and look(admin, name)["state"] == "ok"
                           and {call.json["scene_id"] for call in receiver.taken if call.path == path}
                           == set(author.scenes)
                           for name, path in (("gateway", "/hook"), ("second", "/second"))), "everything arrives")
    assert not receiver.wrong
    for path in ("/hook", "/second"):
        mine = [call for call in receiver.taken if call.path == path]
        for story in author.stories:
            told_of = [call.json["scene_id"] for call in mine if call.json["story_id"] == story]
            firsts = list(dict.fromkeys(told_of))
            assert firsts == [s for i, s in enumerate(author.scenes) if author.stories[i % 3] == story], "in order"
    seen = look(admin)
    assert seen["dead"] == 0 and seen["delivered"] >= 1
    for actor in server.actors:
        actor.close()
    server.stop()
    server.verify()


def test_it_goes_on_where_it_was_after_a_restart(told):
    server, admin, receiver = told({"webhook_backoff_first_ms": 3600000, "webhook_backoff_most_ms": 3600000},
                                   how=in_turn(answer(204), answer(204), answer(500), answer(204)))
    author = Author(server)
    author.go_on(4)
    before = wait_for_state(admin, "retrying")
    assert before["delivered"] == 2 and before["attempts"] == 1
    server.restart(how=9)
    after = look(admin)
    assert after == before, "also when it is tried again"
    time.sleep(0.3)
    assert len(receiver.calls) == 3, "not before its time"
    retry(admin)
    receiver.wait_for(author.scenes)
    receiver.check(author.scenes)
    assert len(receiver.calls) == 5, "each once, but for the one that failed"


def test_stopping_does_not_wait_for_a_receiver(told):
    server, admin, receiver = told({"webhook_timeout_ms": 600000}, how=Stall())
    author = Author(server)
    author.go_on(3)
    wait_until(lambda: receiver.calls, "a call is under way")
    for actor in server.actors:
        actor.close()
    start = time.monotonic()
    server.stop()
    assert time.monotonic() - start < 5
    receiver.how = answer(204)
    server.start()
    receiver.wait_for(author.scenes)
    receiver.check(author.scenes)


# ---- Where it may lead, when it comes to it -----------------------------------------------------

def inside_name():
    """A name that looks like any other and leads inside."""
    for name in ("ip6-localhost", socket.gethostname()):
        try:
            found = {info[4][0] for info in socket.getaddrinfo(name, 443, proto=socket.IPPROTO_TCP)}
        except OSError:
            continue
        if found:
            return name
    return pytest.skip("this machine has no name that leads inside")


def test_a_name_that_leads_inside_is_not_connected_to(make_server):
    name = inside_name()
    listener = socket.create_server(("::", 0), family=socket.AF_INET6, dualstack_ipv6=True)
    listener.settimeout(0.5)
    port = listener.getsockname()[1]
    server = make_server(settings=QUICK)
    admin = server.admin()
    put(admin, "inside", f"https://{name}:{port}/")
    Author(server).go_on()
    seen = wait_for_state(admin, "retrying", "inside")
    assert seen["last_error"] == "the host's address is not public"
    with pytest.raises(TimeoutError):
        listener.accept()
    listener.close()


def test_a_name_that_leads_into_an_allowed_network_is_connected_to(make_server):
    name = inside_name()
    with socket.create_server(("::", 0), family=socket.AF_INET6, dualstack_ipv6=True) as listener:
        listener.settimeout(60)
        port = listener.getsockname()[1]
        server = make_server(settings={**QUICK, "webhook_allow": f"0.0.0.0/0:{port}, ::/0:{port}"})
        put(server.admin(), "inside", f"https://{name}:{port}/")
        Author(server).go_on()
        listener.accept()[0].close()


def test_what_is_no_longer_allowed_is_not_called(told):
    server, admin, receiver = told()
    author = Author(server)
    receiver.wait_for(author.go_on())
    server.settings["webhook_allow"] = "elsewhere.example"
    server.restart()
    author.go_on()
    seen = wait_for_state(admin, "retrying")
    assert seen["last_error"] == "the URL is not allowed" and len(receiver.calls) == 1


def test_a_proxy_of_the_environment_is_not_used(make_server, make_receiver):
    receiver, proxy = make_receiver(), make_receiver()
    address = f"http://127.0.0.1:{proxy.port}"
    server = make_server(settings={**QUICK, "webhook_allow": receiver.place},
                         environment={"http_proxy": address, "https_proxy": address, "ALL_PROXY": address})
    put(server.admin(), "direct", receiver.url())
    receiver.wait_for(Author(server).go_on())
    assert not proxy.calls


# ---- TLS ----------------------------------------------------------------------------------------

@pytest.fixture(scope="module")
def authority(tmp_path_factory):
    """A certificate authority of our own, and a server's certificate for 127.0.0.1 by it."""
    at = tmp_path_factory.mktemp("ca")

    def openssl(*arguments):
        subprocess.run(["openssl", *arguments], cwd=at, check=True, capture_output=True)

    openssl("req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", "ca.key", "-out", "ca.pem", "-days", "2",
            "-subj", "/CN=Test CA", "-addext", "basicConstraints=critical,CA:TRUE")
    openssl("req", "-newkey", "rsa:2048", "-nodes", "-keyout", "server.key", "-out", "server.csr", "-subj", "/CN=x")
    (at / "san").write_text("subjectAltName=IP:127.0.0.1\n")
    openssl("x509", "-req", "-in", "server.csr", "-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial", "-out",
            "server.pem", "-days", "2", "-extfile", "san")
    return at


def test_https_with_a_certificate_that_is_trusted(told, authority):
    tls = tls_context(authority / "server.pem", authority / "server.key")
    server, admin, receiver = told({"webhook_ca_file": authority / "ca.pem"}, tls=tls)
    author = Author(server)
    author.go_on(3)
    receiver.wait_for(author.scenes)
    receiver.check(author.scenes)


def test_https_with_a_certificate_that_is_not(told, authority):
    tls = tls_context(authority / "server.pem", authority / "server.key")
    server, admin, receiver = told(tls=tls)
    Author(server).go_on()
    seen = wait_for_state(admin, "retrying")
    assert "certificate" in seen["last_error"] and not receiver.calls


def test_https_with_a_certificate_of_another_host(told, authority):
    tls = tls_context(authority / "server.pem", authority / "server.key")
    server, admin, receiver = told({"webhook_ca_file": authority / "ca.pem"}, tls=tls)
    server.settings["webhook_allow"] = "localhost"
    server.restart()
    put(admin, "gateway", receiver.url(host="localhost"))
    Author(server).go_on()
    seen = wait_for_state(admin, "retrying")
    assert "certificate" in seen["last_error"] and not receiver.calls
