"""The checker finds what it is for: a good history passes, and each kind of violation that is planted into it is found."""
import copy
import os
import random
import sys

import pytest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from checker import check  # noqa: E402

ANN, BEN, CAT = 1, 2, 3


class Story:
    """A naive Tidings that writes a history: calls one after the other, a tenth of a second each."""

    def __init__(self):
        self.calls, self.events, self.time = [], [], 0.0
        self.posts, self.comments, self.texts = {}, {}, {}  # id -> author, deleted; id -> post; what was written
        self.follows, self.inbox, self.read, self.likes = set(), {}, set(), set()

    def record(self, op, user, args, answer=None, outcome="ok", **more):
        self.time += 0.1
        number = len(self.calls) + 1
        self.calls.append({"id": number, "session": f"{user}.0", "user": user, "op": op, "args": args, "server": number % 3, "key": None,
                           "asked": "exact", "seen": None, "begin": round(self.time, 3), "end": round(self.time + 0.05, 3),
                           "outcome": outcome, "code": None, **({"answer": answer} if outcome == "ok" else {}), **more})
        return number

    def event(self, kind, actor, target, delta, author=None, post=None, reaction=None):
        self.events.append([10 + 2 * len(self.events), kind, actor, target, delta, author, post, reaction])

    # ---- Changes; `outcome` unknown: it happened, and nobody was told ----

    def publish(self, user, text, **more):
        post = 1000 + len(self.posts)
        self.posts[post] = [user, False]
        self.texts[post] = text
        self.event("PostPublished", user, post, 1, user)
        for fan, author in self.follows:
            if author == user:
                self.inbox.setdefault(fan, []).append(post)
        self.record("publish", user, {"title": text}, {"id": post}, key=f"k{len(self.calls)}", **more)
        return post

    def delete(self, user, post):
        self.posts[post][1] = True
        self.event("PostDeleted", user, post, -1, user)
        self.record("delete", user, {"post": post}, {})

    def follow(self, user, author, **more):
        changed = (user, author) not in self.follows
        self.follows.add((user, author))
        if changed:
            self.event("FollowCreated", user, author, 1)
        self.record("follow", user, {"author": author}, {"changed": changed}, key=f"k{len(self.calls)}", **more)

    def unfollow(self, user, author, purge=False):
        changed = (user, author) in self.follows
        self.follows.discard((user, author))
        gone = [post for post in self.inbox.get(user, []) if purge and self.posts[post][0] == author]
        if changed:
            self.event("FollowCanceled", user, author, -1)
        if gone:
            self.event("InboxPurged", user, author, -len(gone))
            self.inbox[user] = [post for post in self.inbox[user] if post not in gone]
        self.record("unfollow", user, {"author": author, "purge": purge}, {"changed": changed, "purged": len(gone)},
                    key=f"k{len(self.calls)}")

    def like(self, user, post):
        self.likes.add((user, post))
        self.event("ReactionCreated", user, post, 1, self.posts[post][0], reaction="like")
        self.record("like", user, {"post": post}, {"changed": True, **self.stats_of(post)})

    def comment(self, user, post, text, **more):
        comment = 5000 + len(self.comments)
        self.comments[comment] = post
        self.texts[comment] = text
        self.event("CommentCreated", user, comment, 1, self.posts[post][0], post)
        self.record("comment", user, {"post": post, "text": text}, {"id": comment}, key=f"k{len(self.calls)}", **more)

    def mark(self, user, posts, op="mark", **args):
        new = [post for post in posts if post in self.unread(user)]
        self.read |= {(user, post) for post in posts}
        args = args or {"posts": posts}
        self.record(op, user, args, {"marked": len(new), "total": len(self.unread(user))}, key=f"k{len(self.calls)}")

    # ---- Reads ----

    def unread(self, user):
        return [post for post in self.inbox.get(user, []) if not self.posts[post][1] and (user, post) not in self.read]

    def stats_of(self, post):
        return {"likes": sum(liked == post for _, liked in self.likes), "comments": sum(on == post for on in self.comments.values())}

    def badge(self, user, **more):
        return self.record("badge", user, {}, {"total": len(self.unread(user))}, **more)

    def list(self, user):
        return self.record("list", user, {}, {"posts": self.unread(user), "as_of": "x", "more": False, "wrong": []})

    def counts(self, user):
        unread = self.unread(user)
        authors = {author for fan, author in self.follows if fan == user} | {self.posts[post][0] for post in unread}
        rows = [[author, sum(self.posts[post][0] == author for post in unread), (user, author) in self.follows]
                for author in sorted(authors)]
        return self.record("unread", user, {}, {"total": len(unread), "authors": rows, "as_of": "x"})

    def stats(self, post):
        self.record("stats", ANN, {"post": post}, self.stats_of(post))

    def counter(self, user):
        self.record("counter", ANN, {"of": user}, {
            "following": sum(fan == user for fan, _ in self.follows), "followers": sum(author == user for _, author in self.follows),
            "posts": sum(author == user and not deleted for author, deleted in self.posts.values()),
            "liked_posts": sum(who == user for who, _ in self.likes)})

    def page(self, after=0, who="1.0"):
        rows = [list(event) for event in self.events if event[0] > after]
        self.record("events", ANN, {"after": after}, {"events": rows, "next": rows[-1][0] if rows else after}, session=who)

    def look_all(self):
        self.page(0, "0.last")
        self.record("titles", 0, {}, {str(post): self.texts[post] for post in self.posts}, session="0.last")
        self.record("texts", 0, {}, {str(comment): self.texts[comment] for comment in self.comments}, session="0.last")
        for user in (ANN, BEN, CAT):
            self.badge(user)
            self.counts(user)
            self.list(user)
            self.counter(user)
            self.record("inbox", user, {}, [[post, (user, post) in self.read, self.posts[post][1]] for post in self.inbox.get(user, [])])
            self.record("following", user, {}, sorted(author for fan, author in self.follows if fan == user))
        told = [event[0] for event in self.events]
        self.record("topic", 0, {}, {"0": told[:2] + told})
        self.record("verify", 0, {}, {"differences": 0, "said": ""})


def good():
    story = Story()
    story.follow(ANN, BEN)
    story.follow(ANN, CAT)
    story.follow(CAT, BEN)
    first = story.publish(BEN, "first")
    story.badge(ANN, seen_now="0.10")
    story.publish(CAT, "second")
    story.counts(ANN)
    story.list(ANN)
    story.mark(ANN, [first])
    story.badge(ANN, asked="bounded", age_ms=20, seen="0.10", seen_now="0.12")
    source = story.list(ANN)
    third = story.publish(BEN, "third", outcome="unknown")
    story.like(ANN, third)
    story.like(CAT, third)
    story.stats(third)
    story.comment(CAT, third, "well", outcome="unknown")
    story.stats(third)
    story.page()
    upto = [post for post in story.inbox[ANN] if post != third]
    story.mark(ANN, upto, "mark_all", **{"from": source, "up_to": "x"})
    story.counts(ANN)
    story.unfollow(ANN, CAT, purge=True)
    story.follow(ANN, CAT, outcome="unknown")
    fourth = story.publish(CAT, "fourth")
    story.list(ANN)
    story.counter(CAT)
    story.delete(CAT, fourth)
    story.badge(ANN, asked="bounded", age_ms=20, seen="0.12", seen_now="0.14")
    story.record("publish", BEN, {"title": "never"}, outcome="refused", code="timeout", key="n")
    story.look_all()
    return story.calls


def kinds(calls):
    found = check(calls)
    assert not found.undecided
    return set(found.kinds())


def test_a_good_history_passes():
    assert kinds(good()) == set()


def calls_of(calls, op, **fields):
    return [call for call in calls if call["op"] == op and all(call.get(name) == value for name, value in fields.items())]


def last_page(calls):
    return calls_of(calls, "events", session="0.last")[0]["answer"]["events"]


def drop_event(calls, **where):
    """As if it had never been: in no page. Those who read what it did see it nevertheless."""
    names = {"kind": 1, "actor": 2, "target": 3}
    for page in calls_of(calls, "events"):
        page["answer"]["events"] = [row for row in page["answer"]["events"]
                                    if not all(row[names[name]] == value for name, value in where.items())]


# ---- One violation each -----------------------------------------------------------------------------


def lost_post(calls):
    drop_event(calls, kind="PostPublished", target=1001)


def lost_follow(calls):
    drop_event(calls, kind="FollowCreated", actor=CAT)


def lost_deletion(calls):
    drop_event(calls, kind="PostDeleted")


def post_made_twice(calls):
    """A retry with its key made another one."""
    last_page(calls).append([900, "PostPublished", BEN, 1500, 1, BEN, None, None])
    calls_of(calls, "titles")[0]["answer"]["1500"] = "first"


def unknown_made_twice(calls):
    last_page(calls).append([900, "PostPublished", BEN, 1500, 1, BEN, None, None])
    calls_of(calls, "titles")[0]["answer"]["1500"] = "third"


def refused_and_done(calls):
    last_page(calls).append([900, "PostPublished", BEN, 1500, 1, BEN, None, None])
    calls_of(calls, "titles")[0]["answer"]["1500"] = "never"


def foreign_event(calls):
    last_page(calls).append([900, "FollowCreated", BEN, ANN, 1, None, None, None])


def follow_told_twice(calls):
    last_page(calls).append([900, "FollowCreated", ANN, BEN, 1, None, None, None])


def other_answer_to_a_repeat(calls):
    again = copy.deepcopy(calls_of(calls, "publish")[0])
    calls.append({**again, "id": 999, "begin": again["end"] + 0.001, "end": again["end"] + 0.002, "answer": {"id": 7777}})


def events_out_of_order(calls):
    """The second post stands before the first, which had been acknowledged when it began."""
    for page in calls_of(calls, "events"):
        rows = page["answer"]["events"]
        i, j = [n for n, row in enumerate(rows) if row[1] == "PostPublished"][:2]
        rows[i][1:], rows[j][1:] = rows[j][1:], rows[i][1:]


def gap_filled_later(calls):
    page = calls_of(calls, "events", session="1.0")[0]
    del page["answer"]["events"][1]


def event_gone(calls):
    del last_page(calls)[-1]


def event_twice_in_a_page(calls):
    page = calls_of(calls, "events", session="1.0")[0]
    page["answer"]["events"].insert(1, page["answer"]["events"][0])


def event_changed(calls):
    calls_of(calls, "events", session="1.0")[0]["answer"]["events"][0] = [10, "FollowCreated", ANN, 77, 1, None, None, None]


def acknowledged_and_not_in_a_page(calls):
    rows = calls_of(calls, "events", session="1.0")[0]["answer"]
    rows["events"] = rows["events"][:-2]  # the last one nobody was told of
    rows["next"] = rows["events"][-1][0]


def kafka_is_not_told(calls):
    del calls_of(calls, "topic")[0]["answer"]["0"][-1]


def kafka_is_told_in_another_order(calls):
    told = calls_of(calls, "topic")[0]["answer"]["0"]
    told[-2], told[-1] = told[-1], told[-2]


def stale_exact_badge(calls):
    """As before the second post, which had been acknowledged."""
    calls_of(calls, "badge", user=ANN)[0]["answer"]["total"] = 0


def badge_of_the_future(calls):
    calls_of(calls, "badge", user=ANN)[0]["answer"]["total"] = 2


def older_than_it_says(calls):
    """It lacks the mark, which had been made half a second before."""
    calls_of(calls, "badge", asked="bounded")[0]["answer"]["total"] = 2


def older_than_its_token(calls):
    call = calls_of(calls, "badge", asked="bounded")[0]
    call["seen_now"] = "0.8"


def a_mark_and_what_is_left_of_two_moments(calls):
    """The total lacks nothing, but is of before the mark."""
    calls_of(calls, "mark")[0]["answer"]["total"] += 1


def old_counts_of_a_post(calls):
    """A fifth of a second old, and lacks a like of a second before."""
    calls_of(calls, "stats")[1].update(age_ms=200)
    calls_of(calls, "stats")[1]["answer"]["likes"] = 0


def old_page_of_events(calls):
    rows = calls_of(calls, "events", session="1.0")[0]
    rows.update(age_ms=20)
    rows["answer"]["events"] = rows["answer"]["events"][:-3]
    rows["answer"]["next"] = rows["answer"]["events"][-1][0]


def without_the_mark_whose_token_it_had(calls):
    """It may be as old as that, but for its token."""
    mark = calls_of(calls, "mark")[0]
    mark["seen_now"] = "0.11"
    badge = calls_of(calls, "badge", asked="bounded")[0]
    badge.update(age_ms=5000, seen="0.11", seen_now="0.11")
    badge["answer"]["total"] = 2


def total_is_not_the_sum(calls):
    calls_of(calls, "unread", user=ANN)[0]["answer"]["total"] += 1


def read_in_the_unread_list(calls):
    calls_of(calls, "list", user=ANN)[0]["answer"]["wrong"] = [1000]


def list_lacks_one(calls):
    calls_of(calls, "list", user=ANN)[0]["answer"]["posts"].pop()


def list_has_what_was_never_delivered(calls):
    calls_of(calls, "list", user=CAT)[-1]["answer"]["posts"].append(1001)


def mark_is_lost(calls):
    for call in calls_of(calls, "list", user=ANN)[1:]:
        call["answer"]["posts"].append(1000)


def mark_all_swallows_what_came_later(calls):
    calls_of(calls, "mark_all")[0]["answer"].update(marked=2, total=0)


def like_not_counted(calls):
    calls_of(calls, "stats")[0]["answer"]["likes"] = 1


def like_counted_twice(calls):
    calls_of(calls, "like")[1]["answer"]["likes"] = 3


def followers_wrong(calls):
    calls_of(calls, "counter")[0]["answer"]["followers"] += 1


def acknowledged_and_not_found(calls):
    call = copy.deepcopy(calls_of(calls, "stats")[0])
    calls.append({**call, "id": 998, "args": {"post": 1000}, "outcome": "refused", "code": "not_found"})


def deleted_too_early(calls):
    call = copy.deepcopy(calls_of(calls, "stats")[0])
    calls.append({**call, "id": 998, "args": {"post": 1000}, "outcome": "refused", "code": "deleted"})


def purged_too_few(calls):
    for page in calls_of(calls, "events"):
        for row in page["answer"]["events"]:
            if row[1] == "InboxPurged":
                row[4] = -2
    calls_of(calls, "unfollow")[0]["answer"]["purged"] = 2


def inbox_at_the_end(calls):
    calls_of(calls, "inbox", user=ANN)[0]["answer"].pop()


def following_at_the_end(calls):
    calls_of(calls, "following", user=ANN)[0]["answer"].pop()


def verify_finds_something(calls):
    calls_of(calls, "verify")[0]["answer"]["differences"] = 1


def a_contradiction(calls):
    calls.append({**copy.deepcopy(calls[-1]), "id": 997, "op": "badge", "user": ANN, "outcome": "refused", "code": "corrupt"})


PLANTED = [
    (lost_post, "lost"), (lost_follow, "lost or late"), (lost_deletion, "lost"), (post_made_twice, "twice"),
    (unknown_made_twice, "twice"), (refused_and_done, "refused but done"), (foreign_event, "nobody's event"),
    (follow_told_twice, "twice"), (other_answer_to_a_repeat, "repeated"), (events_out_of_order, "order"), (gap_filled_later, "gap"),
    (event_gone, "lost"), (event_twice_in_a_page, "page"), (event_changed, "page"), (acknowledged_and_not_in_a_page, "gap"),
    (kafka_is_not_told, "topic"), (kafka_is_told_in_another_order, "topic"),
    (stale_exact_badge, "exact"), (badge_of_the_future, "exact"), (older_than_it_says, "bounded"),
    (older_than_its_token, "seen"), (without_the_mark_whose_token_it_had, "bounded"), (a_mark_and_what_is_left_of_two_moments, "exact"), (old_counts_of_a_post, "count"),
    (old_page_of_events, "gap"), (total_is_not_the_sum, "adds up"), (read_in_the_unread_list, "adds up"), (list_lacks_one, "exact"),
    (list_has_what_was_never_delivered, "exact"), (mark_is_lost, "exact"), (mark_all_swallows_what_came_later, "exact"),
    (like_not_counted, "count"), (like_counted_twice, "count"), (followers_wrong, "count"), (acknowledged_and_not_found, "lost"),
    (deleted_too_early, "count"), (purged_too_few, "purge"), (inbox_at_the_end, "at the end"), (following_at_the_end, "at the end"),
    (verify_finds_something, "verify"), (a_contradiction, "fault"),
]


@pytest.mark.parametrize("plant, kind", PLANTED, ids=[plant.__name__ for plant, _ in PLANTED])
def test_what_is_wrong_is_found(plant, kind):
    calls = good()
    plant(calls)
    assert kind in kinds(calls)


# ---- What is allowed is not found ---------------------------------------------------------------------


def test_what_was_never_answered_may_be_missing():
    """The third post was not published, so nobody saw anything of it either."""
    story = Story()
    story.follow(ANN, BEN)
    story.publish(BEN, "first")
    story.record("publish", BEN, {"title": "third"}, outcome="unknown", key="k")
    story.record("follow", ANN, {"author": CAT}, outcome="unknown", key="l")
    story.record("mark", ANN, {"posts": [1000]}, outcome="unknown", key="m")
    story.badge(ANN)
    story.look_all()
    assert kinds(story.calls) == set()


def test_a_mark_that_was_never_answered_may_happen_later():
    story = Story()
    story.follow(ANN, BEN)
    story.publish(BEN, "first")
    story.record("mark", ANN, {"posts": [1000]}, outcome="unknown", key="m")
    story.badge(ANN)
    story.read.add((ANN, 1000))
    story.badge(ANN)
    story.look_all()
    assert kinds(story.calls) == set()


def test_calls_under_way_at_the_same_time_may_be_in_either_order():
    story = Story()
    story.follow(ANN, BEN)
    story.badge(ANN)
    early = story.calls[-1]
    story.publish(BEN, "first")
    story.badge(ANN)
    early["end"] = story.calls[-1]["end"] + 1  # it began before the post, and had an old answer when it ended
    story.look_all()
    assert kinds(story.calls) == set()


def test_a_purge_without_an_unfollow_is_a_step_of_its_own():
    story = Story()
    story.follow(ANN, BEN)
    story.publish(BEN, "first")
    story.unfollow(ANN, BEN)
    story.follow(ANN, CAT)
    story.publish(CAT, "second")
    story.events[-1][0] += 1  # the position right before the purge
    story.counts(ANN)
    story.unfollow(ANN, BEN, purge=True)
    story.look_all()
    assert kinds(story.calls) == set()


def test_a_purge_right_behind_another_devices_unfollow_is_a_step_of_its_own():
    """Of seed 2202: it was taken for a part of the unfollow, and what was read between the two for wrong."""
    story = Story()
    story.follow(ANN, BEN)
    story.publish(BEN, "first")
    story.unfollow(ANN, BEN)
    story.events[-1][0] += 1  # the position right before the purge
    story.badge(ANN)
    story.counts(ANN)
    story.unfollow(ANN, BEN, purge=True)
    assert story.events[-1][0] == story.events[-2][0] + 1
    story.look_all()
    assert kinds(story.calls) == set()


def test_an_answer_that_says_so_may_be_old():
    story = Story()
    story.follow(ANN, BEN)
    story.badge(ANN)
    post = story.publish(BEN, "first")
    story.badge(ANN)
    story.mark(ANN, [post])
    for total in (0, 1, 0):  # before the post, before the mark, now
        story.record("badge", ANN, {}, {"total": total}, age_ms=900)
    story.look_all()
    assert kinds(story.calls) == set()


def test_an_old_answer_may_lack_a_mark_whose_token_it_did_not_have():
    calls = good()
    badge = calls_of(calls, "badge", asked="bounded")[0]
    badge.update(age_ms=5000, seen=None)
    badge["answer"]["total"] = 2
    assert kinds(calls) == set()


def test_many_old_answers_at_a_time_are_judged():
    """As while the database is away: what all of them show is one moment, long ago."""
    story = Story()
    story.follow(ANN, BEN)
    story.publish(BEN, "first")
    for number in range(100):
        story.record("badge", ANN, {}, {"total": 1}, age_ms=100 + 100 * number)
    story.look_all()
    assert kinds(story.calls) == set()
    story.calls[50]["answer"]["total"] = 2
    assert kinds(story.calls) == {"bounded"}


def test_a_repeat_with_its_key_counts_from_its_first_attempt():
    story = Story()
    story.follow(ANN, BEN)
    story.publish(BEN, "first", outcome="unknown")
    first = story.calls[-1]
    story.badge(ANN)
    story.record("publish", BEN, {"title": "first"}, {"id": 1000}, key=first["key"])
    story.look_all()
    assert kinds(story.calls) == set()


@pytest.mark.parametrize("seed", range(20))
def test_random_histories_pass(seed):
    rng, story, users = random.Random(seed), Story(), (ANN, BEN, CAT)
    for number in range(150):
        user, other = rng.sample(users, 2)
        posts = [post for post, (_, deleted) in story.posts.items() if not deleted]
        own = [post for post in posts if story.posts[post][0] == user]
        likable = [post for post in posts if (user, post) not in story.likes]
        act = rng.choice((
            lambda: story.follow(user, other, outcome=rng.choice(("ok", "unknown"))),
            lambda: story.unfollow(user, other, rng.random() < 0.3),
            lambda: story.publish(user, f"post {number}", outcome=rng.choice(("ok", "ok", "unknown"))),
            lambda: own and story.delete(user, rng.choice(own)), lambda: likable and story.like(user, rng.choice(likable)),
            lambda: posts and story.comment(user, rng.choice(posts), f"comment {number}"),
            lambda: story.inbox.get(user) and story.mark(user, [rng.choice(story.inbox[user])]),
            lambda: story.badge(user, **rng.choice(({}, {"age_ms": 300}))), lambda: story.counts(user), lambda: story.list(user),
            lambda: story.counter(user), lambda: posts and story.stats(rng.choice(posts)), lambda: story.page()))
        act()
    story.look_all()
    assert kinds(story.calls) == set()


@pytest.mark.parametrize("key, found", [("k", {"exact"}), (None, set())])
def test_what_is_left_is_of_the_marks_own_moment_if_it_was_kept_with_a_key(key, found):
    """A post came between the mark and its answer; without a key its total is read afterwards."""
    story = Story()
    story.follow(ANN, BEN)
    first = story.publish(BEN, "first")
    story.mark(ANN, [first])
    mark = story.calls[-1]
    story.badge(ANN)
    story.publish(BEN, "second")
    mark |= {"end": story.calls[-1]["end"] + 0.01, "key": key}
    mark["answer"]["total"] = 1
    story.look_all()
    assert kinds(story.calls) == found
