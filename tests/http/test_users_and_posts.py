"""SPEC 1 and 3: profiles; publish, edit, delete, get, open; an author's page."""
import time

import pytest

from support.client import new_user_id

ENGLISH = "This post was deleted by its author."
CHINESE = "该笔记已被作者删除"


# ---- Profiles -----------------------------------------------------------------------------------

def test_profile_is_optional_and_public(server):
    ann, bob = server.users(2)
    assert bob.get(f"/users/{ann.id}") == {"user_id": ann.id, "name": "", "avatar": "", "extra": None}
    made = {"user_id": ann.id, "name": "Ann 小林 🌱", "avatar": "https://example.org/a.png", "extra": None}
    assert ann.expect(200, "PUT", "/v1/users/me", {"name": made["name"], "avatar": made["avatar"]}) == made
    assert bob.get(f"/users/{ann.id}") == made


def test_profile_parts_are_set_one_by_one_and_taken_away(server):
    ann = server.user()
    ann.expect(200, "PUT", "/v1/users/me", {"name": "Ann"})
    assert ann.expect(200, "PUT", "/v1/users/me", {"avatar": "https://x"}) == {
        "user_id": ann.id, "name": "Ann", "avatar": "https://x", "extra": None}
    assert ann.expect(200, "PUT", "/v1/users/me", {"name": "", "avatar": None}) == {
        "user_id": ann.id, "name": "", "avatar": "https://x", "extra": None}


@pytest.mark.parametrize("name, avatar, field", [
    ("n" * 64, "https://a", None), ("林" * 64, "", None), ("𝒳" * 64, None, None),
    ("n" * 65, None, "name"), ("林" * 65, None, "name"),
    (None, "https://a/" + "a" * 502, None), (None, "https://a/" + "a" * 503, "avatar"),
    (None, "https://a/" + "林" * 167, None), (None, "https://a/" + "林" * 168, "avatar"), (None, "javascript:alert(1)", "avatar"),
    (None, "data:text/html,x", "avatar"), (None, "/a.png", "avatar"), (None, "//a/b", "avatar"), (None, "https://u:p@a/", "avatar"),
    (None, "https://", "avatar"), (None, "https://a/\"onerror=x", "avatar"), (None, " https://a/", "avatar"),
    (None, "http://[::1]:8080/a?b#c", None),
    (7, None, "name"), (None, [], "avatar"), (None, None, "name"),
])
def test_profile_bounds(server, name, avatar, field):
    ann = server.user()
    body = {"name": name, "avatar": avatar}
    if field:
        ann.refused(400, "invalid", "PUT", "/v1/users/me", body, field=field)
        assert ann.get(f"/users/{ann.id}")["name"] == ""
    else:
        ann.expect(200, "PUT", "/v1/users/me", body)


def test_author_names_in_answers_follow_the_profile(server):
    ann, bob = server.users(2)
    ann.follow(bob)
    post = bob.publish()
    assert post["author_name"] == ""
    bob.expect(200, "PUT", "/v1/users/me", {"name": "Bob"})
    assert ann.get(f"/posts/{post['id']}")["author_name"] == "Bob"
    assert ann.inbox()[0]["author_name"] == "Bob"
    assert ann.get("/inbox/unread")["authors"][0]["name"] == "Bob"


# ---- By name ------------------------------------------------------------------------------------

def name_them(server, *names):
    people = server.users(len(names))
    for person, name in zip(people, names):
        person.expect(200, "PUT", "/v1/users/me", {"name": name})
    return people


def test_people_are_found_by_the_beginning_of_their_names(server):
    mark = f"q{new_user_id()}"
    names = [f"{mark} Ann", f"{mark.upper()} ann", f"{mark} Änne", f"{mark} 小林", f"{mark} Яна", f"{mark}"]
    people = name_them(server, *names)
    reader = server.user()
    row = {"user_id": people[0].id, "name": names[0], "avatar": "", "extra": None, "found": True}
    found = reader.get("/users/search", prefix=f"{mark} an")
    same = sorted((row, {**row, "user_id": people[1].id, "name": names[1]}), key=lambda row: row["user_id"])
    assert found == {"items": same, "next_cursor": None}
    for limit in (1, 2, 5, 6, 100):
        assert [row["name"].lower() for row in reader.rows("/users/search", limit, prefix=mark.upper())] == [
            name.lower() for name in (names[5], names[0], names[1], names[2], names[4], names[3])]
    assert [row["user_id"] for row in reader.rows("/users/search", prefix=f"{mark} ÄN")] == [people[2].id]
    assert [row["user_id"] for row in reader.rows("/users/search", prefix=f"{mark} я")] == [people[4].id]
    assert reader.rows("/users/search", prefix=f"{mark}x") == []


def test_who_takes_another_name_is_found_by_that_one(server):
    mark = f"q{new_user_id()}"
    ann, bob, cid = name_them(server, f"{mark} a", f"{mark} b", f"{mark} c")
    first = ann.get("/users/search", prefix=mark, limit=2)
    assert [row["user_id"] for row in first["items"]] == [ann.id, bob.id]
    bob.expect(200, "PUT", "/v1/users/me", {"name": f"{mark} d"})
    ann.expect(200, "PUT", "/v1/users/me", {"name": ""})
    rest = ann.get("/users/search", prefix=mark, cursor=first["next_cursor"])
    assert [row["user_id"] for row in rest["items"]] == [cid.id, bob.id], "behind the name that the page ended with"
    assert [row["user_id"] for row in cid.rows("/users/search", prefix=mark)] == [cid.id, bob.id]


def test_the_longest_names_have_cursors(server):
    mark = f"{new_user_id()}"
    people = name_them(server, *[mark + "😀" * (64 - len(mark))] * 3)
    rows = people[0].rows("/users/search", 1, prefix=mark + "😀" * 20)
    assert [row["user_id"] for row in rows] == sorted(person.id for person in people)


@pytest.mark.parametrize("prefix", [None, "", "x" * 65, "%ff", "%ED%A0%80"])
def test_what_is_no_beginning_of_a_name(server, prefix):
    query = "" if prefix is None else f"?prefix={prefix}"
    server.user().refused(400, "invalid", "GET", f"/v1/users/search{query}", field="prefix")


def test_a_cursor_among_names_is_the_readers_own(server):
    mark = f"q{new_user_id()}"
    ann, bob, _ = name_them(server, f"{mark} a", f"{mark} b", f"{mark} c")
    cursor = ann.get("/users/search", prefix=mark, limit=1)["next_cursor"]
    for reader, given in ((bob, cursor), (ann, cursor[:-1]), (ann, ann.get("/inbox/unread")["as_of"])):
        reader.refused(400, "invalid", "GET", f"/v1/users/search?prefix={mark}&cursor={given}", field="cursor")


# ---- Posts --------------------------------------------------------------------------------------

@pytest.mark.parametrize("kind", ["note", "activity", "story"])
def test_publish_and_get(server, kind):
    ann, bob = server.users(2)
    before = int(time.time() * 1000)
    post = ann.publish("Title", "one [img]https://example.org/p.jpg[/img] two", kind)
    assert post == {
        "id": post["id"], "kind": kind, "author_id": ann.id, "author_name": "", "title": "Title",
        "body": "one [img]https://example.org/p.jpg[/img] two",
        "parts": [{"text": "one "}, {"img": "https://example.org/p.jpg"}, {"text": " two"}],
        "extra": None,
        "created_at": post["created_at"], "edited_at": None, "status": 1,
        "stats": {"like_count": 0, "fav_count": 0, "comment_count": 0, "hot_score": 0},
        "liked": False, "faved": False}
    assert before - 1000 <= post["created_at"] <= time.time() * 1000 + 1000
    assert bob.get(f"/posts/{post['id']}") == post
    assert ann.get("/relation/counter")["posts"] == 1


@pytest.mark.parametrize("body, parts", [
    ("", []),
    ("plain", [{"text": "plain"}]),
    ("[img]http://a[/img]", [{"img": "http://a"}]),
    ("[img]http://a[/img][img]http://b[/img]", [{"img": "http://a"}, {"img": "http://b"}]),
    ("[img]unclosed", [{"text": "[img]unclosed"}]),
    ("[img][/img]", [{"text": "[img][/img]"}]),
    ("[img]javascript:alert(1)[/img]", [{"text": "[img]javascript:alert(1)[/img]"}]),
    ("stray[/img] [img]http://x[/img]", [{"text": "stray[/img] "}, {"img": "http://x"}]),
    ("[img]a [img]http://b[/img]", [{"text": "[img]a "}, {"img": "http://b"}]),
    ("\"quotes\" \\ \n\t </script> \u2028 \x7f", [{"text": "\"quotes\" \\ \n\t </script> \u2028 \x7f"}]),
])
def test_parts_of_a_body(server, body, parts):
    post = server.user().publish(body=body)
    assert post["body"] == body and post["parts"] == parts


def test_body_may_be_left_out(server):
    ann = server.user()
    for body in ({"kind": "note", "title": "t"}, {"kind": "note", "title": "t", "body": None}):
        post = ann.post("/posts", body, 201)
        assert post["body"] == "" and post["parts"] == []


@pytest.mark.parametrize("title, body, field", [
    ("t" * 200, "b" * 65536, None), ("林" * 200, "林" * 21845, None),
    ("t" * 201, "", "title"), ("", "", "title"), ("t", "b" * 65537, "body"), ("t", "林" * 21846, "body"),
])
def test_post_bounds(server, title, body, field):
    ann = server.user()
    request = {"kind": "note", "title": title, "body": body}
    if field:
        ann.refused(400, "invalid", "POST", "/v1/posts", request, field=field)
        assert ann.get("/relation/counter")["posts"] == 0
    else:
        post = ann.post("/posts", request, 201)
        assert post["title"] == title and post["body"] == body
        assert ann.get(f"/posts/{post['id']}")["body"] == body


def test_ids_increase_and_hold_in_a_double(server):
    ann = server.user()
    ids = [ann.publish()["id"] for _ in range(30)]
    assert ids == sorted(set(ids)) and ids[-1] < 2 ** 53
    assert [row["post_id"] for row in ann.rows(f"/users/{ann.id}/posts", 7)] == ids[::-1]


def test_edit(server):
    ann, bob = server.users(2)
    bob.follow(ann)
    post = ann.publish("Old", "old body")
    bob.open(post["id"])
    path = f"/v1/posts/{post['id']}"
    edited = ann.expect(200, "PATCH", path, {"title": "New"})
    assert (edited["title"], edited["body"]) == ("New", "old body")
    assert edited["edited_at"] >= post["created_at"] and edited["created_at"] == post["created_at"]
    edited = ann.expect(200, "PATCH", path, {"body": "new body"})
    assert (edited["title"], edited["body"], edited["parts"]) == ("New", "new body", [{"text": "new body"}])
    assert ann.expect(200, "PATCH", path, {"title": None, "body": ""})["body"] == ""
    item = bob.inbox()[0]
    assert item["title"] == "New" and item["excerpt"] == "" and item["is_read"] is True, "it stays read"


def test_edit_that_changes_nothing_is_not_an_edit(server):
    ann = server.user()
    post = ann.publish("Same", "same")
    again = ann.expect(200, "PATCH", f"/v1/posts/{post['id']}", {"title": "Same", "body": "same"})
    assert again == post


@pytest.mark.parametrize("body, field", [
    ({}, "title"), ({"title": None}, "title"), ({"title": ""}, "title"), ({"title": "t" * 201}, "title"),
    ({"title": 5}, "title"), ({"body": "b" * 65537}, "body"), ({"body": False}, "body"), ({"kind": "note"}, "kind"),
])
def test_edit_refuses(server, body, field):
    ann = server.user()
    post = ann.publish()
    ann.refused(400, "invalid", "PATCH", f"/v1/posts/{post['id']}", body, field=field)
    assert ann.get(f"/posts/{post['id']}") == post


def test_only_the_author_edits_and_only_author_or_admin_deletes(server):
    ann, bob = server.users(2)
    admin, service = server.admin(), server.service()
    path = f"/v1/posts/{ann.publish()['id']}"
    for other in (bob, admin, service):
        other.refused(403, "forbidden", "PATCH", path, {"title": "mine"})
    for other in (bob, service):
        other.refused(403, "forbidden", "DELETE", path)
    assert bob.get(path[3:])["title"] == "A title"
    service.acting_for = ann.id
    assert service.expect(200, "PATCH", path, {"title": "for Ann"})["title"] == "for Ann"
    admin.expect(204, "DELETE", path)
    assert ann.get("/relation/counter")["posts"] == 0


def test_who_names_no_language_gets_the_one_that_is_set(make_server):
    ann = make_server(settings={"notice_language": "en"}).user()
    post = ann.publish("Gone soon")["id"]
    ann.delete(post)
    for language, notice in ((None, "This post was deleted by its author."), ("en", "This post was deleted by its author."),
                             ("zh-CN", "该笔记已被作者删除"), ("fr", "This post was deleted by its author.")):
        headers = {"Accept-Language": language} if language else {}
        assert ann.refused(410, "deleted", "GET", f"/v1/posts/{post}", headers=headers)["notice"] == notice


@pytest.mark.parametrize("language, notice", [
    (None, CHINESE), ("zh", CHINESE), ("zh-CN,zh;q=0.9,en;q=0.8", CHINESE),
    ("fr, zh;q=0.1", CHINESE), ("fr", ENGLISH), ("*", ENGLISH),
    ("en", ENGLISH), ("en-US,en;q=0.9", ENGLISH), ("en, zh;q=0.5", ENGLISH), ("zh;q=0.2, en;q=0.7", ENGLISH),
    ("zh;q=0, en;q=0.1", ENGLISH), ("fr, en;q=0.3", ENGLISH), ("EN-gb", ENGLISH),
    ("zh;q=0.91, en;q=0.95", ENGLISH), ("en;q=0.91, zh;q=0.95", CHINESE), ("zh;q=0.05, en;q=0.1", ENGLISH),
])
def test_a_deleted_post_is_gone_with_title_and_notice(server, language, notice):
    ann, bob = server.users(2)
    bob.follow(ann)
    post = ann.publish("Gone soon", "secret body")
    ann.delete(post["id"])
    path = f"/v1/posts/{post['id']}"
    headers = {"Accept-Language": language} if language else {}
    for method, where, who, body in (("GET", path, bob, None), ("POST", path + "/open", bob, None),
                                     ("PATCH", path, ann, {"title": "x"}), ("DELETE", path, ann, None)):
        problem = who.refused(410, "deleted", method, where, body, headers)
        assert problem["post_title"] == "Gone soon" and problem["notice"] == notice, (method, problem)
        assert "secret" not in str(problem)
    item = bob.expect(200, "GET", "/v1/inbox", None, headers)["items"][0]
    assert item["is_deleted"] is True and item["notice"] == notice
    assert item["title"] == "Gone soon" and item["excerpt"] == ""


def test_whoever_may_not_learns_nothing_new_from_a_deleted_post(server):
    """410 and 403 must not depend on anything but what GET tells anyway."""
    ann, bob = server.users(2)
    post = ann.publish()
    ann.delete(post["id"])
    assert bob.send("DELETE", f"/v1/posts/{post['id']}").status in (403, 410)


@pytest.mark.parametrize("method, path, body", [
    ("GET", "", None), ("PATCH", "", {"title": "x"}), ("DELETE", "", None), ("POST", "/open", None)])
def test_unknown_post(server, method, path, body):
    ann = server.user()
    for post_id in (1, 2 ** 53 - 1, ann.publish()["id"] + 1):
        ann.refused(404, "not_found", method, f"/v1/posts/{post_id}{path}", body)


# ---- Opening ------------------------------------------------------------------------------------

def test_open_marks_read_once_and_get_does_not(server):
    ann, bob = server.users(2)
    ann.follow(bob)
    first, second = bob.publish(), bob.publish()
    assert ann.get(f"/posts/{first['id']}") == first
    assert ann.badge() == 2, "GET does not read"
    answer = ann.open(first["id"])
    assert answer == {"post": first, "unread": {"total": 1, "author": 1}}
    item = ann.inbox(filter="read")[0]
    read_at = item["read_at"]
    assert item["post_id"] == first["id"] and read_at > 0
    assert ann.open(first["id"])["unread"] == {"total": 1, "author": 1}
    assert ann.inbox(filter="read")[0]["read_at"] == read_at, "the first time is kept"
    assert ann.open(second["id"])["unread"] == {"total": 0, "author": 0}
    assert ann.check_adds_up() == 0


def test_opening_what_was_never_delivered_leaves_counts_alone(server):
    ann, bob = server.users(2)
    early = bob.publish()["id"]
    ann.follow(bob)
    bob.publish()
    assert ann.open(early)["unread"] == {"total": 1, "author": 1}
    assert ann.check_adds_up() == 1
    assert early not in {row["post_id"] for row in ann.inbox()}
    assert [row["post_id"] for row in ann.rows("/history")] == [early]
    assert [row["post_id"] for row in ann.rows(f"/users/{bob.id}/posts", read_status="read")] == [early]


def test_own_posts_are_not_delivered_but_can_be_opened(server):
    ann = server.user()
    post = ann.publish()["id"]
    assert ann.inbox() == [] and ann.badge() == 0
    assert ann.open(post)["unread"] == {"total": 0, "author": 0}
    assert [row["post_id"] for row in ann.rows("/history")] == [post]


# ---- An author's page by read status ------------------------------------------------------------

def test_author_page_by_read_status(server):
    ann, bob = server.users(2)
    posts = [bob.publish(f"t{i}")["id"] for i in range(3)]
    ann.follow(bob)
    posts += [bob.publish(f"t{i}")["id"] for i in range(3, 6)]
    for post in (posts[1], posts[4]):
        ann.open(post)
    bob.delete(posts[0])
    bob.delete(posts[4])

    def page(status):
        pages = list(ann.pages(f"/users/{bob.id}/posts", 2, read_status=status))
        ids = [row["post_id"] for one in pages for row in one["items"]]
        assert {one["total"] for one in pages} == {len(ids)}, "the total is exact on every page"
        return ids

    assert page("all") == [posts[5], posts[3], posts[2], posts[1]]
    assert page("read") == [posts[1]]
    assert page("unread") == [posts[5], posts[3], posts[2]]
    assert page(None) == page("all")
    mine = bob.get(f"/users/{bob.id}/posts")
    assert mine["total"] == 4 and not any(row["is_read"] for row in mine["items"])


def test_author_page_of_nobody(server):
    assert server.user().get(f"/users/{new_user_id()}/posts") == {"items": [], "next_cursor": None, "total": 0}


def test_publishing_too_fast_is_429(make_server):
    server = make_server(settings={"publish_burst": 60, "publish_refill_ms": 3_600_000})  # the first is the default
    ann, bob = server.users(2)
    for _ in range(60):
        ann.publish()
    answer = ann.send("POST", "/v1/posts", {"kind": "note", "title": "t", "body": "b"})
    assert answer.status == 429 and answer.json["code"] == "rate_limited"
    assert 3500 < int(answer.headers["retry-after"]) <= 3600
    assert ann.get("/relation/counter", user_id=ann.id)["posts"] == 60
    server.restart()
    ann.refused(429, "rate_limited", "POST", "/v1/posts", {"kind": "note", "title": "t", "body": "b"})
    bob.publish()
    server.service(acting_for=ann.id).publish()
    assert ann.get("/relation/counter", user_id=ann.id)["posts"] == 61


# ---- All users -------------------------------------------------------------------------------------------------------


def test_a_service_goes_through_the_ids_of_all_users(server):
    ann, bob = server.users(2)
    bob.follow(ann)
    found, after, pages = [], min(ann.id, bob.id) - 1, 0
    while after is not None and pages < 1000:
        page = server.service().get("/users/ids", after=after, limit=2)
        assert len(page["user_ids"]) <= 2
        found += page["user_ids"]
        after, pages = page["next_after"], pages + 1
    assert found == sorted(set(found)) and {ann.id, bob.id} <= set(found)
    assert server.service().get("/users/ids", after=2**53 - 1) == {"user_ids": [], "next_after": None}


@pytest.mark.parametrize(("query", "field"), [("?after=-1", "after"), ("?after=x", "after"), ("?limit=0", "limit"), ("?limit=101", "limit"),
                                              ("?cursor=5", "cursor")])
def test_questions_for_all_users_that_make_no_sense_are_refused(server, query, field):
    server.service().refused(400, "invalid", "GET", f"/v1/users/ids{query}", field=field)


def test_the_ids_of_all_users_are_for_services(server):
    server.user().refused(403, "forbidden", "GET", "/v1/users/ids")
