"""SPEC 6: comments, replies, folding by votes, and moderators."""
import signal
import time

import pytest

from support.client import with_query
from support.sse import Stream


def post_by(server):
    author = server.user()
    return author, author.publish("Commented")["id"]


def counts(actor, post):
    return actor.stats("posts", post)["comment_count"]


def down(server, comment, n):
    voters = server.users(n)
    for voter in voters:
        voter.react(f"/comments/{comment}/downvote")
    return voters


def one(actor, post, comment, **query):
    """The comment as a list shows it; None if it is not in it."""
    return next((row for row in actor.comments(post, 100, **query) if row["id"] == comment), None)


# ---- Writing ------------------------------------------------------------------------------------

def test_a_comment(server):
    author, post = post_by(server)
    ann = server.user()
    ann.expect(200, "PUT", "/v1/users/me", {"name": "Ann"})
    now = int(time.time() * 1000)
    made = ann.comment(post, "Look: [img]https://example.org/a.jpg[/img] 林 🌱")
    assert abs(made["created_at"] - now) < 60_000
    assert made == {
        "id": made["id"], "post_id": post, "parent_id": None, "user_id": ann.id, "user_name": "Ann",
        "body": "Look: [img]https://example.org/a.jpg[/img] 林 🌱",
        "parts": [{"text": "Look: "}, {"img": "https://example.org/a.jpg"}, {"text": " 林 🌱"}],
        "status": "visible", "moderated": False, "created_at": made["created_at"],
        "stats": {"like_count": 0, "down_count": 0, "reply_count": 0, "hot_score": 0},
        "liked": False, "downvoted": False}
    assert author.comments(post) == [made]
    assert author.get(f"/posts/{post}")["stats"] == {
        "like_count": 0, "fav_count": 0, "comment_count": 1, "hot_score": 5}


@pytest.mark.parametrize("body", [
    "x", "x" * 4000, "林" * 4000, "🌱" * 4000, " ", "\n\t", "e\u0301" * 2000, "[img]", "\u202e\u200d", "\"\\</script>"])
def test_bodies_that_are_fine(server, body):
    author, post = post_by(server)
    assert author.comment(post, body)["body"] == body
    assert author.comments(post)[0]["body"] == body


@pytest.mark.parametrize("body, field", [
    ({"body": ""}, "body"), ({"body": "x" * 4001}, "body"), ({"body": "林" * 4001}, "body"), ({"body": None}, "body"),
    ({}, "body"), ({"body": 5}, "body"), ({"body": ["x"]}, "body"), ({"body": "a\u0000b"}, "body"),
    ({"body": "x", "parent_id": 0}, "parent_id"), ({"body": "x", "parent_id": -1}, "parent_id"),
    ({"body": "x", "parent_id": "5"}, "parent_id"), ({"body": "x", "parent_id": 1.5}, "parent_id"),
    ({"body": "x", "parent_id": 2 ** 53}, "parent_id"), ({"body": "x", "parent_id": True}, "parent_id"),
    ({"body": "x", "post_id": 5}, "post_id"), ({"body": "x", "user_id": 5}, "user_id"),
    ({"body": "x", "status": "visible"}, "status"),
])
def test_refused_comments_change_nothing(server, body, field):
    author, post = post_by(server)
    author.refused(400, "invalid", "POST", f"/v1/posts/{post}/comments", body, field=field)
    assert counts(author, post) == 0 and author.comments(post, include_hidden=1) == []


def test_where_nothing_can_be_commented_on(server):
    author, post = post_by(server)
    other_post = author.publish()["id"]
    comment = author.comment(post)["id"]
    path = "/v1/posts/{}/comments"
    for unknown in (1, 2 ** 53 - 1, comment):
        author.refused(404, "not_found", "POST", path.format(unknown), {"body": "x"})
        author.refused(404, "not_found", "GET", path.format(unknown))
    for parent in (1, 2 ** 53 - 1, post):
        author.refused(404, "not_found", "POST", path.format(post), {"body": "x", "parent_id": parent})
        author.refused(404, "not_found", "GET", path.format(post) + f"?parent_id={parent}")
    author.refused(404, "not_found", "POST", path.format(other_post), {"body": "x", "parent_id": comment})
    author.refused(404, "not_found", "GET", path.format(other_post) + f"?parent_id={comment}")
    for bad in ("0", "-1", "x", "", "01", str(2 ** 53)):
        author.refused(400, "invalid", "GET", path.format(post) + f"?parent_id={bad}", field="parent_id")
    assert counts(author, post) == 1


def test_a_null_parent_is_the_top(server):
    author, post = post_by(server)
    made = author.post(f"/posts/{post}/comments", {"body": "x", "parent_id": None}, 201)
    assert made["parent_id"] is None and len(author.comments(post)) == 1


def test_replies_at_any_depth_are_listed_by_parent(server):
    author, post = post_by(server)
    chain = [author.comment(post, "0")["id"]]
    for depth in range(1, 30):
        made = author.comment(post, str(depth), chain[-1])
        assert made["parent_id"] == chain[-1] and made["post_id"] == post
        chain.append(made["id"])
    assert counts(author, post) == 30, "at every depth"
    assert [row["id"] for row in author.comments(post)] == chain[:1], "the top level only"
    for parent, child in zip(chain, chain[1:]):
        rows = author.comments(post, parent_id=parent)
        assert [row["id"] for row in rows] == [child]
        assert author.stats("comments", parent)["reply_count"] == 1, "direct replies"
    assert author.comments(post, parent_id=chain[-1]) == []


# ---- Lists --------------------------------------------------------------------------------------

def test_orders_and_pages(server):
    author, post = post_by(server)
    voters = server.users(4)
    made = [author.comment(post, str(i)) for i in range(11)]
    score = {row["id"]: 0 for row in made}
    for i, row in enumerate(made):
        for voter in voters[:(i * 7) % 5 % len(voters) + 0]:
            voter.react(f"/comments/{row['id']}/like")
            score[row["id"]] += 2
    for row in (made[3], made[8]):
        voters[3].react(f"/comments/{row['id']}/downvote")
        score[row["id"]] -= 4
    author.comment(post, "reply", made[5]["id"])
    score[made[5]["id"]] += 3
    ids = [row["id"] for row in made]
    expected = {"new": ids[::-1], "old": ids, "hot": sorted(ids, key=lambda i: (-score[i], -i))}
    assert len(set(score.values())) > 3 and min(score.values()) < 0
    for sort, order in expected.items():
        for limit in (1, 2, 3, 10, 11, 100):
            rows = author.comments(post, limit, sort=sort)
            assert [row["id"] for row in rows] == order, (sort, limit)
        assert {row["id"]: row["stats"]["hot_score"] for row in rows} == score
    assert [row["id"] for row in author.comments(post)] == expected["hot"], "hot is the default"


def test_pages_by_time_are_exact_while_comments_come_and_go(server):
    author, post = post_by(server)
    made = [author.comment(post, str(i))["id"] for i in range(12)]
    for sort, order in (("new", made[::-1]), ("old", made)):
        seen = []
        for page in author.pages(f"/posts/{post}/comments", 3, sort=sort):
            seen += [row["id"] for row in page["items"]]
            if len(seen) > 12:
                break
            author.expect(204, "DELETE", f"/v1/comments/{author.comment(post, 'gone')['id']}")
            if sort == "new":
                made.append(author.comment(post, "later")["id"])
        assert seen[:12] == order[:12], sort


def test_what_moves_while_somebody_pages_by_heat_loses_nobody_else(server):
    author, post = post_by(server)
    ann, bob = server.users(2)
    made = [author.comment(post, str(i))["id"] for i in range(20)]
    for comment in made[::2]:
        ann.react(f"/comments/{comment}/like")
    order = [row["id"] for row in author.comments(post, 100)]
    moving = {order[1], order[7], order[12], order[18]}
    up, sideways, downward, far = order[12], order[7], order[1], order[18]
    seen = []
    for number, page in enumerate(author.pages(f"/posts/{post}/comments", 4)):
        seen += [row["id"] for row in page["items"]]
        if number == 0:
            bob.react(f"/comments/{up}/like")
            bob.react(f"/comments/{downward}/downvote")
        elif number == 1:
            ann.unreact(f"/comments/{sideways}/like")
            bob.react(f"/comments/{far}/like")
    still = [comment for comment in order if comment not in moving]
    assert [comment for comment in seen if comment not in moving] == still, "each of the others once, in order"


# ---- Folding ------------------------------------------------------------------------------------

@pytest.mark.parametrize("likes, downs, folds", [
    (0, 2, False), (0, 3, True), (1, 3, False), (1, 4, True), (2, 5, False), (2, 6, True), (2, 7, True), (3, 7, False)])
def test_the_rule(server, likes, downs, folds):
    author, post = post_by(server)
    comment = author.comment(post, "Judge me")["id"]
    for fan in server.users(likes):
        fan.react(f"/comments/{comment}/like")
    down(server, comment, downs)
    row = one(author, post, comment)
    assert row["status"] == ("hidden" if folds else "visible") and row["moderated"] is False
    assert counts(author, post) == (0 if folds else 1)


def test_folding_both_ways(server):
    author, post = post_by(server)
    comment = author.comment(post, "Fold me [img]http://x[/img]")
    path = f"/comments/{comment['id']}"
    voters = down(server, comment["id"], 2)
    assert one(author, post, comment["id"])["body"] == comment["body"]
    voters += down(server, comment["id"], 1)
    folded = one(author, post, comment["id"])
    assert (folded["status"], folded["body"], folded["parts"]) == ("hidden", None, [])
    assert folded["stats"] == {"like_count": 0, "down_count": 3, "reply_count": 0, "hot_score": -12}
    opened = one(author, post, comment["id"], include_hidden=1)
    assert opened == {**folded, "body": comment["body"], "parts": comment["parts"]}
    assert one(author, post, comment["id"], include_hidden=0) == folded
    assert author.get(f"/posts/{post}")["stats"]["hot_score"] == 0
    voters[0].react(path + "/like")
    assert one(author, post, comment["id"])["status"] == "visible", "two downs: the vote went over to the other side"
    assert counts(author, post) == 1
    voters[0].react(path + "/downvote")
    assert one(author, post, comment["id"])["status"] == "hidden"
    voters[1].unreact(path + "/downvote")
    back = one(author, post, comment["id"])
    assert (back["status"], back["body"]) == ("visible", comment["body"])
    assert counts(author, post) == 1


def test_a_fold_moves_the_parents_replies_but_not_the_children(server):
    author, post = post_by(server)
    top = author.comment(post, "top")["id"]
    middle = author.comment(post, "middle", top)["id"]
    author.comment(post, "leaf", middle)
    voters = down(server, middle, 3)
    assert author.stats("comments", top) == {"like_count": 0, "down_count": 0, "reply_count": 0, "hot_score": 0}
    assert author.stats("comments", middle)["reply_count"] == 1
    assert counts(author, post) == 2, "a visible reply under a folded parent counts"
    assert [row["body"] for row in author.comments(post, parent_id=middle)] == ["leaf"]
    author.comment(post, "another leaf", middle)
    assert counts(author, post) == 3
    voters[0].unreact(f"/comments/{middle}/downvote")
    assert author.stats("comments", top)["reply_count"] == 1 and counts(author, post) == 4


def test_settings_of_the_rule(make_server):
    server = make_server(settings={"fold_down": 2, "fold_percent": 100})
    author, post = post_by(server)
    comment = author.comment(post)["id"]
    down(server, comment, 1)
    assert one(author, post, comment)["status"] == "visible"
    down(server, comment, 1)
    assert one(author, post, comment)["status"] == "hidden"


def test_another_rule_after_a_restart_judges_everything_anew(make_server):
    server = make_server()
    author, post = post_by(server)
    admin = server.admin()
    mild, harsh, kept = (author.comment(post, word)["id"] for word in ("mild", "harsh", "kept"))
    down(server, mild, 2)
    down(server, harsh, 5)
    down(server, kept, 2)
    admin.post(f"/comments/{kept}/restore")

    def folded():
        return [row["id"] for row in author.comments(post, sort="old") if row["status"] == "hidden"]

    assert folded() == [harsh] and counts(author, post) == 2
    server.settings.update(fold_down=2)
    server.restart()
    assert folded() == [mild, harsh] and counts(author, post) == 1, "a moderator's word outlives the rule"
    server.settings.update(fold_down=100)
    server.restart()
    assert folded() == [] and counts(author, post) == 3
    service = server.service()
    events = service.get("/events", limit=100)
    assert [(row["type"], row["target_id"]) for row in events["items"] if row["actor_user_id"] is None] == [
        ("CommentHidden", mild), ("CommentRestored", mild), ("CommentRestored", harsh)], "nobody did it"
    server.restart(between=server.verify)
    assert service.get("/events", limit=100) == events, "looking at the data with other settings changes nothing"


# ---- Moderators ---------------------------------------------------------------------------------

def test_a_moderators_hide_sticks(server):
    author, post = post_by(server)
    admin = server.admin()
    comment = author.comment(post, "Hide me")
    path = f"/comments/{comment['id']}"
    hidden = admin.post(path + "/hide")
    assert (hidden["status"], hidden["moderated"], hidden["id"]) == ("hidden", True, comment["id"])
    for fan in server.users(3):
        fan.react(path + "/like")
    row = one(author, post, comment["id"])
    assert (row["status"], row["body"], row["moderated"]) == ("hidden", None, True)
    assert one(author, post, comment["id"], include_hidden=1)["body"] == "Hide me"
    assert counts(author, post) == 0
    restored = admin.post(path + "/restore")
    assert (restored["status"], restored["body"], restored["moderated"]) == ("visible", "Hide me", True)
    assert counts(author, post) == 1
    down(server, comment["id"], 12)
    assert one(author, post, comment["id"])["status"] == "visible", "and so does the restoring"


@pytest.mark.parametrize("word, votes, status", [("restore", 0, "visible"), ("hide", 3, "hidden")])
def test_a_moderators_word_sticks_also_where_it_changes_nothing(server, word, votes, status):
    author, post = post_by(server)
    comment = author.comment(post)["id"]
    voters = down(server, comment, votes)
    assert one(author, post, comment)["status"] == status
    answer = server.admin().post(f"/comments/{comment}/{word}")
    assert (answer["status"], answer["moderated"]) == (status, True)
    if word == "restore":
        down(server, comment, 4)
    for voter in voters:
        voter.unreact(f"/comments/{comment}/downvote")
    assert one(author, post, comment)["status"] == status
    assert server.admin().post(f"/comments/{comment}/{word}")["status"] == status, "again is fine"


@pytest.mark.parametrize("word", ["hide", "restore"])
def test_who_may_not_moderate(server, word):
    author, post = post_by(server)
    comment = author.comment(post)["id"]
    path = f"/v1/comments/{comment}/{word}"
    for who in (author, server.user(), server.service(), server.service(acting_for=author.id)):
        who.refused(403, "forbidden", "POST", path)
    assert one(author, post, comment)["moderated"] is False
    server.admin().refused(404, "not_found", "POST", f"/v1/comments/{post}/{word}")
    author.expect(204, "DELETE", f"/v1/comments/{comment}")
    server.admin().refused(410, "deleted", "POST", path)


# ---- Deleting -----------------------------------------------------------------------------------

def test_deleting_by_author_or_admin_only_and_once(server):
    author, post = post_by(server)
    ann, bob = server.users(2)
    first, second, third = (ann.comment(post, "x")["id"] for _ in range(3))
    for who in (bob, author, server.service()):
        who.refused(403, "forbidden", "DELETE", f"/v1/comments/{first}")
    assert counts(author, post) == 3
    ann.expect(204, "DELETE", f"/v1/comments/{first}")
    server.admin().expect(204, "DELETE", f"/v1/comments/{second}")
    server.service(acting_for=ann.id).expect(204, "DELETE", f"/v1/comments/{third}")
    assert counts(author, post) == 0 and author.comments(post) == []
    problem = ann.refused(410, "deleted", "DELETE", f"/v1/comments/{first}")
    assert "post_title" not in problem
    ann.refused(404, "not_found", "DELETE", f"/v1/comments/{post}")
    for what in ("stats", "likes"):
        ann.refused(410, "deleted", "GET", f"/v1/comments/{first}/{what}")


def test_a_deleted_comment_is_listed_while_it_has_replies(server):
    author, post = post_by(server)
    ann = server.user()
    parent = ann.comment(post, "parent")["id"]
    reply = author.comment(post, "reply", parent)["id"]
    ann.expect(204, "DELETE", f"/v1/comments/{parent}")
    for sort in ("hot", "new", "old"):
        for include in (0, 1):
            row = one(author, post, parent, sort=sort, include_hidden=include)
            assert (row["status"], row["body"], row["parts"]) == ("deleted", None, [])
    assert row["stats"]["reply_count"] == 1 and counts(author, post) == 1
    assert [r["body"] for r in author.comments(post, parent_id=parent)] == ["reply"]
    author.refused(410, "deleted", "POST", f"/v1/posts/{post}/comments", {"body": "x", "parent_id": parent})
    author.expect(204, "DELETE", f"/v1/comments/{reply}")
    assert author.comments(post) == [] and counts(author, post) == 0


def test_deleting_a_folded_comment_counts_once(server):
    author, post = post_by(server)
    comment = author.comment(post)["id"]
    other = author.comment(post)["id"]
    voters = down(server, comment, 3)
    assert counts(author, post) == 1
    author.expect(204, "DELETE", f"/v1/comments/{comment}")
    assert counts(author, post) == 1
    voters[0].unreact(f"/comments/{comment}/downvote")
    assert counts(author, post) == 1, "votes do not bring back what is deleted"
    assert [row["id"] for row in author.comments(post)] == [other]


def test_the_comments_of_a_deleted_post_are_for_admins_only(server):
    author, post = post_by(server)
    admin, ann = server.admin(), server.user()
    comment = ann.comment(post, "still here")["id"]
    author.delete(post)
    list_path = f"/v1/posts/{post}/comments"
    for who in (ann, author, server.service()):
        problem = who.refused(410, "deleted", "GET", list_path, headers={"Accept-Language": "en"})
        assert problem["post_title"] == "Commented" and problem["notice"]
    assert [row["body"] for row in admin.comments(post)] == ["still here"]
    for who in (ann, admin):
        assert who.refused(410, "deleted", "POST", list_path, {"body": "x"})["post_title"] == "Commented"
        assert "post_title" not in who.refused(410, "deleted", "POST", list_path, {"body": "x", "parent_id": comment})
        who.refused(410, "deleted", "DELETE", f"/v1/comments/{comment}")
    for target in (f"posts/{post}", f"comments/{comment}"):
        for what in ("stats", "likes"):
            ann.refused(410, "deleted", "GET", f"/v1/{target}/{what}")
            admin.get(f"/{target}/{what}")


# ---- Retries, limits, crashes, events -----------------------------------------------------------

def test_a_key_makes_one_comment(server):
    author, post = post_by(server)
    headers = {"Idempotency-Key": "comment once"}
    first = author.comment(post, "once", headers=headers)
    author.react(f"/comments/{first['id']}/like")
    assert author.comment(post, "once", headers=headers) == first, "the first answer, as it was"
    author.refused(422, "key_reused", "POST", f"/v1/posts/{post}/comments", {"body": "other"}, headers)
    assert counts(author, post) == 1
    admin = server.admin()
    hidden = admin.post(f"/comments/{first['id']}/hide", headers=headers)
    admin.post(f"/comments/{first['id']}/restore", headers=headers)
    assert admin.post(f"/comments/{first['id']}/hide", headers=headers) == hidden
    assert one(author, post, first["id"])["status"] == "visible", "nothing was done again"


def test_comments_have_a_bucket_of_their_own(make_server):
    server = make_server(settings={"comment_burst": 2, "comment_refill_ms": 3_600_000})
    author, post = post_by(server)
    ann = server.user()
    path = f"/v1/posts/{post}/comments"
    comments = [ann.comment(post)["id"] for _ in range(2)]
    headers = {"Idempotency-Key": "after the flood"}
    answer = ann.send("POST", path, {"body": "x"}, headers)
    assert answer.status == 429 and answer.json["code"] == "rate_limited"
    assert 3500 < int(answer.headers["retry-after"]) <= 3600
    assert counts(author, post) == 2
    ann.react(f"/posts/{post}/like")
    ann.expect(204, "DELETE", f"/v1/comments/{comments[0]}")
    ann.refused(429, "rate_limited", "POST", path, {"body": "deleting gives nothing back"})
    for free in (server.service(acting_for=ann.id), server.admin()):
        for _ in range(4):
            free.comment(post)
    server.restart()
    ann.refused(429, "rate_limited", "POST", path, {"body": "x"}, headers)


def test_comments_survive_a_crash_and_add_up(make_server):
    server = make_server()
    author, post = post_by(server)
    admin = server.admin()
    tops = [author.comment(post, f"top {i} 林")["id"] for i in range(5)]
    replies = [author.comment(post, "reply", tops[i % 2])["id"] for i in range(4)]
    down(server, tops[0], 3)
    down(server, replies[1], 4)
    admin.post(f"/comments/{tops[2]}/hide")
    admin.post(f"/comments/{tops[3]}/restore")
    author.expect(204, "DELETE", f"/v1/comments/{tops[1]}")
    author.expect(204, "DELETE", f"/v1/comments/{replies[2]}")
    gone = author.publish()["id"]
    author.comment(gone)
    author.delete(gone)

    def everything():
        lists = [author.comments(post, 2, sort=sort, parent_id=parent, include_hidden=include)
                 for sort in ("hot", "new", "old") for parent in (None, tops[0], tops[1]) for include in (0, 1)]
        return lists, author.get(f"/posts/{post}"), admin.comments(gone)

    before = everything()
    server.restart(signal.SIGKILL)
    assert everything() == before
    author.comment(post, "and it goes on")
    server.stop()
    server.verify()


def test_events_of_comments_and_votes(make_server):
    server = make_server()
    service, admin = server.service(), server.admin()
    author, post = post_by(server)
    after = service.get("/events")["items"][-1]["event_id"]
    ann = server.user()
    ann.react(f"/posts/{post}/like")
    ann.react(f"/posts/{post}/like")
    ann.unreact(f"/posts/{post}/like")
    ann.react(f"/posts/{post}/fav")
    comment = ann.comment(post)["id"]
    author.react(f"/comments/{comment}/like")
    author.react(f"/comments/{comment}/downvote")
    admin.post(f"/comments/{comment}/hide")
    admin.post(f"/comments/{comment}/hide")
    admin.post(f"/comments/{comment}/restore")
    ann.expect(204, "DELETE", f"/v1/comments/{comment}")
    rows = service.get("/events", after=after)["items"]
    assert [(row["type"], row["actor_user_id"], row["target_type"], row["target_id"], row["action"], row["delta"],
             row["author_id"], row["post_id"], row["reaction"]) for row in rows] == [
        ("ReactionCreated", ann.id, "post", post, "react", 1, author.id, None, "like"),
        ("ReactionDeleted", ann.id, "post", post, "unreact", -1, author.id, None, "like"),
        ("ReactionCreated", ann.id, "post", post, "react", 1, author.id, None, "fav"),
        ("CommentCreated", ann.id, "comment", comment, "comment", 1, author.id, post, None),
        ("ReactionCreated", author.id, "comment", comment, "react", 1, author.id, post, "like"),
        ("ReactionDeleted", author.id, "comment", comment, "unreact", -1, author.id, post, "like"),
        ("ReactionCreated", author.id, "comment", comment, "react", 1, author.id, post, "downvote"),
        ("CommentHidden", admin.id, "comment", comment, "hide", -1, author.id, post, None),
        ("CommentRestored", admin.id, "comment", comment, "restore", 1, author.id, post, None),
        ("CommentDeleted", ann.id, "comment", comment, "delete", -1, author.id, post, None),
    ]


def test_votes_fold_with_an_event(make_server):
    server = make_server()
    service = server.service()
    author, post = post_by(server)
    comment = author.comment(post)["id"]
    voters = down(server, comment, 3)
    voters[0].unreact(f"/comments/{comment}/downvote")
    rows = [row for row in service.get("/events")["items"] if row["type"].startswith("Comment")]
    assert [(row["type"], row["actor_user_id"]) for row in rows] == [
        ("CommentCreated", author.id), ("CommentHidden", voters[2].id), ("CommentRestored", voters[0].id)]


def test_nothing_of_this_is_pushed(server):
    """SPEC 11: badge, post and notification are all that a stream tells."""
    author, post = post_by(server)
    ann = server.user()
    ann.follow(author)
    with Stream(server, ann.bearer) as stream:
        assert stream.next().name == "badge"
        comment = author.comment(post)["id"]
        author.react(f"/comments/{comment}/like")
        author.react(f"/posts/{post}/like")
        later = author.publish()["id"]
        assert stream.next().data["post_id"] == later, "the next thing told of is the next post"


def test_include_hidden_and_paging_together(server):
    author, post = post_by(server)
    made = [author.comment(post, str(i))["id"] for i in range(6)]
    for comment in made[::2]:
        server.admin().post(f"/comments/{comment}/hide")
    rows = author.comments(post, 2, sort="old")
    assert [row["body"] for row in rows] == [None, "1", None, "3", None, "5"]
    rows = author.comments(post, 2, sort="old", include_hidden=1)
    assert [row["body"] for row in rows] == [str(i) for i in range(6)]
    path = with_query(f"/v1/posts/{post}/comments", {"include_hidden": "true"})
    author.refused(400, "invalid", "GET", path, field="include_hidden")


@pytest.mark.parametrize("body", ["\x01" * 4000, "🌱" * 4000, "\x01[img]\x7f[/img]" * 307])
def test_a_page_of_the_longest_comments_is_answered(server, body):
    """Control characters take six bytes each in JSON, and a body is given twice: raw and in parts. Such a page once
    was more than a connection may hold back, and was cut: anybody could make a post's comments unreadable."""
    author, post = post_by(server)
    for _ in range(100):
        author.comment(post, body)
    rows = author.comments(post, 100)
    assert len(rows) == 100 and all(row["body"] == body for row in rows)
    assert all("".join(part.get("text", f"[img]{part.get('img')}[/img]") for part in row["parts"]) == body
               for row in rows)
