"""A client of the crash test: one connection, one request under way, and the memory of every answer."""
import os
import random
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "http"))

from support.connection import Connection, Lost  # noqa: E402
from support.tokens import token  # noqa: E402

from operations import OPERATIONS, VIEWS, State  # noqa: E402


class Client(Connection):
    def __init__(self, number, seed, secret):
        super().__init__()
        self.number = number
        self.rng = random.Random(f"{seed} {number}")
        self.state = State(fan=1_000 + number, author=500_000 + number)
        week = 7 * 24 * 3600
        self.tokens = [token(secret, user, ttl=week) for user in (self.state.fan, self.state.author)]
        self.requests = 0
        self.pending = None  # the request that has not been answered, and its key

    # ---- HTTP ----

    async def get(self, path):
        status, answer = await self.send("GET", path, None, self.tokens[0])
        assert status == 200, f"GET {path}: {status} {answer}"
        return answer

    async def rows(self, path):
        """All rows of a list."""
        rows, more = [], path + ("&" if "?" in path else "?") + "limit=100"
        cursor = ""
        while cursor is not None:
            page = await self.get(more + (f"&cursor={cursor}" if cursor else ""))
            rows += page["items"]
            cursor = page["next_cursor"]
        return rows

    # ---- Changes ----

    def choose(self):
        while True:
            operation = self.rng.choices(OPERATIONS, [each.weight for each in OPERATIONS])[0]
            request = operation.make(self.state, self.rng)
            if request:
                request.operation = operation
                return request

    async def ask(self, request, key, repeated):
        operation = request.operation
        status, answer = await self.send(request.method, request.path, request.body,
                                         self.tokens[request.by_author], key)
        fine = status == operation.status or (repeated and status == operation.again)
        assert fine, f"{operation.name}: {request.method} {request.path} {request.body}: {status} {answer}"
        operation.apply(self.state, request, answer)
        self.pending = None

    async def work(self, answered):
        """Until the server is gone. `answered` is told of every answer."""
        try:
            while True:
                request = self.choose()
                self.requests += 1
                key = f"{self.number}-{self.requests}" if request.method == "POST" else None
                if request.wants_token:
                    request.body["up_to"] = (await self.get("/v1/inbox/unread"))["as_of"]
                self.pending = (request, key)
                await self.ask(request, key, repeated=False)
                answered()
        except Lost:
            self.close()

    # ---- After a crash ----

    async def settle(self):
        """What was not answered may have happened or not. Asks again: the key sees to it that it happens once."""
        if self.pending:
            await self.ask(*self.pending, repeated=True)

    async def check(self):
        """What is wrong, in one line each."""
        wrong = []
        for view in VIEWS:
            found, expected = await view(self, self.state)
            if found != expected:
                wrong.append(f"client {self.number}: {view.__name__}: {difference(found, expected)}")
        return wrong


def difference(found, expected):
    if isinstance(found, dict) and isinstance(expected, dict):
        found, expected = set(found.items()), set(expected.items())
    if isinstance(found, set) and isinstance(expected, set):
        return f"missing {sorted(expected - found)[:5]}, too much {sorted(found - expected)[:5]}"
    return f"found {found}, expected {expected}"
