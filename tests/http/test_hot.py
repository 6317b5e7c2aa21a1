"""SPEC 7: stats, the score and its terms, hot lists."""
import pytest

KINDS = ("note", "activity", "story")


def fans_of(server, n):
    return server.users(n)


def heat_up(fans, post, likes=0, favs=0, comments=0):
    for fan in fans[:likes]:
        fan.react(f"/posts/{post}/like")
    for fan in fans[:favs]:
        fan.react(f"/posts/{post}/fav")
    for _ in range(comments):
        fans[0].comment(post)


# ---- Stats --------------------------------------------------------------------------------------

def test_stats_of_a_new_post_and_comment_are_zeros(server):
    ann = server.user()
    post = ann.publish()
    zeros = {"like_count": 0, "fav_count": 0, "comment_count": 0, "hot_score": 0}
    assert post["stats"] == zeros == ann.stats("posts", post["id"])
    assert post["liked"] is False and post["faved"] is False
    comment = ann.comment(post["id"])["id"]
    assert ann.stats("comments", comment) == {"like_count": 0, "down_count": 0, "reply_count": 0, "hot_score": 0}


@pytest.mark.parametrize("kind", KINDS)
def test_the_score_of_a_post_and_its_terms(server, kind):
    author = server.user()
    fans = fans_of(server, 3)
    post = author.publish(kind=kind)["id"]
    heat_up(fans, post, likes=3, favs=2, comments=1)
    stats = {"like_count": 3, "fav_count": 2, "comment_count": 1, "hot_score": 22}
    assert author.stats("posts", post) == stats
    assert author.get(f"/posts/{post}/stats", explain=0) == stats
    explained = author.get(f"/posts/{post}/stats", explain=1)
    assert explained == {**stats, "decay": None, "terms": [
        {"name": "like", "count": 3, "weight": 3, "value": 9},
        {"name": "fav", "count": 2, "weight": 4, "value": 8},
        {"name": "comment", "count": 1, "weight": 5, "value": 5}]}


def test_the_score_of_a_comment_and_its_terms(server):
    author = server.user()
    fans = fans_of(server, 3)
    post = author.publish()["id"]
    comment = author.comment(post)["id"]
    fans[0].react(f"/comments/{comment}/like")
    fans[1].react(f"/comments/{comment}/downvote")
    fans[2].react(f"/comments/{comment}/downvote")
    author.comment(post, "reply", comment)
    stats = {"like_count": 1, "down_count": 2, "reply_count": 1, "hot_score": -3}
    assert author.stats("comments", comment) == stats
    assert author.get(f"/comments/{comment}/stats", explain=1) == {**stats, "terms": [
        {"name": "like", "count": 1, "weight": 2, "value": 2},
        {"name": "reply", "count": 1, "weight": 3, "value": 3},
        {"name": "down", "count": 2, "weight": -4, "value": -8}]}


@pytest.mark.parametrize("what", ["posts", "comments"])
def test_stats_of_what_is_not_there(server, what):
    ann = server.user()
    for unknown in (1, 2 ** 53 - 1):
        ann.refused(404, "not_found", "GET", f"/v1/{what}/{unknown}/stats")
    post = ann.publish()["id"]
    target = post if what == "posts" else ann.comment(post)["id"]
    for bad in ("2", "true", "", "yes"):
        ann.refused(400, "invalid", "GET", f"/v1/{what}/{target}/stats?explain={bad}", field="explain")
    ann.delete(post)
    problem = ann.refused(410, "deleted", "GET", f"/v1/{what}/{target}/stats")
    assert problem.get("post_title") == ("A title" if what == "posts" else None)


def test_weights_are_settings(make_server):
    server = make_server(settings={"hot_like": 10, "hot_fav": 0, "hot_comment": 1, "hot_comment_like": 7,
                                   "hot_comment_reply": 0, "hot_comment_down": 1})
    author = server.user()
    fans = fans_of(server, 2)
    post = author.publish()["id"]
    heat_up(fans, post, likes=2, favs=1, comments=1)
    comment = fans[0].comments(post)[0]["id"]
    fans[0].react(f"/comments/{comment}/like")
    fans[1].react(f"/comments/{comment}/downvote")
    explained = author.get(f"/posts/{post}/stats", explain=1)
    assert explained["hot_score"] == 21 == sum(term["value"] for term in explained["terms"])
    assert [term["weight"] for term in explained["terms"]] == [10, 0, 1]
    explained = author.get(f"/comments/{comment}/stats", explain=1)
    assert explained["hot_score"] == 6 == sum(term["value"] for term in explained["terms"])


def test_other_weights_after_a_restart_order_everything_anew(make_server):
    server = make_server()
    author = server.user()
    fans = fans_of(server, 3)
    liked, talked, plain = (author.publish()["id"] for _ in range(3))
    heat_up(fans, liked, likes=2)
    heat_up(fans, talked, comments=2)
    top = author.comments(talked, sort="old")
    fans[1].react(f"/comments/{top[0]['id']}/like")
    author.comment(talked, "reply", top[1]["id"])

    def order():
        return [row["post_id"] for row in author.rows("/hot", 2)], [row["id"] for row in author.comments(talked, 1)]

    assert order() == ([talked, liked, plain], [top[1]["id"], top[0]["id"]])
    server.settings.update(hot_like=100, hot_comment_like=50)
    server.restart()
    assert order() == ([liked, talked, plain], [top[0]["id"], top[1]["id"]])
    assert author.get(f"/posts/{liked}/stats", explain=1)["hot_score"] == 200
    server.settings.update(hot_half_life_hours=1, hot_like=0)
    server.restart()
    assert order()[0] == [talked, plain, liked], "nothing scored: the newest first"
    server.stop()
    server.verify()


# ---- Lists --------------------------------------------------------------------------------------

def test_hot_lists_by_kind_score_and_age(make_server):
    server = make_server()
    author = server.user()
    author.expect(200, "PUT", "/v1/users/me", {"name": "Author"})
    fans = fans_of(server, 4)
    assert author.get("/hot") == {"items": [], "next_cursor": None}
    scores = {kind: {} for kind in KINDS}
    for i in range(21):
        kind = KINDS[i % 3]
        post = author.publish(f"t{i}", f"Body {i} [img]http://x[/img]", kind)["id"]
        likes, favs, comments = (i * 5) % 4, (i * 3) % 2, i % 5 == 0
        heat_up(fans, post, likes, favs, comments)
        scores[kind][post] = likes * 3 + favs * 4 + comments * 5
    for kind in KINDS:
        expected = sorted(scores[kind], key=lambda post: (-scores[kind][post], -post))
        assert 0 in scores[kind].values(), "those that nobody reacted to are in"
        for limit in (1, 3, 7, 100):
            rows = fans[0].rows("/hot", limit, kind=kind)
            assert [row["post_id"] for row in rows] == expected, (kind, limit)
        for row in rows:
            assert row["kind"] == kind and row["author_id"] == author.id and row["author_name"] == "Author"
            assert row["stats"]["hot_score"] == row["heat"] == scores[kind][row["post_id"]]
            post = author.get(f"/posts/{row['post_id']}")
            assert (row["title"], row["created_at"], row["stats"]) == (
                post["title"], post["created_at"], post["stats"])
            assert row["excerpt"].startswith("Body")
    assert author.rows("/hot") == author.rows("/hot", kind="note"), "notes are the default"
    server.stop()
    server.verify()


def test_posts_move_at_once_and_deleted_ones_leave(make_server):
    server = make_server()
    author = server.user()
    fans = fans_of(server, 3)
    first, second, third = (author.publish()["id"] for _ in range(3))

    def order():
        return [row["post_id"] for row in author.rows("/hot", 2)]

    assert order() == [third, second, first]
    fans[0].react(f"/posts/{first}/like")
    assert order() == [first, third, second]
    comment = fans[0].comment(second)["id"]
    assert order() == [second, first, third]
    for fan in fans:
        fan.react(f"/comments/{comment}/downvote")
    assert order() == [first, third, second], "a folded comment warms nobody"
    server.admin().post(f"/comments/{comment}/restore")
    assert order() == [second, first, third]
    fans[0].expect(204, "DELETE", f"/v1/comments/{comment}")
    assert order() == [first, third, second]
    author.expect(200, "PATCH", f"/v1/posts/{first}", {"title": "Edited"})
    assert author.get("/hot", limit=1)["items"][0]["title"] == "Edited"
    author.delete(first)
    assert order() == [third, second]
    fans[0].unreact(f"/posts/{first}/like")
    assert order() == [third, second], "and nothing brings them back"
    server.stop()
    server.verify()


def test_what_moves_while_somebody_pages_loses_nobody_else(make_server):
    server = make_server()
    author = server.user()
    fans = fans_of(server, 2)
    posts = [author.publish(str(i))["id"] for i in range(20)]
    for post in posts[::2]:
        fans[0].react(f"/posts/{post}/like")
    order = [row["post_id"] for row in author.rows("/hot", 100)]
    moving = {order[1], order[9], order[13], order[17]}
    seen = []
    for number, page in enumerate(author.pages("/hot", 4)):
        seen += [row["post_id"] for row in page["items"]]
        if number == 0:
            fans[1].react(f"/posts/{order[13]}/fav")
            fans[0].unreact(f"/posts/{order[1]}/like")
        elif number == 1:
            author.delete(order[17])
            fans[0].unreact(f"/posts/{order[9]}/like")
        author.publish("new meanwhile", kind="activity")
    assert [post for post in seen if post not in moving] == [post for post in order if post not in moving]
    assert order[17] not in seen


def test_a_half_life_is_explained(make_server):
    server = make_server(settings={"hot_half_life_hours": 2})
    author = server.user()
    fans = fans_of(server, 3)
    posts = [author.publish(str(i))["id"] for i in range(3)]
    for likes, post in enumerate(posts):
        heat_up(fans, post, likes=likes)
    explained = author.get(f"/posts/{posts[2]}/stats", explain=1)
    decay = explained["decay"]
    assert decay["half_life_hours"] == 2 and 0 <= decay["age_ms"] < 600_000
    assert decay["factor"] == pytest.approx(2 ** (-decay["age_ms"] / 7_200_000), rel=1e-9)
    assert explained["hot_score"] == 6 == sum(term["value"] for term in explained["terms"])
    assert decay["heat"] == pytest.approx(6 * decay["factor"], rel=1e-6)
    rows = author.rows("/hot", 2)
    assert [row["post_id"] for row in rows] == posts[::-1]
    assert [row["stats"]["hot_score"] for row in rows] == [6, 3, 0]
    for row in rows:
        score = row["stats"]["hot_score"]
        assert score * 2 ** (-1 / 12) < row["heat"] <= score or score == row["heat"] == 0
    assert author.get(f"/posts/{posts[0]}/stats", explain=1)["decay"]["heat"] == 0
    comment = author.comment(posts[0])["id"]
    assert "decay" not in author.get(f"/comments/{comment}/stats", explain=1), "comments do not cool down"
