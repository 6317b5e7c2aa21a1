"""Idempotency-Key: a repeat gets the first answer and does nothing again."""
import signal
import threading
import uuid

import pytest

from support.client import new_user_id


def key():
    return {"Idempotency-Key": str(uuid.uuid4())}


def posts_of(actor):
    return actor.get("/relation/counter")["posts"]


def test_a_repeat_gets_the_first_answer_and_does_nothing(server):
    ann = server.user()
    body = {"kind": "note", "title": "once", "body": "[img]http://x[/img]"}
    headers = key()
    first = ann.send("POST", "/v1/posts", body, headers)
    assert first.status == 201
    for _ in range(3):
        again = ann.send("POST", "/v1/posts", body, headers)
        assert (again.status, again.body) == (201, first.body)
        assert again.headers["content-type"] == first.headers["content-type"]
    assert posts_of(ann) == 1
    assert ann.send("POST", "/v1/posts", body).json["id"] != first.json["id"], "without the key it is another"


def test_the_first_answer_is_given_even_where_the_world_has_moved(server):
    ann, bob = server.users(2)
    headers = key()
    first = ann.post("/relation/follow", {"user_id": bob.id}, headers=headers)
    assert first["changed"] is True
    ann.unfollow(bob)
    assert ann.post("/relation/follow", {"user_id": bob.id}, headers=headers) == first
    assert ann.get("/relation/counter")["following"] == 0, "nothing was done again"


def told(reader, author):
    """A notification of the reader's."""
    story = author.story()
    reader.subscribe(story)
    return author.scene(story)["id"]


@pytest.mark.parametrize("operation", ["follow", "unfollow", "publish", "open", "mark-read", "mark-unread", "comment",
                                       "scene", "mark-notifications"])
def test_every_post_that_changes_something(server, operation):
    ann, bob = server.users(2)
    ann.follow(bob)
    post = bob.publish()["id"]
    other = bob.publish()["id"]
    ann.open(other)
    path, body = {
        "follow": ("/relation/follow", {"user_id": new_user_id()}),
        "unfollow": ("/relation/unfollow", {"user_id": bob.id, "purge_inbox": True}),
        "publish": ("/posts", {"kind": "note", "title": "t"}),
        "open": (f"/posts/{post}/open", None),
        "mark-read": ("/inbox/mark-read", {"post_ids": [post]}),
        "mark-unread": ("/inbox/mark-unread", {"post_ids": [other]}),
        "comment": (f"/posts/{post}/comments", {"body": "once"}),
        "scene": (f"/stories/{ann.story()}/scenes", {"title": "once", "messages": ["m"]}),
        "mark-notifications": ("/notifications/mark-read", {"ids": [told(ann, bob)]}),
    }[operation]
    headers = key()
    first = ann.send("POST", "/v1" + path, body, headers)
    assert first.status in (200, 201)
    badge = ann.badge()
    again = ann.send("POST", "/v1" + path, body, headers)
    assert (again.status, again.body) == (first.status, first.body)
    assert ann.badge() == badge
    if body is not None:
        ann.refused(422, "key_reused", "POST", "/v1" + path, another(body), headers)


def another(body):
    """Another body that is valid in itself."""
    changed = dict(body)
    if "user_id" in changed:
        changed["user_id"] = new_user_id()
    elif "title" in changed:
        changed["title"] = "another"
    elif "body" in changed:
        changed["body"] = "another"
    elif "ids" in changed:
        changed["ids"] = changed["ids"] * 2
    else:
        changed["post_ids"] = changed["post_ids"] * 2
    return changed


def test_another_body_is_refused_and_does_nothing(server):
    ann = server.user()
    headers = key()
    ann.publish("one", headers=headers)
    ann.refused(422, "key_reused", "POST", "/v1/posts", {"kind": "note", "title": "two"}, headers)
    assert posts_of(ann) == 1


def test_keys_of_other_users_and_paths_are_others(server):
    ann, bob = server.users(2)
    headers = key()
    mine, theirs = ann.publish(headers=headers), bob.publish(headers=headers)
    assert mine["id"] != theirs["id"] and theirs["author_id"] == bob.id
    author = new_user_id()
    assert ann.post("/relation/follow", {"user_id": author}, headers=headers)["changed"] is True
    assert ann.post("/relation/unfollow", {"user_id": author}, headers=headers)["changed"] is True
    posts = [bob.publish()["id"] for _ in range(2)]
    assert [ann.open(post, headers)["post"]["id"] for post in posts] == posts, "the id is part of the path"


def test_keys_belong_to_the_acting_user(server):
    ann, bob = server.users(2)
    headers = key()
    service = server.service(acting_for=ann.id)
    first = service.publish(headers=headers)
    assert ann.publish(headers=headers) == first, "the same user, by whichever token"
    service.acting_for = bob.id
    assert service.publish(headers=headers)["author_id"] == bob.id


def test_thirty_at_once_have_one_effect_and_equal_answers(server):
    ann = server.user()
    for _ in range(3):
        headers, answers, start = key(), [], threading.Barrier(30)
        before = posts_of(ann)

        def ask():
            actor = server.actor(ann.id)
            start.wait()
            answers.append(actor.send("POST", "/v1/posts", {"kind": "note", "title": "race"}, headers))

        threads = [threading.Thread(target=ask) for _ in range(30)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert {answer.status for answer in answers} == {201} and len(answers) == 30
        assert len({answer.body for answer in answers}) == 1
        assert posts_of(ann) == before + 1


def test_thirty_at_once_with_two_bodies(server):
    """One body wins; the other is refused each time. Never both, never a mixture."""
    ann = server.user()
    headers, answers, start = key(), [], threading.Barrier(30)

    def ask(i):
        actor = server.actor(ann.id)
        start.wait()
        answer = actor.send("POST", "/v1/posts", {"kind": "note", "title": f"body {i % 2}"}, headers)
        answers.append((i % 2, answer))

    threads = [threading.Thread(target=ask, args=(i,)) for i in range(30)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    good = {body for body, answer in answers if answer.status == 201}
    assert len(good) == 1 and posts_of(ann) == 1
    assert all(answer.status == (201 if body in good else 422) for body, answer in answers)


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGKILL])
def test_across_a_restart(make_server, how):
    server = make_server()
    ann, bob = server.users(2)
    headers, body = key(), {"kind": "note", "title": "kept"}
    first = ann.send("POST", "/v1/posts", body, headers)
    server.restart(how)
    again = ann.send("POST", "/v1/posts", body, headers)
    assert (again.status, again.body) == (201, first.body)
    ann.refused(422, "key_reused", "POST", "/v1/posts", {"kind": "note", "title": "other"}, headers)
    assert posts_of(ann) == 1
    assert bob.publish(headers=headers)["author_id"] == bob.id


def test_kill_in_the_middle_then_retry_everything(make_server):
    """kill -9 while many keyed requests are under way; each retried with its key happened once."""
    server = make_server()
    actors = server.users(6)
    wanted = {actor.id: [] for actor in actors}
    stop = threading.Event()

    def publish(actor):
        i = 0
        while not stop.is_set():
            headers, body = key(), {"kind": "note", "title": f"{actor.id}-{i}"}
            wanted[actor.id].append((headers, body))
            i += 1
            try:
                actor.send("POST", "/v1/posts", body, headers)
            except OSError:
                return
            except Exception as error:  # noqa: BLE001 - http.client: the server is gone
                assert "http.client" in type(error).__module__, error
                return

    threads = [threading.Thread(target=publish, args=(actor,)) for actor in actors]
    for thread in threads:
        thread.start()
    while sum(map(len, wanted.values())) < 150:
        pass
    server.process.kill()
    stop.set()
    for thread in threads:
        thread.join()
    server.restart(signal.SIGKILL)
    for actor in actors:
        titles = []
        for headers, body in wanted[actor.id]:
            titles.append(actor.post("/posts", body, 201, headers)["title"])
        rows = actor.rows(f"/users/{actor.id}/posts", 100)
        assert sorted(row["title"] for row in rows) == sorted(titles), "each once"
    server.stop()
    server.verify()


def test_get_put_patch_and_delete_ignore_it(server):
    ann = server.user()
    headers = key()
    assert ann.expect(200, "GET", "/v1/inbox/badge", headers=headers) == {"total": 0}
    for name in ("one", "two"):
        assert ann.expect(200, "PUT", "/v1/users/me", {"name": name}, headers)["name"] == name
    post = ann.publish(headers=headers)["id"]
    for title in ("a", "b"):
        assert ann.expect(200, "PATCH", f"/v1/posts/{post}", {"title": title}, headers)["title"] == title
    ann.delete(post, headers)
    ann.refused(410, "deleted", "DELETE", f"/v1/posts/{post}", headers=headers)


def test_what_failed_is_not_remembered(server):
    ann, bob = server.users(2)
    headers = key()
    ann.refused(400, "invalid", "POST", "/v1/posts", {"kind": "note", "title": ""}, headers)
    ann.publish("right", headers=headers)
    headers = key()
    post = bob.publish()["id"]
    body = {"post_ids": [post]}
    ann.refused(404, "not_found", "POST", "/v1/inbox/mark-read", body, headers)
    ann.follow(bob)
    later = bob.publish()["id"]
    assert ann.post("/inbox/mark-read", {"post_ids": [later]}, headers=headers)["marked"] == 1


def test_a_rate_limited_repeat_may_be_tried_again(make_server):
    server = make_server(settings={"follow_burst": 1, "follow_refill_ms": 300})
    ann, bob, cem = server.users(3)
    ann.follow(bob)
    headers, body = key(), {"user_id": cem.id}
    seen = []
    while 200 not in seen:
        seen.append(ann.send("POST", "/v1/relation/follow", body, headers).status)
    assert set(seen[:-1]) == {429} and ann.get("/relation/counter")["following"] == 2


@pytest.mark.parametrize("value", ["", "x" * 256])
def test_bad_keys(server, value):
    ann = server.user()
    ann.refused(400, "invalid", "POST", "/v1/posts", {"kind": "note", "title": "t"}, {"Idempotency-Key": value},
                field="Idempotency-Key")
    assert posts_of(ann) == 0


def test_key_given_twice(server):
    ann = server.user()
    headers = [*ann.headers().items(), ("Idempotency-Key", "a"), ("Idempotency-Key", "b")]
    answer = ann.client.request("POST", "/v1/posts", b'{"kind":"note","title":"t"}', headers)
    assert answer.status == 400 and answer.json["field"] == "Idempotency-Key" and posts_of(ann) == 0


def test_longest_key_and_any_visible_characters(server):
    ann = server.user()
    for value in ("x" * 255, "!#$%&'*+-.^_`|~ \"(),/:;<=>?@[]{}"):
        first = ann.publish(headers={"Idempotency-Key": value})
        assert ann.publish(headers={"Idempotency-Key": value}) == first


def test_verify_takes_a_key_and_is_repeatable(server):
    admin, headers = server.admin(), key()
    for _ in range(2):
        assert admin.post("/admin/verify", {}, headers=headers)["differences"] == 0
