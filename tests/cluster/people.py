"""People who write and read on several servers while parts of the cluster fail, and who know exactly what they must see.

Each is an author and a fan, nobody else's. A change is sent with an Idempotency-Key to one server after the other until one has acknowledged it.
What a fan is shown must then be exactly what was acknowledged, on every server: badge, sum of the authors and list. Anything else that comes back
is written down, and the test decides whether it was to be expected.
"""
import http.client
import itertools
import threading
import time
from dataclasses import dataclass

from support.client import Actor, Client
from support.server import wait_until

PATIENCE_S = 6  # longer than any deadline of a server
AVOID_S = 5  # a server that did not answer, as a front does
UNREAD_MAX = 4
NOTE = {"kind": "note", "title": "t", "body": "b"}


@dataclass
class Said:
    """One request: `what` is "ok", the code of a refusal, or "lost" if there was no answer."""
    began: float
    ended: float
    server: object
    writes: bool
    what: str
    age: int | None = None
    retry_after: int | None = None


class Impatient(Client):
    """Goes on when a server does not answer."""

    def connection(self):
        made = super().connection()
        made.timeout = PATIENCE_S
        return made


class Person(threading.Thread):
    def __init__(self, servers, number, said, stopping):
        super().__init__(daemon=True)
        self.servers = servers
        self.said, self.stopping = said, stopping
        self.turn = itertools.count(number)
        self.keys = (f"{number}-{i}" for i in itertools.count())
        author, fan = servers[0].user(), servers[0].user()
        self.author = [self.as_known_to(server, author.id) for server in servers]
        self.fan = [self.as_known_to(server, fan.id) for server in servers]
        self.posts, self.unread, self.seen = [], [], None
        self.rounds, self.wrong = 0, None
        self.avoided = {}  # servers, until when

    @staticmethod
    def as_known_to(server, user_id):
        actor = Actor(server, user_id)
        actor.client = Impatient(server)
        return actor

    # ---- One request ----

    def choose(self, who):
        """The next server's."""
        usable = [actor for actor in who if self.avoided.get(actor.server, 0) < time.monotonic()]
        return usable[next(self.turn) % len(usable)]

    def send(self, who, method, path, body=None, headers=None):
        """The answer, or None if there was none."""
        actor = self.choose(who)
        began = time.monotonic()
        try:
            answer = actor.send(method, path, body, headers)
        except (OSError, http.client.HTTPException):
            actor.close()
            self.avoided[actor.server] = time.monotonic() + AVOID_S
            self.note(began, actor, method, "lost")
            return None
        what = "ok" if answer.status < 300 else answer.json["code"]
        assert answer.status < 300 or answer.status == 503, answer
        self.note(began, actor, method, what, answer.headers)
        return answer if what == "ok" else None

    def note(self, began, actor, method, what, headers=None):
        numbers = {name: int(headers[field]) for name, field in (("age", "tidings-age"), ("retry_after", "retry-after"))
                   if headers and field in headers}
        self.said.append(Said(began, time.monotonic(), actor.server, method != "GET", what, **numbers))

    def change(self, who, method, path, body=None):
        """Until it is acknowledged, by whichever server."""
        key = {"Idempotency-Key": next(self.keys)}
        while not (answer := self.send(who, method, path, body, key)):
            time.sleep(0.02)
        self.seen = answer.headers.get("tidings-seen", self.seen)
        return answer.json

    def look(self, path, **headers):
        """What the fan is shown; None if that cannot be had now."""
        if self.seen:
            headers["Tidings-Seen"] = self.seen
        answer = self.send(self.fan, "GET", "/v1" + path, headers=headers)
        return answer and answer.json

    # ---- What it does ----

    def begin(self):
        self.change(self.fan, "POST", "/v1/relation/follow", {"user_id": self.author[0].id})
        return self

    def write(self):
        post = self.change(self.author, "POST", "/v1/posts", NOTE)["id"]
        self.posts.append(post)
        self.unread.append(post)
        while len(self.unread) > UNREAD_MAX:
            self.change(self.fan, "POST", f"/v1/posts/{self.unread[0]}/open")
            self.unread.pop(0)

    def read(self):
        for headers in ({}, {}, {}, {"Tidings-Freshness": "exact"}):
            if badge := self.look("/inbox/badge", **headers):
                assert badge["total"] == len(self.unread), (badge, self.unread)
        if sums := self.look("/inbox/unread"):
            assert sums["total"] == sum(row["unread"] for row in sums["authors"]) == len(self.unread), (sums, self.unread)
        if page := self.look("/inbox?filter=unread&limit=100"):
            assert [row["post_id"] for row in page["items"]] == self.unread[::-1], (page, self.unread)

    def run(self):
        try:
            while not self.stopping.is_set():
                self.write()
                self.read()
                self.rounds += 1
        except BaseException as error:
            self.wrong = error
            raise

    def check(self):
        """All that was acknowledged is there, once."""
        author = self.author[0]
        author.close()  # its connection may have been idle for too long
        found = [row["post_id"] for row in author.rows(f"/users/{author.id}/posts", 100)]
        assert found == self.posts[::-1], (len(found), len(self.posts))


class People:
    """Some of them, at work until they are told to stop."""

    def __init__(self, servers, count):
        self.said, self.stopping = [], threading.Event()
        self.all = [Person(servers, number, self.said, self.stopping).begin() for number in range(count)]

    def __enter__(self):
        for person in self.all:
            person.start()
        return self

    def __exit__(self, *_):
        self.stopping.set()
        for person in self.all:
            person.join()

    def is_fine(self):
        for person in self.all:
            if person.wrong:
                raise AssertionError("what was shown is not what was acknowledged") from person.wrong
        return True

    def go_on(self, rounds, patience=60):
        """Each of them writes and reads so often."""
        goals = [person.rounds + rounds for person in self.all]
        wait_until(lambda: self.is_fine() and all(one.rounds >= goal for one, goal in zip(self.all, goals)), "all go on", patience)

    def between(self, begin, end):
        """What was asked and answered between two moments."""
        return [said for said in list(self.said) if said.began >= begin and said.ended <= end]

    def check(self):
        for person in self.all:
            person.check()
