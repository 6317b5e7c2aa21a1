"""Cursors and as_of: bound to user and list, tamper-evident, and alive after a restart."""
import pytest

from support.client import with_query

LISTS = ["/relation/following", "/relation/followers", "/users/{author}/posts", "/inbox", "/history",
         "/posts/{post}/likes", "/posts/{post}/comments", "/comments/{comment}/likes", "/me/likes", "/me/favs", "/hot",
         "/stories/{story}/scenes", "/subscriptions", "/reading", "/notifications"]
ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"


def fill(server):
    """A user with two rows in every list, and an author."""
    ann, bob, cem, dan = server.users(4)
    for other in (bob, cem):
        ann.follow(other)
        other.follow(ann)
    posts = [bob.publish()["id"] for _ in range(3)]
    ann.mark_read(post_ids=posts)
    comment = bob.comment(posts[0])["id"]
    bob.comment(posts[0])
    for path in (f"/posts/{posts[0]}/like", f"/comments/{comment}/like"):
        ann.react(path)
        bob.react(path)
    for path in (f"/posts/{posts[1]}/like", f"/posts/{posts[0]}/fav", f"/posts/{posts[1]}/fav"):
        ann.react(path)
    for _ in range(2):
        story = dan.story()
        ann.subscribe(story)
        ann.read_to(story)
        for _ in range(2):
            dan.scene(story)
    return ann, bob


def cursors(actor, author):
    found = {}
    post = actor.rows("/me/favs")[-1]["id"]
    comment = actor.rows("/me/likes", target="comment")[0]["id"]
    story = actor.rows("/subscriptions")[0]["story_id"]
    for path in LISTS:
        path = path.format(author=author.id, post=post, comment=comment, story=story)
        found[path] = actor.get(path, limit=1)["next_cursor"]
        assert found[path]
    return found


def refuse(actor, path, cursor):
    path = with_query("/v1" + path, {"cursor": cursor})
    if path.count("?") > 1:
        path = "&".join(path.rsplit("?", 1))
    actor.refused(400, "invalid", "GET", path, field="cursor")


def test_a_cursor_is_for_its_list_only(server):
    ann, bob = fill(server)
    made = cursors(ann, bob)
    for path in made:
        for other, cursor in made.items():
            if other != path:
                refuse(ann, path, cursor)


def test_a_cursor_is_for_its_order_or_target_only(server):
    ann, bob = fill(server)
    post = ann.rows("/me/favs")[-1]["id"]
    ann.react(f"/comments/{bob.comment(post)['id']}/like")
    for path, name, words in ((f"/posts/{post}/comments", "sort", ("hot", "new", "old")),
                              ("/me/likes", "target", ("post", "comment"))):
        for word in words:
            cursor = ann.get(path, limit=1, **{name: word})["next_cursor"]
            ann.get(path, limit=1, cursor=cursor, **{name: word})
            for other in set(words) - {word}:
                refuse(ann, f"{path}?{name}={other}", cursor)


def test_another_users_cursor_is_refused(server):
    ann, bob = fill(server)
    eve, _ = fill(server)
    for path, cursor in cursors(ann, bob).items():
        refuse(eve, path, cursor)
        refuse(bob, path, cursor)


def test_a_changed_cursor_is_refused(server):
    ann, bob = fill(server)
    for path, cursor in cursors(ann, bob).items():
        for i in range(len(cursor)):
            at = ALPHABET.index(cursor[i])
            for other in (ALPHABET[(at + 1) % 64], ALPHABET[at ^ 32]):
                refuse(ann, path, cursor[:i] + other + cursor[i + 1:])
        for other in (cursor[:-1], cursor[1:], cursor + "A", cursor * 2, cursor + "=", cursor.lower() + "x", "", "A",
                      "0", "null", "x" * 300, cursor + "%00"):
            refuse(ann, path, other)


def test_as_of_is_no_cursor_and_a_cursor_no_as_of(server):
    ann, bob = fill(server)
    as_of = ann.get("/inbox")["as_of"]
    for path, cursor in cursors(ann, bob).items():
        refuse(ann, path, as_of)
        ann.refused(400, "invalid", "POST", "/v1/inbox/mark-read", {"up_to": cursor}, field="up_to")


def test_the_as_of_of_notifications_is_their_own(server):
    ann, _ = fill(server)
    eve, _ = fill(server)
    as_of = ann.get("/notifications")["as_of"]
    path = "/v1/notifications/mark-read"
    eve.refused(400, "invalid", "POST", path, {"up_to": as_of}, field="up_to")
    ann.refused(400, "invalid", "POST", "/v1/inbox/mark-read", {"up_to": as_of}, field="up_to")
    ann.refused(400, "invalid", "POST", path, {"up_to": ann.get("/inbox")["as_of"]}, field="up_to")
    for i in range(len(as_of)):
        changed = as_of[:i] + ALPHABET[(ALPHABET.index(as_of[i]) + 1) % 64] + as_of[i + 1:]
        ann.refused(400, "invalid", "POST", path, {"up_to": changed}, field="up_to")
    assert ann.unread() == 4


def test_foreign_and_changed_as_of(server):
    ann, bob = fill(server)
    eve, _ = fill(server)
    bob.publish()
    as_of = ann.get("/inbox")["as_of"]
    eve.refused(400, "invalid", "POST", "/v1/inbox/mark-read", {"up_to": as_of}, field="up_to")
    for i in range(len(as_of)):
        changed = as_of[:i] + ALPHABET[(ALPHABET.index(as_of[i]) + 1) % 64] + as_of[i + 1:]
        ann.refused(400, "invalid", "POST", "/v1/inbox/mark-read", {"up_to": changed}, field="up_to")
    assert ann.check_adds_up() == 1


def test_a_service_gets_the_cursors_of_whom_it_acts_for(server):
    ann, bob = fill(server)
    service = server.service(acting_for=ann.id)
    cursor = service.get("/inbox", limit=1)["next_cursor"]
    assert ann.get("/inbox", limit=1, cursor=cursor)["items"]
    service.acting_for = bob.id
    refuse(service, "/inbox", cursor)


@pytest.mark.parametrize("how", ["stop", "kill"])
def test_cursors_and_as_of_survive_a_restart(make_server, how):
    server = make_server()
    ann, bob = fill(server)
    made = cursors(ann, bob)
    as_of = ann.get("/inbox")["as_of"]
    later = bob.publish()["id"]
    expected = {path: ann.get(path, cursor=cursor) for path, cursor in made.items()}
    server.restart(**({"how": 9} if how == "kill" else {}))
    for path, cursor in made.items():
        again = ann.get(path, cursor=cursor)
        assert again["items"] == expected[path]["items"]
    assert ann.mark_read(up_to=as_of)["total"] == 1
    assert [row["post_id"] for row in ann.inbox(filter="unread")] == [later]


def test_another_servers_cursor_is_refused(make_server):
    """The secret behind cursors is the data directory's own; the same token secret is not enough."""
    one, two = make_server(), make_server()
    ann, bob = fill(one)
    twin = two.user(ann.id)
    for path, cursor in cursors(ann, bob).items():
        refuse(twin, path, cursor)
