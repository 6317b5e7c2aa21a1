"""Clients that record all they do: one JSON line for every call, with when it began and ended, and what was answered.

A *session* is one device of a user: a thread that calls one server after the other, one call at a time, and sends the
`Tidings-Seen` of its last answer along, or not. Two devices share a user. What a call did not get an answer to is repeated with its
Idempotency-Key, or left open. Nothing is judged here: checker.py does, by the file alone.

    {"id": 7, "session": "3.0", "user": 3, "op": "follow", "args": {"author": 5}, "server": 1, "key": "3.0-4", "asked": "exact",
     "seen": 17, "begin": 1.25, "end": 1.27, "outcome": "ok", "answer": {"changed": true}, "seen_now": 19, "age_ms": 12}

`outcome` is ok, refused (with `code`: it has surely not happened) or unknown; `age_ms` is there if the answer says that it may be so
old. What an operation sends, and which part of its answer
is kept, is a row of OPERATIONS.
"""
import http.client
import itertools
import json
import os
import sys
import threading
import time
from collections import deque
from dataclasses import dataclass

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "http"))

from support.tokens import token  # noqa: E402

SECRET = "a secret of the tests under faults, long enough"
PATIENCE_S = 6
PAGE = 100
KNOWN, HOT = 80, 3  # posts that sessions talk about: the latest; and those that many talk about
READERS_PAUSE_S = 0.2  # after a call that failed
TRIES = 40
LAST_S = 150  # for the last look, when all is well but perhaps slow
LONG_PART, LONG_TEXT = 0.1, 40_000  # of posts, and of their texts: so that logs grow and are trimmed
FRESHNESS = (None, "exact", "bounded")


# ---- The file ------------------------------------------------------------------------------------


class History:
    def __init__(self, path):
        self.path = path
        self.file = open(path, "w", encoding="utf-8")
        self.lock = threading.Lock()
        self.ids = itertools.count(1)
        self.began = time.monotonic()
        self.counts = {}

    def now(self):
        return round(time.monotonic() - self.began, 6)

    def next_id(self):
        with self.lock:
            return next(self.ids)

    def add(self, record):
        line = json.dumps(record, separators=(",", ":"))
        with self.lock:
            self.file.write(line + "\n")
            if "outcome" in record:
                told = (record["op"], record["outcome"] if record["outcome"] == "ok" else record["code"])
                self.counts[told] = self.counts.get(told, 0) + 1

    def close(self):
        self.file.close()


# ---- What is known of the world, by everybody's answers --------------------------------------------


class World:
    """Which users and posts there are to talk about. Only for choosing: it may be wrong."""

    def __init__(self, users):
        self.users = users
        self.posts = deque(maxlen=KNOWN)  # (id, author)
        self.comments = deque(maxlen=KNOWN)  # (id, user)

    def others(self, user):
        return [other for other in self.users if other != user]


# ---- Operations ------------------------------------------------------------------------------------


@dataclass
class Operation:
    name: str
    weight: int
    method: str
    path: str  # {…} are arguments
    make: object  # session -> arguments, or None: not now
    body: object = None  # arguments -> body
    keep: object = None  # answer -> what is recorded of it
    learn: object = None  # (session, call id, arguments, kept answer)
    is_read: bool = False


def choose_author(session):
    return {"author": session.rng.choice(session.world.others(session.user))}


def choose_unfollow(session):
    return {**choose_author(session), "purge": session.rng.random() < 0.3}


def choose_title(session):
    return {"title": f"{session.name} {session.next_number()}", "length": LONG_TEXT if session.rng.random() < LONG_PART else 1}


def choose_post(session):
    """Every other time one that many talk about."""
    posts = list(session.world.posts)[-HOT if session.rng.random() < 0.5 else 0:]
    return {"post": session.rng.choice(posts)[0]} if posts else None


def choose_own_post(session):
    posts = [post for post, author in list(session.world.posts) if author == session.user]
    return {"post": session.rng.choice(posts)} if posts else None


def choose_comment(session):
    post = choose_post(session)
    return post and {**post, "text": f"{session.name} {session.next_number()}"}


def choose_own_comment(session):
    comments = [comment for comment, user in list(session.world.comments) if user == session.user]
    return {"comment": session.rng.choice(comments)} if comments else None


def choose_listed(session):
    listed = session.listed
    return {"posts": sorted(session.rng.sample(listed, session.rng.randint(1, min(len(listed), 8))))} if listed else None


def choose_up_to(session):
    return {"from": session.as_of[0], "up_to": session.as_of[1]} if session.as_of else None


def choose_up_to_author(session):
    made = choose_up_to(session)
    return made and {**made, **choose_author(session)}


def choose_after(session):
    return {"after": session.after}


def choose_user(session):
    return {"of": session.rng.choice(session.world.users)}


def nothing(_session):
    return {}


def learn_list(session, call, _arguments, answer):
    session.listed = answer["posts"]
    session.as_of = (call, answer["as_of"])


def learn_unread(session, call, _arguments, answer):
    session.as_of = (call, answer["as_of"])


def learn_events(session, _call, _arguments, answer):
    session.after = answer["next"]


EVENT = ("event_id", "type", "actor_user_id", "target_id", "delta", "author_id", "post_id", "reaction")


def keep_events(answer):
    return {"events": [[event[name] for name in EVENT] for event in answer["items"]], "next": answer["next_after"]}


def keep_list(answer):
    return {"posts": [row["post_id"] for row in answer["items"]], "as_of": answer["as_of"], "more": answer["next_cursor"] is not None,
            "wrong": [row["post_id"] for row in answer["items"] if row["is_read"] or row["is_deleted"]]}


def keep_unread(answer):
    return {"total": answer["total"], "as_of": answer["as_of"],
            "authors": [[row["user_id"], row["unread"], row["following"]] for row in answer["authors"]]}


def keep_reaction(answer):
    return {"changed": answer["changed"], "likes": answer["stats"]["like_count"], "comments": answer["stats"]["comment_count"]}


def keep_stats(answer):
    return {"likes": answer["like_count"], "comments": answer["comment_count"]}


def keep(*names):
    return lambda answer: {name: answer[name] for name in names}


COUNTERS = ("following", "followers", "posts", "liked_posts")

OPERATIONS = [
    Operation("publish", 10, "POST", "/v1/posts", choose_title,
              lambda a: {"kind": "note", "title": a["title"], "body": "b" * a["length"]}, keep("id"),
              lambda s, _, a, answer: s.world.posts.append((answer["id"], s.user))),
    Operation("delete", 3, "DELETE", "/v1/posts/{post}", choose_own_post),
    Operation("follow", 6, "POST", "/v1/relation/follow", choose_author, lambda a: {"user_id": a["author"]}, keep("changed")),
    Operation("unfollow", 4, "POST", "/v1/relation/unfollow", choose_unfollow,
              lambda a: {"user_id": a["author"], "purge_inbox": a["purge"]}, keep("changed", "purged")),
    Operation("mark", 7, "POST", "/v1/inbox/mark-read", choose_listed, lambda a: {"post_ids": a["posts"]}, keep("marked", "total")),
    Operation("mark_all", 4, "POST", "/v1/inbox/mark-read", choose_up_to, lambda a: {"up_to": a["up_to"]}, keep("marked", "total")),
    Operation("mark_author", 4, "POST", "/v1/inbox/mark-read", choose_up_to_author,
              lambda a: {"up_to": a["up_to"], "author_id": a["author"]}, keep("marked", "total")),
    Operation("unmark", 2, "POST", "/v1/inbox/mark-unread", choose_listed, lambda a: {"post_ids": a["posts"]},
              keep("marked", "total")),
    Operation("open", 3, "POST", "/v1/posts/{post}/open", choose_post, None, lambda answer: {"total": answer["unread"]["total"]}),
    Operation("like", 6, "PUT", "/v1/posts/{post}/like", choose_post, None, keep_reaction),
    Operation("unlike", 4, "DELETE", "/v1/posts/{post}/like", choose_post, None, keep_reaction),
    Operation("comment", 4, "POST", "/v1/posts/{post}/comments", choose_comment, lambda a: {"body": a["text"]}, keep("id"),
              lambda s, _, a, answer: s.world.comments.append((answer["id"], s.user))),
    Operation("uncomment", 1, "DELETE", "/v1/comments/{comment}", choose_own_comment),
    Operation("badge", 20, "GET", "/v1/inbox/badge", nothing, None, keep("total"), None, True),
    Operation("unread", 8, "GET", "/v1/inbox/unread", nothing, None, keep_unread, learn_unread, True),
    Operation("list", 9, "GET", f"/v1/inbox?filter=unread&limit={PAGE}", nothing, None, keep_list, learn_list, True),
    Operation("stats", 6, "GET", "/v1/posts/{post}/stats", choose_post, None, keep_stats, None, True),
    Operation("counter", 5, "GET", "/v1/relation/counter?user_id={of}", choose_user, None, keep(*COUNTERS), None, True),
    Operation("events", 6, "GET", f"/v1/events?after={{after}}&limit={PAGE}", choose_after, None, keep_events, learn_events, True),
]
BY_NAME = {operation.name: operation for operation in OPERATIONS}


# ---- A call ----------------------------------------------------------------------------------------


class NotSent(Exception):
    """Nobody has heard of the request."""


class Lost(Exception):
    """Nobody knows whether somebody has."""


class Caller:
    """One connection to each server. `ports` may change under it when a server is started again."""

    def __init__(self, ports, patience=PATIENCE_S):
        self.ports = ports
        self.patience = patience
        self.connections = {}
        self.bearer = token(SECRET, 900, role="service", ttl=7 * 24 * 3600)

    def connection(self, server):
        if server not in self.connections:
            made = http.client.HTTPConnection("127.0.0.1", self.ports[server], timeout=self.patience)
            try:
                made.connect()
            except OSError as error:
                raise NotSent from error
            self.connections[server] = made
        return self.connections[server]

    def forget(self, server):
        made = self.connections.pop(server, None)
        if made:
            made.close()

    def send(self, server, user, method, path, body=None, headers=()):
        """Status, answer and headers."""
        connection = self.connection(server)
        data = None if body is None else json.dumps(body)
        fields = {"Authorization": "Bearer " + self.bearer, "X-User-Id": str(user), **dict(headers)}
        try:
            connection.request(method, path, data, fields)
            response = connection.getresponse()
            text = response.read()
        except (OSError, http.client.HTTPException) as error:
            self.forget(server)
            raise Lost from error
        if response.will_close:
            self.forget(server)
        try:
            return response.status, json.loads(text) if text else None, response.headers
        except ValueError as error:
            self.forget(server)
            raise Lost from error

    def close(self):
        for server in list(self.connections):
            self.forget(server)


def outcome_of(status, answer):
    """ok, or refused or unknown, and the code."""
    if 200 <= status < 300:
        return "ok", None
    code = (answer or {}).get("code", str(status))
    return ("unknown" if code == "uncertain" else "refused"), code


# ---- A session -------------------------------------------------------------------------------------


class Session(threading.Thread):
    """A device of a user's, until it is told to stop."""

    def __init__(self, history, world, ports, user, device, rng, pause_s):
        super().__init__(name=f"{user}.{device}", daemon=True)
        self.history, self.world, self.user, self.rng, self.pause_s = history, world, user, rng, pause_s
        self.caller = Caller(ports)
        self.stopping = threading.Event()
        self.numbers = itertools.count(1)
        self.listed, self.as_of, self.after, self.seen = [], None, 0, None
        self.weights = [operation.weight for operation in OPERATIONS]
        self.failed = None

    def next_number(self):
        return next(self.numbers)

    def run(self):
        try:
            while not self.stopping.is_set():
                self.step()
                self.stopping.wait(self.rng.expovariate(1 / self.pause_s))
        except Exception as error:  # pylint: disable=broad-except
            self.failed = error
            raise
        finally:
            self.caller.close()

    def step(self):
        operation = self.rng.choices(OPERATIONS, self.weights)[0]
        arguments = operation.make(self)
        if arguments is None:
            return
        if operation.is_read:
            self.call(operation, arguments, asked=self.rng.choice(FRESHNESS))
        else:
            self.change(operation, arguments)

    def change(self, operation, arguments):
        """What was not answered is mostly asked again, as a client should; what was answered now and then, too."""
        key = f"{self.name}-{self.next_number()}" if self.wants_key(operation) else None
        give_up = operation.name != "unmark" and self.rng.random() < 0.15
        for _ in range(TRIES):
            outcome, code = self.call(operation, arguments, key)
            if outcome == "ok" and key and self.rng.random() < 0.05:
                self.call(operation, arguments, key)
            if outcome == "ok" or give_up or (outcome == "refused" and code in FINAL):
                return
            self.stopping.wait(READERS_PAUSE_S)

    def wants_key(self, operation):
        """Marks may be repeated without one; then they are not answered out of what was kept of the first time."""
        return operation.method == "POST" and (operation.name not in REPEATABLE or self.rng.random() < 0.5)

    def call(self, operation, arguments, key=None, asked=None, server=None):
        server = self.rng.randrange(len(self.caller.ports)) if server is None else server
        record = {"id": self.history.next_id(), "session": self.name, "user": self.user, "op": operation.name, "args": arguments,
                  "server": server, "key": key, "asked": asked, "seen": None}
        headers = {"Idempotency-Key": key} if key else {}
        if asked:
            headers["Tidings-Freshness"] = asked
        if self.seen and self.rng.random() < 0.7:
            record["seen"] = headers["Tidings-Seen"] = self.seen
        self.ask(operation, arguments, record, headers)
        self.history.add(record)
        if record["outcome"] == "ok" and operation.learn:
            operation.learn(self, record["id"], arguments, record["answer"])
        if record["outcome"] != "ok" and record["code"] not in FINAL:
            self.stopping.wait(READERS_PAUSE_S)
        return record["outcome"], record.get("code")

    def ask(self, operation, arguments, record, headers):
        body = operation.body(arguments) if operation.body else None
        path = operation.path.format(**arguments)
        record["begin"] = self.history.now()
        try:
            status, answer, fields = self.caller.send(record["server"], self.user, operation.method, path, body, headers)
        except NotSent:
            record |= {"end": self.history.now(), "outcome": "refused", "code": "not_sent"}
            return
        except Lost:
            record |= {"end": self.history.now(), "outcome": "unknown", "code": "lost"}
            return
        record["end"] = self.history.now()
        record["outcome"], record["code"] = outcome_of(status, answer)
        if fields["Tidings-Seen"]:
            record["seen_now"] = self.seen = fields["Tidings-Seen"]
        if fields["Tidings-Age"]:
            record["age_ms"] = int(fields["Tidings-Age"])
        if record["outcome"] == "ok":
            record["answer"] = operation.keep(answer) if operation.keep else {}


REPEATABLE = {"mark", "mark_all", "mark_author", "open"}
# Refusals that asking again does not change.
FINAL = {"not_found", "deleted", "invalid", "forbidden", "key_reused"}


# ---- The last look ---------------------------------------------------------------------------------


class Reader(Session):
    """Reads everything when nobody changes anything any more; each read is a line of the history, too. A list is one line, whatever the
    number of its pages. It gives up in time, whatever servers do."""

    def __init__(self, history, world, ports, rng):
        super().__init__(history, world, ports, 0, "last", rng, 1)
        self.gives_up = time.monotonic() + LAST_S

    def again(self, what):
        """A little later."""
        if time.monotonic() > self.gives_up:
            raise RuntimeError(f"{what} is not answered at the end")
        time.sleep(READERS_PAUSE_S)

    def must(self, operation, arguments, user):
        self.user = user
        while self.call(operation, arguments, asked="exact")[0] != "ok":
            self.again(f"{operation.name} of {user}")

    def get(self, user, path):
        while True:
            try:
                status, answer, _ = self.caller.send(self.rng.randrange(len(self.caller.ports)), user, "GET", path)
                if status in (200, 404, 410):
                    return status, answer
            except (NotSent, Lost):
                pass
            self.again(f"GET {path}")

    def whole(self, user, path):
        rows, cursor = [], ""
        while cursor is not None:
            _, page = self.get(user, f"{path}limit={PAGE}" + (f"&cursor={cursor}" if cursor else ""))
            rows += page["items"]
            cursor = page["next_cursor"]
        return rows

    def note(self, op, user, arguments, begin, answer):
        self.history.add({"id": self.history.next_id(), "session": self.name, "user": user, "op": op, "args": arguments, "server": 0,
                          "key": None, "asked": "exact", "seen": None, "begin": begin, "end": self.history.now(), "outcome": "ok",
                          "code": None, "answer": answer})

    def read_all(self):
        events = self.read_events()
        posts = sorted({event[3] for event in events if event[1] == "PostPublished"})
        begin = self.history.now()
        self.note("titles", 0, {}, begin, self.titles_of(posts))
        begin = self.history.now()
        commented = {event[6] for event in events if event[1] == "CommentCreated"}
        self.note("texts", 0, {}, begin, {str(row["id"]): row["body"] for post in sorted(commented) for row in self.comments_of(post)})
        for post in posts:
            self.call(BY_NAME["stats"], {"post": post}, asked="exact")
        for user in self.world.users:
            for name in ("badge", "unread", "list"):
                self.must(BY_NAME[name], {}, user)
            self.must(BY_NAME["counter"], {"of": user}, user)
            begin = self.history.now()
            self.note("inbox", user, {}, begin, [[row["post_id"], row["is_read"], row["is_deleted"]]
                                                 for row in self.whole(user, "/v1/inbox?filter=all&")])
            begin = self.history.now()
            self.note("following", user, {}, begin, [row["user_id"] for row in self.whole(user, "/v1/relation/following?")])

    def read_events(self):
        events, self.after, more = [], 0, True
        while more:
            before = self.after
            self.must(BY_NAME["events"], {"after": before}, 900)
            more = self.after != before
            events += self.latest["events"]
            if time.monotonic() > self.gives_up:
                raise RuntimeError("there is no end of events")
        return events

    def ask(self, operation, arguments, record, headers):
        super().ask(operation, arguments, record, headers)
        self.latest = record.get("answer")

    def titles_of(self, posts):
        titles = {}
        for i in range(0, len(posts), PAGE):
            _, answer = self.get(self.world.users[0], "/v1/posts?ids=" + ",".join(map(str, posts[i:i + PAGE])))
            titles |= {str(row["id"]): row["title"] if row["found"] else self.title_of_deleted(row["id"]) for row in answer["items"]}
        return titles

    def title_of_deleted(self, post):
        return self.get(self.world.users[0], f"/v1/posts/{post}")[1].get("post_title")

    def comments_of(self, post):
        status, answer = self.get(self.world.users[0], f"/v1/posts/{post}/comments?sort=old&limit={PAGE}")
        return answer["items"] if status == 200 else []
