"""An HTTP connection for many at once in one thread, without the checks of tests/http: fast, and it says when the other
end is gone."""
import asyncio
import json

PATIENCE_S = 60


class Lost(Exception):
    """The connection ended before the answer was there."""


class Connection:
    def __init__(self):
        self.streams = None

    async def connect(self, port):
        self.streams = await asyncio.open_connection("127.0.0.1", port)

    def close(self):
        if self.streams:
            self.streams[1].transport.abort()
        self.streams = None

    async def send(self, method, path, body=None, bearer=None, key=None):
        """Status and answer; Lost if there is none."""
        reader, writer = self.streams
        data = b"" if body is None else json.dumps(body).encode()
        head = [f"{method} {path} HTTP/1.1", "Host: test", f"Authorization: Bearer {bearer}",
                f"Content-Length: {len(data)}"]
        if body is not None:
            head.append("Content-Type: application/json")
        if key:
            head.append("Idempotency-Key: " + key)
        try:
            writer.write("\r\n".join(head).encode() + b"\r\n\r\n" + data)
            return await asyncio.wait_for(read_answer(reader), PATIENCE_S)
        except (ConnectionError, asyncio.IncompleteReadError) as error:
            raise Lost from error


async def read_answer(reader):
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
    status = int(head[0].split(" ")[1])
    fields = dict(line.lower().split(": ", 1) for line in head[1:] if line)
    body = await reader.readexactly(int(fields.get("content-length", 0)))
    return status, json.loads(body) if body else None
