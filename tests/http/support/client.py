"""An HTTP client whose every answer is held against the document."""
import gzip
import http.client
import itertools
import json
import socket
import urllib.parse

from .contract import contract
from .tokens import token

PATIENCE_S = 60  # for anything that must happen; generous, a sanitizer's build is slow

new_user_id = itertools.count(1_000_000).__next__


class Answer:
    def __init__(self, status, headers, body):
        self.status = status
        self.fields = headers
        self.headers = {name.lower(): value for name, value in headers}
        self.body = body
        self._json = ...

    @property
    def json(self):
        if self._json is ...:
            self._json = json.loads(self.body)
        return self._json

    def unpacked(self):
        """As it would have come without compression."""
        if self.headers.get("content-encoding") != "gzip" or not self.body:
            return self
        return Answer(self.status, self.fields, gzip.decompress(self.body))

    def __repr__(self):
        return f"<{self.status} {self.body[:300]!r}>"


class Client:
    """One connection, kept alive; of several servers one to each, in turn. For one thread."""

    def __init__(self, server):
        self.server = server
        self.connections = {}

    def connection(self):
        port = self.server.port
        if port not in self.connections:
            self.connections[port] = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE_S)
        return self.connections[port]

    def request(self, method, path, body=None, headers=()):
        """The answer to a request that the server must answer. `headers` may repeat names."""
        connection = self.connection()
        headers = list(headers.items() if isinstance(headers, dict) else headers)
        connection.putrequest(method, path, skip_accept_encoding=True)
        for name, value in headers:
            connection.putheader(name, value)
        if body is not None or method in ("POST", "PUT", "PATCH"):
            connection.putheader("Content-Length", str(len(body or b"")))
        connection.endheaders()
        try:
            if body:
                connection.send(body)
        except (BrokenPipeError, ConnectionResetError):
            pass  # an early refusal; the answer is there to be read
        response = connection.getresponse()
        answer = Answer(response.status, response.getheaders(), response.read())
        if response.will_close:
            connection.close()
        contract.check(method, path, answer.unpacked())
        return answer

    def close(self):
        for connection in self.connections.values():
            connection.close()
        self.connections.clear()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


def with_query(path, query):
    query = {name: value for name, value in query.items() if value is not None}
    return path + "?" + urllib.parse.urlencode(query) if query else path


class Actor:
    """A user of the API, with a token and a connection."""

    def __init__(self, server, user_id=None, role=None, acting_for=None, bearer=None):
        self.server = server
        self.id = user_id or new_user_id()
        self.bearer = bearer or token(server.secret, self.id, role)
        self.acting_for = acting_for
        self.client = Client(server)

    def close(self):
        self.client.close()

    def headers(self, more=None):
        made = {"Authorization": "Bearer " + self.bearer}
        if self.acting_for:
            made["X-User-Id"] = str(self.acting_for)
        made.update(more or {})
        return made

    def send(self, method, path, body=None, headers=None):
        """Any request; `body` is bytes as they are, or something for JSON."""
        made = self.headers(headers)
        if body is not None and not isinstance(body, bytes):
            body = json.dumps(body, ensure_ascii=False).encode()
        if body is not None:
            made.setdefault("Content-Type", "application/json")
        return self.client.request(method, path, body, made)

    def expect(self, status, method, path, body=None, headers=None):
        answer = self.send(method, path, body, headers)
        assert answer.status == status, f"{method} {path}: expected {status}, got {answer}"
        return answer.json if answer.body else None

    def refused(self, status, code, method, path, body=None, headers=None, field=None):
        """Expects a problem with this status and code; the problem."""
        problem = self.expect(status, method, path, body, headers)
        assert problem["code"] == code, problem
        if field is not None:
            assert problem.get("field") == field, problem
        return problem

    def get(self, path, **query):
        return self.expect(200, "GET", with_query("/v1" + path, query))

    def post(self, path, body=None, status=200, headers=None):
        return self.expect(status, "POST", "/v1" + path, body, headers)

    # ---- What it does ----

    def follow(self, author):
        return self.post("/relation/follow", {"user_id": id_of(author)})

    def unfollow(self, author, **more):
        return self.post("/relation/unfollow", {"user_id": id_of(author), **more})

    def publish(self, title="A title", body="A body", kind="note", headers=None):
        return self.post("/posts", {"kind": kind, "title": title, "body": body}, 201, headers)

    def delete(self, post_id, headers=None):
        self.expect(204, "DELETE", f"/v1/posts/{post_id}", None, headers)

    def open(self, post_id, headers=None):
        return self.post(f"/posts/{post_id}/open", None, headers=headers)

    def badge(self):
        return self.get("/inbox/badge")["total"]

    def mark_read(self, **what):
        return self.post("/inbox/mark-read", what)

    def react(self, path):
        """PUT: {changed, stats}."""
        return self.expect(200, "PUT", "/v1" + path)

    def unreact(self, path):
        return self.expect(200, "DELETE", "/v1" + path)

    def comment(self, post_id, body="A comment", parent_id=None, headers=None):
        made = {"body": body} if parent_id is None else {"body": body, "parent_id": parent_id}
        return self.post(f"/posts/{post_id}/comments", made, 201, headers)

    def comments(self, post_id, limit=20, **query):
        return self.rows(f"/posts/{post_id}/comments", limit, **query)

    def stats(self, what, target_id):
        """Of posts or comments."""
        return self.get(f"/{what}/{target_id}/stats")

    def story(self, title="A story", **more):
        return self.publish(title, "What it is about", "story", **more)["id"]

    def scene(self, story_id, title="A scene", messages=("one", "two"), headers=None):
        return self.post(f"/stories/{story_id}/scenes", {"title": title, "messages": list(messages)}, 201, headers)

    def subscribe(self, story_id):
        return self.expect(200, "PUT", f"/v1/stories/{story_id}/subscription")

    def unsubscribe(self, story_id):
        return self.expect(200, "DELETE", f"/v1/stories/{story_id}/subscription")

    def read_to(self, story_id, **where):
        return self.expect(200, "PUT", f"/v1/reading/{story_id}", where)

    def notifications(self, limit=20):
        return self.rows("/notifications", limit)

    def unread(self):
        """Notifications not read: the number, which must be that of the rows."""
        page = self.get("/notifications")
        assert page["unread"] == sum(not row["is_read"] for row in self.notifications(100))
        return page["unread"]

    def pages(self, path, limit=20, **query):
        """Every page of a list, to the end."""
        cursor, seen = None, 0
        while True:
            page = self.get(path, limit=limit, cursor=cursor, **query)
            yield page
            seen += 1
            cursor = page["next_cursor"]
            if cursor is None:
                return
            assert len(page["items"]) == limit, "a page that is not the last is full"
            assert seen < 10_000

    def rows(self, path, limit=20, **query):
        return [row for page in self.pages(path, limit, **query) for row in page["items"]]

    def inbox(self, limit=20, **query):
        return self.rows("/inbox", limit, **query)

    def check_adds_up(self):
        """The invariant: badge = sum over authors = length of the unread pages."""
        unread = self.get("/inbox/unread")
        rows = self.inbox(filter="unread", limit=100)
        assert not any(row["is_read"] or row["is_deleted"] for row in rows)
        total = self.badge()
        assert total == unread["total"] == sum(row["unread"] for row in unread["authors"]) == len(rows)
        return total


def id_of(user):
    return user.id if isinstance(user, Actor) else user


# ---- Raw sockets --------------------------------------------------------------------------------

def connect(server, timeout=PATIENCE_S):
    return socket.create_connection(("127.0.0.1", server.port), timeout=timeout)


def read_answers(sock, limit=1 << 22):
    """Everything until the server closes, as answers; HTTP as our server writes it."""
    data = b""
    while len(data) < limit:
        try:
            piece = sock.recv(65536)
        except ConnectionResetError:
            break
        if not piece:
            break
        data += piece
    answers = []
    while data:
        head, _, data = data.partition(b"\r\n\r\n")
        lines = head.decode("latin-1").split("\r\n")
        status = int(lines[0].split(" ")[1])
        fields = [tuple(line.split(": ", 1)) for line in lines[1:]]
        length = int(dict((n.lower(), v) for n, v in fields).get("content-length", 0))
        answer = Answer(status, fields, data[:length])
        data = data[length:]
        if status >= 200:
            answers.append(answer)
    return answers


def exchange(server, request, shut=False):
    """Sends bytes; the answers until the server closes the connection, which it must."""
    with connect(server) as sock:
        try:
            sock.sendall(request)
            if shut:
                sock.shutdown(socket.SHUT_WR)
        except (BrokenPipeError, ConnectionResetError):
            pass
        return read_answers(sock)
