"""A reader of server-sent events."""
import json
import select
import time

from .client import PATIENCE_S, Answer, connect
from .contract import contract


class Event:
    def __init__(self, name, event_id, data, at):
        self.name, self.id, self.data, self.at = name, event_id, data, at

    def __repr__(self):
        return f"<{self.name} {self.id} {self.data}>"


class Stream:
    """An open GET /v1/stream. Events are held against the document as they are read."""

    def __init__(self, server, bearer, last_event_id=None, acting_for=None, post_ids=None):
        server.settle()
        self.sock = connect(server)
        self.buffer = b""
        self.ended = False
        self.heartbeats = 0
        query = "?post_ids=" + ",".join(map(str, post_ids)) if post_ids is not None else ""
        lines = [f"GET /v1/stream{query} HTTP/1.1", "Host: test", "Authorization: Bearer " + bearer]
        if last_event_id is not None:
            lines.append(f"Last-Event-ID: {last_event_id}")
        if acting_for is not None:
            lines.append(f"X-User-Id: {acting_for}")
        self.sock.sendall(("\r\n".join(lines) + "\r\n\r\n").encode())
        self.answer = self.read_head()

    def fill(self, patience):
        """More bytes; False if none came in time, or the stream has ended."""
        poll = select.poll()  # select() knows 1,024 descriptors
        poll.register(self.sock, select.POLLIN)
        if not poll.poll(max(0, patience) * 1000):
            return False
        try:
            piece = self.sock.recv(65536)
        except ConnectionResetError:
            piece = b""
        if not piece:
            self.ended = True
            return False
        self.buffer += piece
        return True

    def read_head(self):
        deadline = time.monotonic() + PATIENCE_S
        while b"\r\n\r\n" not in self.buffer:
            assert self.fill(deadline - time.monotonic()), "no answer to GET /v1/stream"
        head, _, self.buffer = self.buffer.partition(b"\r\n\r\n")
        lines = head.decode("latin-1").split("\r\n")
        answer = Answer(int(lines[0].split(" ")[1]), [tuple(line.split(": ", 1)) for line in lines[1:]], b"")
        if answer.status == 200:
            contract.check("GET", "/v1/stream", answer)
        return answer

    def take(self):
        """The next whole event in the buffer, or None. Heartbeats are counted and skipped."""
        while b"\n\n" in self.buffer:
            block, _, self.buffer = self.buffer.partition(b"\n\n")
            if block.startswith(b":"):
                self.heartbeats += 1
                continue
            fields = dict(line.split(": ", 1) for line in block.decode().split("\n"))
            assert set(fields) - {"id"} == {"event", "data"}, block
            event = Event(fields["event"], int(fields.get("id", 0)), json.loads(fields["data"]), time.monotonic())
            contract.check_event(event.name, event.data)
            if event.name == "post":
                assert event.id == event.data["post_id"], event
            else:
                assert event.name == "badge" or event.id == 0, event
            return event
        return None

    def next(self, patience=PATIENCE_S):
        """The next event; None if the stream ended, or nothing came in time."""
        deadline = time.monotonic() + patience
        while True:
            event = self.take()
            if event:
                return event
            if self.ended or time.monotonic() >= deadline or (
                    not self.fill(deadline - time.monotonic()) and b"\n\n" not in self.buffer):
                return self.take()

    def until(self, name, patience=PATIENCE_S, **wanted):
        """The first event of that name with that data; those before it are dropped."""
        deadline = time.monotonic() + patience
        seen = []
        while True:
            event = self.next(deadline - time.monotonic())
            assert event, f"no {name} {wanted} in {patience} s, but {seen}"
            seen.append(event)
            if event.name == name and all(event.data[k] == v for k, v in wanted.items()):
                return event

    def events_so_far(self):
        """What has arrived by now."""
        while self.fill(0):
            pass
        return list(iter(self.take, None))

    def wait_end(self, patience=PATIENCE_S):
        """Reads to the end; the events that came before it."""
        deadline = time.monotonic() + patience
        events = []
        while not self.ended:
            event = self.next(deadline - time.monotonic())
            assert event or self.ended, "the stream goes on"
            if event:
                events.append(event)
        return events

    def close(self):
        self.sock.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()
