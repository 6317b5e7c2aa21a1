"""SPEC 5: likes, favourites and downvotes; who liked this, what I liked."""
import signal
import threading
import time

import pytest

from support.client import new_user_id

# what the path says, the count that it moves, what it adds to hot_score
REACTIONS = {
    "post like": ("/posts/{post}/like", "like_count", 3),
    "post fav": ("/posts/{post}/fav", "fav_count", 4),
    "comment like": ("/comments/{comment}/like", "like_count", 2),
    "comment downvote": ("/comments/{comment}/downvote", "down_count", -4),
}
ALL = pytest.mark.parametrize("path, count, weight", REACTIONS.values(), ids=REACTIONS)


def make(server):
    """A post with a comment, both of one author."""
    author = server.user()
    post = author.publish("Likeable")["id"]
    return author, {"post": post, "comment": author.comment(post, "Likeable, too")["id"]}


def stats_of(actor, path, ids):
    return actor.get(path.format(**ids).rsplit("/", 1)[0] + "/stats")


# ---- Setting and removing -----------------------------------------------------------------------

@ALL
def test_put_and_delete_are_idempotent(server, path, count, weight):
    author, ids = make(server)
    ann, bob = server.users(2)
    before = stats_of(ann, path, ids)
    path_of = path.format(**ids)
    for who, how, changed, number in (
            (ann, ann.unreact, False, 0), (ann, ann.react, True, 1), (ann, ann.react, False, 1),
            (bob, bob.react, True, 2), (ann, ann.react, False, 2), (ann, ann.unreact, True, 1),
            (ann, ann.unreact, False, 1), (bob, bob.unreact, True, 0), (bob, bob.react, True, 1)):
        answer = how(path_of)
        expected = {**before, count: number, "hot_score": before["hot_score"] + weight * number}
        assert answer == {"changed": changed, "stats": expected}, who
        assert stats_of(author, path, ids) == expected


@ALL
def test_ones_own_may_be_reacted_to(server, path, count, weight):
    author, ids = make(server)
    assert author.react(path.format(**ids))["stats"][count] == 1


def test_like_and_fav_are_independent_and_seen_by_their_user_only(server):
    author, ids = make(server)
    ann = server.user()
    path = f"/posts/{ids['post']}"

    def seen(actor):
        post = actor.get(path)
        return post["liked"], post["faved"]

    assert seen(ann) == (False, False)
    ann.react(path + "/like")
    assert seen(ann) == (True, False) and seen(author) == (False, False)
    ann.react(path + "/fav")
    assert seen(ann) == (True, True)
    assert ann.open(ids["post"])["post"]["stats"] == {
        "like_count": 1, "fav_count": 1, "comment_count": 1, "hot_score": 12}
    ann.unreact(path + "/like")
    assert seen(ann) == (False, True)
    edited = author.expect(200, "PATCH", "/v1" + path, {"title": "Edited"})
    assert edited["stats"] == {"like_count": 0, "fav_count": 1, "comment_count": 1, "hot_score": 9}
    assert edited["liked"] is False and edited["faved"] is False


def test_like_and_downvote_exclude_each_other(server):
    author, ids = make(server)
    ann = server.user()
    like, down = f"/comments/{ids['comment']}/like", f"/comments/{ids['comment']}/downvote"

    def flags():
        row = ann.comments(ids["post"])[0]
        return row["liked"], row["downvoted"]

    assert ann.react(like)["stats"] == {"like_count": 1, "down_count": 0, "reply_count": 0, "hot_score": 2}
    assert flags() == (True, False)
    assert ann.react(down) == {"changed": True, "stats": {
        "like_count": 0, "down_count": 1, "reply_count": 0, "hot_score": -4}}
    assert flags() == (False, True)
    assert ann.unreact(like) == {"changed": False, "stats": {
        "like_count": 0, "down_count": 1, "reply_count": 0, "hot_score": -4}}
    assert ann.react(like)["stats"]["down_count"] == 0 and flags() == (True, False)
    assert ann.rows("/me/likes", target="comment")[0]["id"] == ids["comment"]
    ann.react(down)
    assert ann.rows("/me/likes", target="comment") == [] and author.rows(like + "s") == []


def test_a_body_that_does_not_belong_changes_nothing_about_it(server):
    _, ids = make(server)
    ann = server.user()
    answer = ann.expect(200, "PUT", f"/v1/posts/{ids['post']}/like", b"not json")
    assert answer["changed"] is True


@pytest.mark.parametrize("path", ["/posts/{post}/downvote", "/comments/{comment}/fav", "/comments/{comment}/downvotes",
                                  "/posts/{post}/favs", "/me/downvotes"])
def test_what_there_is_not(server, path):
    """Comments are not saved, posts not downvoted, and nobody is told who downvoted or saved."""
    _, ids = make(server)
    ann = server.user()
    for method in ("GET", "PUT", "DELETE"):
        ann.refused(404, "not_found", method, "/v1" + path.format(**ids))


@pytest.mark.parametrize("method", ["PUT", "DELETE"])
@ALL
def test_unknown_targets(server, path, count, weight, method):
    author, ids = make(server)
    swapped = {"post": ids["comment"], "comment": ids["post"]}
    ann = server.user()
    for wrong in ({"post": 1, "comment": 1}, {"post": 2 ** 53 - 1, "comment": 2 ** 53 - 1}, swapped):
        ann.refused(404, "not_found", method, "/v1" + path.format(**wrong))
    ann.refused(404, "not_found", "GET", f"/v1/posts/{ids['comment']}/likes")
    ann.refused(404, "not_found", "GET", f"/v1/comments/{ids['post']}/likes")


# ---- Deleted targets ----------------------------------------------------------------------------

@pytest.mark.parametrize("reaction", ["like", "fav"])
def test_a_deleted_post_takes_no_new_reaction_but_gives_back_old_ones(server, reaction):
    author, ids = make(server)
    ann, bob = server.users(2)
    path = f"/posts/{ids['post']}/{reaction}"
    ann.react(path)
    author.delete(ids["post"])
    for who in (ann, bob, author):
        problem = who.refused(410, "deleted", "PUT", "/v1" + path, headers={"Accept-Language": "en"})
        assert problem["post_title"] == "Likeable" and problem["notice"] == "This post was deleted by its author."
    own = "/me/likes" if reaction == "like" else "/me/favs"
    counter = "liked_posts" if reaction == "like" else "faved_posts"
    assert [(row["id"], row["is_deleted"]) for row in ann.rows(own)] == [(ids["post"], True)]
    assert ann.get("/relation/counter")[counter] == 1
    assert ann.unreact(path)["changed"] is True
    assert ann.unreact(path)["changed"] is False
    assert ann.rows(own) == [] and ann.get("/relation/counter")[counter] == 0


@pytest.mark.parametrize("reaction", ["like", "downvote"])
def test_a_deleted_comment_takes_no_new_reaction_but_gives_back_old_ones(server, reaction):
    author, ids = make(server)
    ann, bob = server.users(2)
    path = f"/comments/{ids['comment']}/{reaction}"
    ann.react(path)
    author.expect(204, "DELETE", f"/v1/comments/{ids['comment']}")
    for who in (ann, bob):
        problem = who.refused(410, "deleted", "PUT", "/v1" + path)
        assert "post_title" not in problem and "notice" not in problem, "no post has been deleted"
    assert ann.unreact(path)["changed"] is True
    assert ann.unreact(path)["changed"] is False


@pytest.mark.parametrize("reaction", ["like", "downvote"])
def test_comments_of_a_deleted_post_likewise(server, reaction):
    author, ids = make(server)
    ann, bob = server.users(2)
    path = f"/comments/{ids['comment']}/{reaction}"
    ann.react(path)
    author.delete(ids["post"])
    bob.refused(410, "deleted", "PUT", "/v1" + path)
    assert ann.unreact(path)["changed"] is True


# ---- Lists --------------------------------------------------------------------------------------

@pytest.mark.parametrize("path", ["/posts/{post}/like", "/comments/{comment}/like"])
def test_who_liked_this(server, path):
    author, ids = make(server)
    path = path.format(**ids)
    assert author.get(path + "s") == {"items": [], "next_cursor": None}
    fans = server.users(7)
    fans[0].expect(200, "PUT", "/v1/users/me", {"name": "林 🌱", "avatar": "https://example.org/f.png"})
    started = int(time.time() * 1000) - 1000
    for fan in fans:
        fan.react(path)
    rows = author.rows(path + "s", 3)
    assert [row["user_id"] for row in rows] == [fan.id for fan in reversed(fans)]
    assert [row["at"] for row in rows] == sorted((row["at"] for row in rows), reverse=True)
    assert all(row["at"] >= started for row in rows)
    assert (rows[-1]["name"], rows[-1]["avatar"]) == ("林 🌱", "https://example.org/f.png")
    assert rows[0]["name"] == ""
    fans[2].react(path)
    assert author.rows(path + "s", 3) == rows, "a repeat moves nothing"
    fans[2].unreact(path)
    fans[2].react(path)
    assert author.rows(path + "s", 2)[0]["user_id"] == fans[2].id, "anew is on top"
    assert len(author.rows(path + "s", 2)) == 7


def test_pages_of_likes_neither_skip_nor_repeat_while_others_like(server):
    author, ids = make(server)
    path = f"/posts/{ids['post']}/like"
    fans = server.users(20)
    for fan in fans:
        fan.react(path)
    seen = []
    for page in author.pages(path + "s", 3):
        seen += [row["user_id"] for row in page["items"]]
        server.user().react(path)
        if len(seen) == 6:
            fans[0].unreact(path)
    assert seen == [fan.id for fan in reversed(fans)][:-1]


def test_what_i_liked_and_saved(server):
    author, ids = make(server)
    ann = server.user()
    posts = [author.publish(f"Post {i}", kind=kind)["id"] for i, kind in enumerate(["note", "activity", "story"] * 2)]
    for post in posts:
        ann.react(f"/posts/{post}/like")
    for post in posts[:2]:
        ann.react(f"/posts/{post}/fav")
    rows = ann.rows("/me/likes", 4)
    assert [row["id"] for row in rows] == posts[::-1] == [row["post_id"] for row in rows]
    assert rows[0]["title"] == "Post 5" and rows[0]["author_id"] == author.id and rows[0]["is_deleted"] is False
    assert ann.rows("/me/likes", 4, target="post") == rows
    assert [row["id"] for row in ann.rows("/me/favs", 1)] == posts[1::-1]
    assert ann.rows("/me/likes", target="comment") == []
    assert author.rows("/me/likes") == [] and author.rows("/me/favs") == [], "everybody sees their own"
    author.delete(posts[5])
    first = ann.get("/me/likes", limit=1)["items"][0]
    assert (first["id"], first["title"], first["is_deleted"]) == (posts[5], "Post 5", True)


def test_comments_that_i_liked(server):
    author, ids = make(server)
    ann = server.user()
    texts = ["一 🌱", "second", "third [img]http://x[/img]"]
    comments = [author.comment(ids["post"], text)["id"] for text in texts]
    for comment in comments:
        ann.react(f"/comments/{comment}/like")
    rows = ann.rows("/me/likes", 2, target="comment")
    assert [(row["id"], row["body"]) for row in rows] == list(zip(comments, texts))[::-1]
    assert all(row["post_id"] == ids["post"] and row["user_id"] == author.id for row in rows)
    assert ann.rows("/me/likes") == []
    author.expect(204, "DELETE", f"/v1/comments/{comments[0]}")
    server.admin().post(f"/comments/{comments[1]}/hide")
    rows = ann.rows("/me/likes", 2, target="comment")
    assert [(row["body"], row["is_deleted"]) for row in rows] == [(texts[2], False), (None, False), (None, True)]


def test_counters(server):
    author, ids = make(server)
    ann, bob = server.users(2)
    second = author.publish()["id"]

    def counters(actor):
        got = actor.get("/relation/counter")
        return tuple(got[name] for name in ("liked_posts", "faved_posts", "likes_received", "favs_received"))

    for path in (f"/posts/{ids['post']}/like", f"/posts/{ids['post']}/fav", f"/posts/{second}/like",
                 f"/comments/{ids['comment']}/like"):
        ann.react(path)
        bob.react(path)
    assert counters(ann) == counters(bob) == (2, 1, 0, 0)
    assert counters(author) == (0, 0, 4, 2), "likes of comments are not among them"
    bob.unreact(f"/posts/{second}/like")
    assert counters(bob) == (1, 1, 0, 0) and counters(author) == (0, 0, 3, 2)
    author.delete(ids["post"])
    assert counters(author) == (0, 0, 1, 0), "only on posts that are there"
    assert counters(ann) == (2, 1, 0, 0), "standing reactions, wherever"
    ann.unreact(f"/posts/{ids['post']}/like")
    assert counters(author) == (0, 0, 1, 0) and counters(ann) == (1, 1, 0, 0)


# ---- Limits, concurrency, crashes ---------------------------------------------------------------

def test_reactions_have_a_bucket_of_their_own(make_server):
    server = make_server(settings={"react_burst": 4, "react_refill_ms": 3_600_000})
    author, ids = make(server)
    ann = server.user()
    path = f"/v1/posts/{ids['post']}/like"
    for method in ("PUT", "PUT", "DELETE", "PUT"):
        ann.expect(200, method, path)
    for method, other in (("PUT", path), ("DELETE", path), ("PUT", f"/v1/posts/{ids['post']}/fav"),
                          ("PUT", f"/v1/comments/{ids['comment']}/downvote")):
        answer = ann.send(method, other)
        assert answer.status == 429 and answer.json["code"] == "rate_limited"
        assert 3500 < int(answer.headers["retry-after"]) <= 3600
    assert author.stats("posts", ids["post"])["like_count"] == 1 and ann.rows("/me/favs") == []
    ann.follow(author)
    ann.comment(ids["post"])
    for free in (server.service(acting_for=ann.id), server.admin()):
        for _ in range(6):
            free.expect(200, "PUT", path)
    server.restart()
    ann.refused(429, "rate_limited", "PUT", path)


def test_the_bucket_fills_again(make_server):
    server = make_server(settings={"react_burst": 2, "react_refill_ms": 200})
    _, ids = make(server)
    ann = server.user()
    path = f"/v1/posts/{ids['post']}/like"
    statuses = [ann.send("PUT", path).status for _ in range(20)]
    assert statuses[:2] == [200, 200] and 429 in statuses
    deadline = time.monotonic() + 30
    while ann.send("PUT", path).status == 429:
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_many_at_once_are_counted_exactly(server):
    author, ids = make(server)
    fans = server.users(8)

    def swing(fan, i):
        for _ in range(10):
            for path in (f"/posts/{ids['post']}/like", f"/comments/{ids['comment']}/like"):
                fan.react(path)
                fan.unreact(path)
            fan.react(f"/comments/{ids['comment']}/downvote")
        if i % 2:
            fan.react(f"/posts/{ids['post']}/like")
            fan.react(f"/comments/{ids['comment']}/like")

    threads = [threading.Thread(target=swing, args=(fan, i)) for i, fan in enumerate(fans)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert author.stats("posts", ids["post"])["like_count"] == 4 == len(author.rows(f"/posts/{ids['post']}/likes"))
    stats = author.stats("comments", ids["comment"])
    assert (stats["like_count"], stats["down_count"]) == (4, 4)
    assert author.get("/relation/counter")["likes_received"] == 4


def test_reactions_survive_a_crash_and_add_up(make_server):
    server = make_server()
    author, ids = make(server)
    fans = server.users(5)
    for fan in fans:
        fan.react(f"/posts/{ids['post']}/like")
        fan.react(f"/posts/{ids['post']}/fav")
        fan.react(f"/comments/{ids['comment']}/downvote")
    fans[0].unreact(f"/posts/{ids['post']}/like")
    gone = author.publish()["id"]
    fans[1].react(f"/posts/{gone}/like")
    author.delete(gone)

    def everything():
        return (author.get(f"/posts/{ids['post']}"), author.comments(ids["post"], include_hidden=1),
                author.rows(f"/posts/{ids['post']}/likes"), author.get("/relation/counter"),
                [fan.rows("/me/likes") + fan.rows("/me/favs") for fan in fans])

    before = everything()
    server.restart(signal.SIGKILL)
    assert everything() == before
    server.stop()
    server.verify()


def test_nobody_is_needed_to_have_signed_up(server):
    _, ids = make(server)
    service = server.service(acting_for=new_user_id())
    assert service.react(f"/posts/{ids['post']}/like")["changed"] is True
    assert service.rows(f"/posts/{ids['post']}/likes")[0]["user_id"] == service.acting_for
