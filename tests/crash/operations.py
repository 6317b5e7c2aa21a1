"""What the clients of the crash test do, and what they expect to find afterwards.

Every client has a fan and an author of its own, so that it knows exactly what must be there; and a few users whom all
of them follow, who never publish. An operation is a row of OPERATIONS: `make` chooses a request in a state, or None if
it makes no sense there; `apply` does to the state what the answered request has done. What can be seen of a state is
in VIEWS: a view asks and gives what it found, and what the state says it should have found.
"""
from dataclasses import dataclass, field

QUIET = range(900_000, 900_020)


@dataclass
class State:
    fan: int
    author: int
    following: bool = False
    quiet: set = field(default_factory=set)  # the quiet users followed
    posts: dict = field(default_factory=dict)  # id -> title, of those that are not deleted
    deleted: dict = field(default_factory=dict)  # id -> title
    inbox: set = field(default_factory=set)
    read: set = field(default_factory=set)
    history: set = field(default_factory=set)
    reactions: set = field(default_factory=set)  # (like or fav, post), also of deleted posts
    comments: dict = field(default_factory=dict)  # id -> post, of those that are not deleted
    name: str = ""
    serial: int = 0  # makes every text different

    def text(self, what):
        self.serial += 1
        return f"{what} {self.serial} of {self.author}"


@dataclass
class Request:
    operation: "Operation"
    method: str
    path: str
    body: object = None
    by_author: bool = False
    about: object = None  # what `apply` needs to know
    wants_token: bool = False  # to have the `as_of` of just before as `up_to`


@dataclass
class Operation:
    name: str
    weight: int
    make: object  # (state, rng) -> Request without operation, or None
    apply: object  # (state, request, answer)
    status: int = 200
    again: int = 0  # what a repeat is answered if the first had happened; 0: the same


def some(rng, ids, most=1):
    ids = sorted(ids)
    return rng.sample(ids, min(len(ids), rng.randint(1, most))) if ids else []


# ---- Posts ----------------------------------------------------------------------------------------

def make_publish(state, rng):
    title = state.text("post")
    body = {"kind": "note", "title": title, "body": "x" * rng.choice((10, 200, 3000))}
    return Request(None, "POST", "/v1/posts", body, True, title)


def apply_publish(state, request, answer):
    state.posts[answer["id"]] = request.about
    if state.following:
        state.inbox.add(answer["id"])


def make_edit(state, rng):
    for post in some(rng, state.posts):
        title = state.text("edited")
        return Request(None, "PATCH", f"/v1/posts/{post}", {"title": title}, True, (post, title))


def apply_edit(state, request, answer):
    post, title = request.about
    state.posts[post] = title


def make_delete(state, rng):
    for post in some(rng, state.posts):
        return Request(None, "DELETE", f"/v1/posts/{post}", None, True, post)


def apply_delete(state, request, answer):
    state.deleted[request.about] = state.posts.pop(request.about)


# ---- Relations ------------------------------------------------------------------------------------

def make_follow(state, rng):
    return None if state.following else Request(None, "POST", "/v1/relation/follow", {"user_id": state.author})


def apply_follow(state, request, answer):
    state.following = True


def make_unfollow(state, rng):
    if state.following:
        purge = rng.random() < 0.7
        return Request(None, "POST", "/v1/relation/unfollow", {"user_id": state.author, "purge_inbox": purge}, about=purge)


def apply_unfollow(state, request, answer):
    state.following = False
    if request.about:
        state.inbox.clear()


def make_follow_quiet(state, rng):
    for user in some(rng, set(QUIET) - state.quiet):
        return Request(None, "POST", "/v1/relation/follow", {"user_id": user}, about=user)


def apply_follow_quiet(state, request, answer):
    state.quiet.add(request.about)


def make_unfollow_quiet(state, rng):
    for user in some(rng, state.quiet):
        return Request(None, "POST", "/v1/relation/unfollow", {"user_id": user}, about=user)


def apply_unfollow_quiet(state, request, answer):
    state.quiet.discard(request.about)


# ---- Reading --------------------------------------------------------------------------------------

def make_open(state, rng):
    for post in some(rng, state.posts):
        return Request(None, "POST", f"/v1/posts/{post}/open", about=post)


def apply_open(state, request, answer):
    state.read.add(request.about)
    state.history.add(request.about)


def make_mark(state, rng):
    posts = some(rng, (state.inbox & set(state.posts)) - state.read, 10)
    return Request(None, "POST", "/v1/inbox/mark-read", {"post_ids": posts}, about=posts) if posts else None


def apply_mark(state, request, answer):
    assert answer["marked"] == len(request.about), answer
    state.read.update(request.about)
    state.history.update(request.about)


def make_mark_all(state, rng):
    return Request(None, "POST", "/v1/inbox/mark-read", {}, wants_token=True) if state.inbox else None


def apply_mark_all(state, request, answer):
    state.read.update(state.inbox & set(state.posts))


def make_unmark(state, rng):
    posts = some(rng, state.inbox & set(state.posts) & state.read, 5)
    return Request(None, "POST", "/v1/inbox/mark-unread", {"post_ids": posts}, about=posts) if posts else None


def apply_unmark(state, request, answer):
    assert answer["marked"] == len(request.about), answer
    state.read.difference_update(request.about)
    state.history.difference_update(request.about)


def make_forget(state, rng):
    for post in some(rng, state.history):
        return Request(None, "DELETE", f"/v1/history/{post}", about=post)


def apply_forget(state, request, answer):
    state.history.discard(request.about)


def make_forget_all(state, rng):
    return Request(None, "DELETE", "/v1/history")


def apply_forget_all(state, request, answer):
    state.history.clear()


# ---- Reactions and comments -------------------------------------------------------------------------

def make_react(state, rng):
    for post in some(rng, state.posts):
        what = rng.choice(("like", "fav"))
        return Request(None, "PUT", f"/v1/posts/{post}/{what}", about=(what, post))


def apply_react(state, request, answer):
    state.reactions.add(request.about)


def make_unreact(state, rng):
    for what, post in some(rng, state.reactions):
        return Request(None, "DELETE", f"/v1/posts/{post}/{what}", about=(what, post))


def apply_unreact(state, request, answer):
    state.reactions.discard(request.about)


def make_comment(state, rng):
    for post in some(rng, state.posts):
        return Request(None, "POST", f"/v1/posts/{post}/comments", {"body": state.text("comment")}, about=post)


def apply_comment(state, request, answer):
    state.comments[answer["id"]] = request.about


def make_uncomment(state, rng):
    for comment in some(rng, [each for each, post in state.comments.items() if post in state.posts]):
        return Request(None, "DELETE", f"/v1/comments/{comment}", about=comment)


def apply_uncomment(state, request, answer):
    state.comments.pop(request.about)


# ---- Profile --------------------------------------------------------------------------------------

def make_profile(state, rng):
    name = state.text("fan")
    return Request(None, "PUT", "/v1/users/me", {"name": name}, about=name)


def apply_profile(state, request, answer):
    state.name = request.about


OPERATIONS = (
    Operation("publish", 20, make_publish, apply_publish, 201),
    Operation("edit", 4, make_edit, apply_edit),
    Operation("delete", 5, make_delete, apply_delete, 204, again=410),
    Operation("follow", 10, make_follow, apply_follow),
    Operation("unfollow", 2, make_unfollow, apply_unfollow),
    Operation("follow a quiet one", 5, make_follow_quiet, apply_follow_quiet),
    Operation("unfollow a quiet one", 5, make_unfollow_quiet, apply_unfollow_quiet),
    Operation("open", 15, make_open, apply_open),
    Operation("mark", 12, make_mark, apply_mark),
    Operation("mark all", 3, make_mark_all, apply_mark_all),
    Operation("mark unread", 6, make_unmark, apply_unmark),
    Operation("forget one", 4, make_forget, apply_forget, 204),
    Operation("forget all", 1, make_forget_all, apply_forget_all, 204),
    Operation("react", 8, make_react, apply_react),
    Operation("take a reaction back", 4, make_unreact, apply_unreact),
    Operation("comment", 6, make_comment, apply_comment, 201),
    Operation("delete a comment", 2, make_uncomment, apply_uncomment, 204, again=410),
    Operation("profile", 4, make_profile, apply_profile),
)


# ---- What can be seen -------------------------------------------------------------------------------

async def view_inbox(client, state):
    rows = await client.rows("/v1/inbox")
    titles = {**state.posts, **state.deleted}
    expected = {post: (titles[post], post in state.read, post in state.deleted) for post in state.inbox}
    return {row["post_id"]: (row["title"], row["is_read"], row["is_deleted"]) for row in rows}, expected


async def view_unread(client, state):
    """The invariant: badge = sum over authors = length of the unread pages."""
    rows = await client.rows("/v1/inbox?filter=unread")
    badge = (await client.get("/v1/inbox/badge"))["total"]
    unread = await client.get("/v1/inbox/unread")
    by_author = sum(row["unread"] for row in unread["authors"])
    expected = len((state.inbox & set(state.posts)) - state.read)
    return (badge, unread["total"], by_author, len(rows)), (expected,) * 4


async def view_history(client, state):
    return {row["post_id"] for row in await client.rows("/v1/history")}, state.history


async def view_posts(client, state):
    rows = await client.rows(f"/v1/users/{state.author}/posts")
    return {row["post_id"]: row["title"] for row in rows}, state.posts


async def view_following(client, state):
    rows = await client.rows(f"/v1/relation/following?user_id={state.fan}")
    return {row["user_id"] for row in rows}, state.quiet | ({state.author} if state.following else set())


async def view_counters(client, state):
    author = await client.get(f"/v1/relation/counter?user_id={state.author}")
    fan = await client.get(f"/v1/relation/counter?user_id={state.fan}")
    return ((author["followers"], author["posts"], fan["following"]),
            (int(state.following), len(state.posts), len(state.quiet) + state.following))


async def view_reactions(client, state):
    liked = await client.rows("/v1/me/likes?target=post")
    faved = await client.rows("/v1/me/favs")
    return {("like", row["id"]) for row in liked} | {("fav", row["id"]) for row in faved}, state.reactions


async def view_stats(client, state):
    """The counts of some of the posts."""
    found, expected = {}, {}
    for post in sorted(state.posts)[-10:]:
        stats = await client.get(f"/v1/posts/{post}/stats")
        found[post] = (stats["like_count"], stats["fav_count"], stats["comment_count"])
        comments = sum(on == post for on in state.comments.values())
        expected[post] = (("like", post) in state.reactions, ("fav", post) in state.reactions, comments)
    return found, expected


async def view_profile(client, state):
    return (await client.get(f"/v1/users/{state.fan}"))["name"] or "", state.name


VIEWS = (view_inbox, view_unread, view_history, view_posts, view_following, view_counters,
         view_reactions, view_stats, view_profile)
