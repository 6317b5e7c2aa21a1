"""Webhooks in the form of Standard Webhooks, for any events."""
import base64

import pytest
from standardwebhooks.webhooks import Webhook, WebhookVerificationError

from support.receiver import SECRET, answer, in_turn
from support.server import wait_until
from support.webhooks import PATH, Author, look, make_receiver, put, told  # noqa: F401 (fixtures)

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
