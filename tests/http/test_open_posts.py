"""GET /v1/stream?post_ids=…: what happens to posts that a reader has open."""
import pytest

from support.sse import Stream
from test_stream import act_together, listen, nothing_but  # noqa: F401 (a fixture)


def activity(stream, **wanted):
    return stream.until("activity", **wanted).data


def test_an_open_post_tells_of_everything_that_happens_to_it(server, listen):
    ann, bob, eve = server.users(3)
    post = bob.publish()["id"]
    stream = listen(ann, post_ids=[post])
    stream.until("badge")

    def told(kind, comment=None):
        event = stream.next()
        assert (event.name, event.data["post_id"]) == ("activity", post), event
        assert (event.data["type"], event.data["comment_id"]) == (kind, comment), event
        assert event.data["stats"] == bob.stats("posts", post), event
        return event.data["stats"]

    first = eve.comment(post)["id"]
    assert told("CommentCreated", first)["comment_count"] == 1
    reply = eve.comment(post, parent_id=first)["id"]
    told("CommentCreated", reply)
    eve.react(f"/posts/{post}/like")
    assert told("ReactionCreated")["like_count"] == 1
    eve.react(f"/posts/{post}/fav")
    told("ReactionCreated")
    eve.unreact(f"/posts/{post}/fav")
    told("ReactionDeleted")
    eve.react(f"/comments/{first}/like")
    told("ReactionCreated", first)
    admin = server.admin()
    admin.post(f"/comments/{first}/hide")
    told("CommentHidden", first)
    admin.post(f"/comments/{first}/restore")
    told("CommentRestored", first)
    eve.expect(204, "DELETE", f"/v1/comments/{reply}")
    told("CommentDeleted", reply)
    bob.expect(200, "PATCH", f"/v1/posts/{post}", {"title": "Another"})
    told("PostEdited")
    bob.delete(post)
    event = stream.next()
    assert event.data == {"post_id": post, "type": "PostDeleted", "comment_id": None, "stats": None}


def test_votes_that_fold_a_comment_are_told(server, listen):
    ann, bob, *voters = server.users(5)
    post = bob.publish()["id"]
    comment = bob.comment(post)["id"]
    stream = listen(ann, post_ids=[post])
    for voter in voters:
        voter.react(f"/comments/{comment}/downvote")
    stats = activity(stream, type="CommentHidden", comment_id=comment)["stats"]
    assert stats["comment_count"] == 0


def test_only_the_streams_that_have_it_open_hear(server, listen):
    """Two devices of one reader, one with the post open, and a reader with another post."""
    ann, cat, bob = server.users(3)
    ann.follow(bob)
    one, other = [bob.publish()["id"] for _ in range(2)]
    with_it, without, elsewhere = listen(ann, post_ids=[one]), listen(ann), listen(cat, post_ids=[other])
    for stream in (with_it, without, elsewhere):
        stream.until("badge")
    bob.react(f"/posts/{one}/like")
    assert activity(with_it)["post_id"] == one
    bob.react(f"/posts/{other}/like")
    assert activity(elsewhere)["post_id"] == other
    late = bob.publish()["id"]
    for stream in (with_it, without):
        assert nothing_but(stream, lambda event: event.name == "post" and event.data["post_id"] == late, "badge") == []


def test_a_closed_stream_has_nothing_open(server, listen):
    ann, bob = server.users(2)
    post = bob.publish()["id"]
    stay = listen(ann, post_ids=[post, post])
    stay.until("badge")
    for _ in range(3):
        with Stream(server, ann.bearer, post_ids=[post]) as gone:
            gone.until("badge")
    bob.react(f"/posts/{post}/like")
    activity(stay, type="ReactionCreated")
    bob.comment(post)
    assert nothing_but(stay, lambda event: event.data.get("type") == "CommentCreated") == [], "once, although named twice"


def test_ten_posts_and_no_more(server, listen):
    ann, bob = server.users(2)
    posts = [bob.publish()["id"] for _ in range(10)]
    stream = listen(ann, post_ids=posts)
    stream.until("badge")
    bob.react(f"/posts/{posts[-1]}/like")
    assert activity(stream)["post_id"] == posts[-1]
    query = ",".join(map(str, [*posts, 1]))
    problem = ann.refused(400, "invalid", "GET", f"/v1/stream?post_ids={query}", field="post_ids")
    assert "1 to 10 ids" in problem["detail"]


@pytest.mark.parametrize("value", ["", "x", "1,", ",1", "1,,2", "-1", "9007199254740993"])
def test_what_is_no_list_of_posts_is_refused(server, value):
    server.user().refused(400, "invalid", "GET", f"/v1/stream?post_ids={value}", field="post_ids")


def test_more_than_can_be_told_is_said(make_server, listen):
    """With room for one event, what a batch does cannot be told one by one."""
    server = make_server(settings={"stream_backlog": 1})
    ann, bob, *fans = server.users(22)
    posts = [bob.publish()["id"] for _ in range(2)]
    stream, deaf = listen(ann, post_ids=posts), listen(bob)
    stream.until("badge")
    deaf.until("badge")
    for fan in fans:
        fan.follow(bob)
    late = {"post_ids": [bob.publish()["id"]]}
    seen = []
    for _ in range(50):
        act_together(fans, "/inbox/mark-read", late)
        act_together(fans, "/inbox/mark-unread", late)
        seen += [event.name for event in stream.events_so_far()]
        if "missed" in seen:
            break
    assert "missed" in seen
    assert not [event for event in deaf.events_so_far() if event.name in ("activity", "missed")]
