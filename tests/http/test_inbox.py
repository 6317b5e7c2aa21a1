"""SPEC 4: the inbox, the heart."""
import random
import threading

import pytest

from support.client import new_user_id


def ids(rows):
    return [row["post_id"] for row in rows]


def test_delivered_is_what_was_published_while_following(server):
    ann, bob = server.users(2)
    bob.publish("before")
    ann.follow(bob)
    during = bob.publish("during", "x" * 500, "story")
    ann.unfollow(bob)
    bob.publish("after")
    ann.follow(bob)
    again = bob.publish("again")
    rows = ann.inbox()
    assert ids(rows) == [again["id"], during["id"]]
    assert rows[1] == {
        "post_id": during["id"], "kind": "story", "author_id": bob.id, "author_name": "", "title": "during",
        "excerpt": "x" * 140, "created_at": during["created_at"], "is_read": False, "read_at": None,
        "is_deleted": False, "notice": None}
    assert ann.check_adds_up() == 2


def test_excerpt_counts_characters_and_leaves_pictures_out(server):
    ann, bob = server.users(2)
    ann.follow(bob)
    bob.publish(body="[img]https://example.org/x.jpg[/img]" + "林" * 200)
    assert ann.inbox()[0]["excerpt"] == "林" * 140


def test_empty_inbox(server):
    ann = server.user()
    page = ann.get("/inbox")
    assert page["items"] == [] and page["next_cursor"] is None and page["as_of"]
    assert ann.get("/inbox/badge") == {"total": 0}
    unread = ann.get("/inbox/unread")
    assert unread["total"] == 0 and unread["authors"] == []


def test_filters_and_author(server):
    ann, bob, cem = server.users(3)
    ann.follow(bob)
    ann.follow(cem)
    posts = [(bob if i % 2 else cem).publish(f"t{i}")["id"] for i in range(10)]
    for post in posts[:4]:
        ann.open(post)
    newest = posts[::-1]
    assert ids(ann.inbox(limit=3)) == newest
    assert ids(ann.inbox(limit=3, filter="all")) == newest
    assert ids(ann.inbox(limit=3, filter="unread")) == newest[:6]
    assert ids(ann.inbox(limit=3, filter="read")) == newest[6:]
    assert ids(ann.inbox(limit=3, author_id=bob.id)) == [p for p in newest if posts.index(p) % 2]
    assert ids(ann.inbox(limit=3, author_id=bob.id, filter="unread")) == [posts[9], posts[7], posts[5]]
    assert ids(ann.inbox(limit=1, author_id=cem.id, filter="read")) == [posts[2], posts[0]]
    assert ann.inbox(author_id=new_user_id()) == []
    assert ann.check_adds_up() == 6


def test_unread_pages_are_exact_however_thin_the_unread_are(server):
    """Every tenth of 200 is unread: a page of 8 has 8 all the same."""
    ann, bob = server.users(2)
    ann.follow(bob)
    posts = [bob.publish()["id"] for _ in range(200)]
    kept = posts[::10]
    read = [post for post in posts if post not in set(kept)]
    assert ann.mark_read(post_ids=read) == {"marked": 180, "total": 20}
    pages = [len(page["items"]) for page in ann.pages("/inbox", 8, filter="unread")]
    assert pages == [8, 8, 4]
    assert ids(ann.inbox(filter="unread", limit=8)) == kept[::-1]
    assert ids(ann.inbox(filter="read", limit=100)) == read[::-1]
    assert ann.check_adds_up() == 20


@pytest.mark.parametrize("limit", [1, 3, 100])
def test_paging_of_many_posts_in_one_millisecond(server, limit):
    """Several authors publish at the same time, so that posts share milliseconds."""
    ann, *authors = server.users(5)
    for author in authors:
        ann.follow(author)
    made = []

    def publish(author):
        made.extend([author.publish()["id"] for _ in range(12)])

    threads = [threading.Thread(target=publish, args=(author,)) for author in authors]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert ids(ann.inbox(limit=limit)) == sorted(made, reverse=True)
    assert ids(ann.inbox(limit=limit, filter="unread")) == sorted(made, reverse=True)


def test_paging_while_posts_arrive_and_are_read(server):
    ann, bob = server.users(2)
    ann.follow(bob)
    first = [bob.publish()["id"] for _ in range(23)]
    seen = []
    for page in ann.pages("/inbox", 5, filter="unread"):
        seen += ids(page["items"])
        bob.publish("newer")
        ann.open(page["items"][0]["post_id"])
    assert seen == first[::-1]
    ann.check_adds_up()


def test_deleted_item_stays_with_a_notice_and_counts_for_nobody(server):
    ann, bob = server.users(2)
    ann.follow(bob)
    unread, read = bob.publish("unread one")["id"], bob.publish("read one")["id"]
    ann.open(read)
    assert ann.check_adds_up() == 1
    bob.delete(unread)
    bob.delete(read)
    assert ann.check_adds_up() == 0
    everything = ann.inbox()
    assert ids(everything) == [read, unread]
    assert all(row["is_deleted"] and row["notice"] and row["excerpt"] == "" for row in everything)
    assert [row["title"] for row in everything] == ["read one", "unread one"]
    assert ids(ann.inbox(filter="read")) == [read]
    assert ids(ann.inbox(filter="unread")) == []
    assert ann.rows("/history")[0]["is_deleted"] is True
    assert ann.get("/inbox/unread")["authors"][0]["unread"] == 0


def test_marks_on_deleted_items_change_nothing_and_are_no_error(server):
    ann, bob = server.users(2)
    ann.follow(bob)
    unread, read = bob.publish()["id"], bob.publish()["id"]
    ann.open(read)
    bob.delete(unread)
    bob.delete(read)
    assert ann.mark_read(post_ids=[unread, read]) == {"marked": 0, "total": 0}
    assert ann.post("/inbox/mark-unread", {"post_ids": [unread, read]}) == {"marked": 0, "total": 0}
    assert ids(ann.inbox(filter="read")) == [read]
    assert ann.check_adds_up() == 0


def test_unread_lists_zeros_and_the_unfollowed_who_are_owed(server):
    ann, bob, cem, dov = server.users(4)
    for author in (bob, cem, dov):
        ann.follow(author)
    bob.publish()
    bob.publish()
    dov.publish()
    ann.unfollow(dov)
    unread = ann.get("/inbox/unread")
    rows = [(row["user_id"], row["unread"], row["following"]) for row in unread["authors"]]
    assert rows == [(bob.id, 2, True), (dov.id, 1, False), (cem.id, 0, True)], "most unread first"
    ann.mark_read(author_id=dov.id, up_to=unread["as_of"])
    assert dov.id not in {row["user_id"] for row in ann.get("/inbox/unread")["authors"]}


def test_unread_of_one_author_is_that_authors_row(server):
    ann, bob, cem, dov, eve = server.users(5)
    for author in (bob, cem, dov):
        ann.follow(author)
    posts = [bob.publish()["id"] for _ in range(3)]
    for author in (dov, eve):
        author.publish()
    ann.unfollow(dov)
    ann.mark_read(post_ids=posts[:1])

    def check(author):
        everybody, alone = ann.get("/inbox/unread"), ann.get("/inbox/unread", author_id=author.id)
        assert alone["authors"] == [row for row in everybody["authors"] if row["user_id"] == author.id]
        assert alone["total"] == sum(row["unread"] for row in alone["authors"])
        assert alone["total"] == len(ann.inbox(filter="unread", author_id=author.id))
        return alone["total"], len(alone["authors"])

    assert [check(author) for author in (bob, cem, dov, eve, ann)] == [(2, 1), (0, 1), (1, 1), (0, 0), (0, 0)]
    bob.delete(posts[1])
    assert check(bob) == (1, 1)
    as_of = ann.get("/inbox/unread", author_id=dov.id)["as_of"]
    dov_and_bob = ann.mark_read(author_id=dov.id, up_to=as_of)
    assert dov_and_bob == {"marked": 1, "total": 1} and check(dov) == (0, 0)
    ann.post("/relation/unfollow", {"user_id": bob.id, "purge_inbox": True})
    assert check(bob) == (0, 0)
    for wrong in ("0", "x", "", "9007199254740992", "-1"):
        ann.refused(400, "invalid", "GET", f"/v1/inbox/unread?author_id={wrong}", field="author_id")


# ---- Marking ------------------------------------------------------------------------------------

def test_mark_read_by_ids_is_idempotent_and_enters_the_history(server):
    ann, bob = server.users(2)
    ann.follow(bob)
    posts = [bob.publish()["id"] for _ in range(4)]
    assert ann.mark_read(post_ids=posts[:2]) == {"marked": 2, "total": 2}
    first = {row["post_id"]: row["read_at"] for row in ann.inbox(filter="read")}
    assert ann.mark_read(post_ids=posts[:3]) == {"marked": 1, "total": 1}
    assert ann.mark_read(post_ids=[posts[3], posts[3]]) == {"marked": 1, "total": 0}, "twice in one list is once"
    times = {row["post_id"]: row["read_at"] for row in ann.inbox(filter="read")}
    assert all(times[post] == first[post] for post in first)
    assert set(ids(ann.rows("/history"))) == set(posts)


def test_mark_read_is_all_or_nothing(server):
    ann, bob = server.users(2)
    early = bob.publish()["id"]
    ann.follow(bob)
    post = bob.publish()["id"]
    for wrong in (1, early, 2 ** 53 - 1, ann.publish()["id"]):
        for path in ("mark-read", "mark-unread"):
            ann.refused(404, "not_found", "POST", f"/v1/inbox/{path}", {"post_ids": [post, wrong]})
    assert ann.check_adds_up() == 1 and ann.rows("/history") == []


def test_mark_by_ids_bounds(server):
    ann, bob = server.users(2)
    ann.follow(bob)
    post = bob.publish()["id"]
    assert ann.mark_read(post_ids=[post] * 500)["marked"] == 1
    for path in ("mark-read", "mark-unread"):
        for bad in ([], [post] * 501, [0], [-1], [2 ** 53], ["1"], [1.0], [None], [[1]], {}, "1", 7):
            ann.refused(400, "invalid", "POST", f"/v1/inbox/{path}", {"post_ids": bad}, field="post_ids")


@pytest.mark.parametrize("body, field", [
    ({}, "post_ids"), ({"post_ids": None, "up_to": None}, "post_ids"),
    ({"author_id": 5}, "up_to"), ({"author_id": 0, "up_to": "AS_OF"}, "author_id"),
    ({"author_id": "5", "up_to": "AS_OF"}, "author_id"), ({"author_id": 2 ** 53, "up_to": "AS_OF"}, "author_id"),
    ({"up_to": 7}, "up_to"), ({"up_to": ""}, "up_to"), ({"up_to": "nonsense"}, "up_to"),
    ({"post_ids": ["POST"], "up_to": "AS_OF"}, "up_to"), ({"post_ids": ["POST"], "author_id": 5}, "author_id"),
    ({"post_ids": ["POST"], "all": True}, "all"),
])
def test_mark_read_takes_one_of_three_forms(server, body, field):
    ann, bob = server.users(2)
    ann.follow(bob)
    post = bob.publish()["id"]
    as_of = ann.get("/inbox")["as_of"]
    filled = {name: as_of if value == "AS_OF" else [post] if value == ["POST"] else value
              for name, value in body.items()}
    ann.refused(400, "invalid", "POST", "/v1/inbox/mark-read", filled, field=field)
    assert ann.check_adds_up() == 1


@pytest.mark.parametrize("source", ["/inbox", "/inbox/unread"])
def test_bulk_marks_do_not_swallow_what_came_later(server, source):
    ann, bob, cem = server.users(3)
    ann.follow(bob)
    ann.follow(cem)
    old = [bob.publish()["id"], cem.publish()["id"], bob.publish()["id"]]
    as_of = ann.get(source)["as_of"]
    new = [bob.publish()["id"], cem.publish()["id"]]
    assert ann.mark_read(author_id=bob.id, up_to=as_of) == {"marked": 2, "total": 3}
    assert ids(ann.inbox(filter="unread")) == [new[1], new[0], old[1]]
    assert ann.mark_read(up_to=as_of) == {"marked": 1, "total": 2}
    assert ids(ann.inbox(filter="unread")) == new[::-1]
    assert ann.mark_read(up_to=as_of) == {"marked": 0, "total": 2}
    assert ann.mark_read(up_to=ann.get(source)["as_of"]) == {"marked": 2, "total": 0}
    assert ann.check_adds_up() == 0


def test_bulk_mark_gives_one_time_and_stays_out_of_the_history(server):
    ann, bob = server.users(2)
    ann.follow(bob)
    posts = [bob.publish()["id"] for _ in range(3)]
    ann.open(posts[0])
    opened_at = ann.inbox(filter="read")[0]["read_at"]
    ann.mark_read(up_to=ann.get("/inbox")["as_of"])
    times = {row["post_id"]: row["read_at"] for row in ann.inbox(filter="read")}
    assert times[posts[0]] == opened_at and times[posts[1]] == times[posts[2]] >= opened_at
    assert ids(ann.rows("/history")) == [posts[0]]
    ann.open(posts[1])
    assert ids(ann.rows("/history")) == [posts[1], posts[0]], "opening such an item later enters it"
    assert ann.inbox(filter="read")[1]["read_at"] == times[posts[1]], "and keeps the first time"


def test_bulk_mark_of_an_author_never_followed(server):
    ann = server.user()
    assert ann.mark_read(author_id=new_user_id(), up_to=ann.get("/inbox")["as_of"]) == {"marked": 0, "total": 0}


def test_mark_unread_undoes_also_in_the_history(server):
    ann, bob = server.users(2)
    ann.follow(bob)
    posts = [bob.publish()["id"] for _ in range(3)]
    ann.mark_read(post_ids=posts)
    assert ann.post("/inbox/mark-unread", {"post_ids": posts[:2]}) == {"marked": 2, "total": 2}
    assert ann.post("/inbox/mark-unread", {"post_ids": posts[:2]}) == {"marked": 0, "total": 2}
    assert ids(ann.rows("/history")) == [posts[2]]
    assert all(row["read_at"] is None for row in ann.inbox(filter="unread"))
    ann.mark_read(up_to=ann.get("/inbox")["as_of"])
    assert ann.post("/inbox/mark-unread", {"post_ids": [posts[0]]}) == {"marked": 1, "total": 1}
    assert ann.check_adds_up() == 1


# ---- The invariant ------------------------------------------------------------------------------

def test_counts_add_up_after_every_step_of_a_random_walk(server):
    rng = random.Random(20240607)
    reader, *authors = server.users(4)
    admin = server.admin()
    live, tokens = [], [reader.get("/inbox")["as_of"]]

    def some(rows, n=3):
        return rng.sample(rows, min(n, len(rows)))

    def step():
        author = rng.choice(authors)
        delivered = ids(reader.inbox(limit=100))
        what = rng.choice(["follow", "unfollow", "purge", "publish", "publish", "publish", "delete", "open", "ids",
                           "author", "all", "unread", "as_of"])
        if what == "follow":
            reader.follow(author)
        elif what in ("unfollow", "purge"):
            reader.unfollow(author, purge_inbox=what == "purge")
        elif what == "publish":
            live.append(author.publish()["id"])
        elif what == "delete" and live:
            admin.delete(live.pop(rng.randrange(len(live))))
        elif what == "open" and live:
            reader.open(rng.choice(live))
        elif what == "ids" and delivered:
            reader.mark_read(post_ids=some(delivered))
        elif what == "author":
            reader.mark_read(author_id=author.id, up_to=rng.choice(tokens))
        elif what == "all":
            reader.mark_read(up_to=rng.choice(tokens))
        elif what == "unread" and delivered:
            reader.post("/inbox/mark-unread", {"post_ids": some(delivered)})
        else:
            tokens.append(reader.get("/inbox/unread")["as_of"])
        return what

    done = []
    for _ in range(120):
        done.append(step())
        reader.check_adds_up()
        both = set(ids(reader.inbox(limit=100, filter="unread"))) | set(ids(reader.inbox(limit=100, filter="read")))
        everything = reader.inbox(limit=100)
        assert both == {row["post_id"] for row in everything if not row["is_deleted"] or row["is_read"]}, done[-5:]


def test_unread_answer_adds_up_in_itself_while_everything_moves(server):
    """One answer is one moment: its total is the sum of its rows, whatever others do meanwhile."""
    reader, *authors = server.users(4)
    for author in authors:
        reader.follow(author)
    stop = threading.Event()

    def publish(author):
        mine = []
        while not stop.is_set():
            mine.append(author.publish()["id"])
            if len(mine) % 3 == 0:
                author.delete(mine.pop(0))

    def read():
        own = server.user(reader.id)
        while not stop.is_set():
            page = own.get("/inbox", filter="unread", limit=2)
            own.mark_read(up_to=page["as_of"])

    threads = [threading.Thread(target=publish, args=(author,)) for author in authors]
    threads.append(threading.Thread(target=read))
    for thread in threads:
        thread.start()
    try:
        for _ in range(150):
            unread = reader.get("/inbox/unread")
            assert unread["total"] == sum(row["unread"] for row in unread["authors"])
            page = reader.get("/inbox", filter="unread", limit=100)
            assert not any(row["is_read"] for row in page["items"])
    finally:
        stop.set()
        for thread in threads:
            thread.join()
    reader.check_adds_up()


# ---- History ------------------------------------------------------------------------------------

def test_history_is_latest_first_with_times_and_pages(server):
    ann, bob = server.users(2)
    posts = [bob.publish(f"t{i}")["id"] for i in range(7)]
    order = [3, 0, 5, 1, 6, 2]
    for i in order:
        ann.open(posts[i])
    rows = ann.rows("/history", 2)
    assert ids(rows) == [posts[i] for i in reversed(order)]
    assert rows[0] == {"post_id": posts[2], "title": "t2", "author_id": bob.id, "read_at": rows[0]["read_at"],
                       "is_deleted": False}
    assert [row["read_at"] for row in rows] == sorted((row["read_at"] for row in rows), reverse=True)
    assert ann.rows("/history", 1) == ann.rows("/history", 100) == rows


def test_history_of_many_marked_in_one_step_pages_exactly(server):
    ann, bob = server.users(2)
    ann.follow(bob)
    posts = [bob.publish()["id"] for _ in range(30)]
    ann.mark_read(post_ids=posts)
    for limit in (1, 7, 30):
        assert sorted(ids(ann.rows("/history", limit))) == posts


def test_history_delete_one_and_clear_keep_everything_read(server):
    ann, bob = server.users(2)
    ann.follow(bob)
    posts = [bob.publish()["id"] for _ in range(5)]
    ann.mark_read(post_ids=posts)
    ann.expect(204, "DELETE", f"/v1/history/{posts[2]}")
    ann.expect(204, "DELETE", f"/v1/history/{posts[2]}")
    assert posts[2] not in ids(ann.rows("/history")) and len(ann.rows("/history")) == 4
    ann.expect(204, "DELETE", "/v1/history")
    assert ann.rows("/history") == []
    assert ann.check_adds_up() == 0 and len(ann.inbox(filter="read")) == 5
    ann.expect(204, "DELETE", "/v1/history")
    later = bob.publish()["id"]
    ann.open(later)
    assert ids(ann.rows("/history")) == [later]


def test_history_delete_unknown_post(server):
    ann = server.user()
    ann.refused(404, "not_found", "DELETE", "/v1/history/1")
    ann.expect(204, "DELETE", f"/v1/history/{ann.publish()['id']}")


def test_history_is_ones_own(server):
    ann, bob, cem = server.users(3)
    post = cem.publish()["id"]
    ann.open(post)
    bob.open(post)
    bob.expect(204, "DELETE", "/v1/history")
    assert ids(ann.rows("/history")) == [post] and bob.rows("/history") == []
