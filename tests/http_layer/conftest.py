# SPDX-License-Identifier: MIT
"""A server to talk to, and a client that says exactly what it is told to.

The server is the program named by ECHO_SERVER (see echo_server.c). Nothing here sleeps in order to
be right: a test waits for bytes, for the end of a connection, or for a counter to reach a value.
"""

import json
import os
import signal
import socket
import struct
import subprocess
import time

import pytest

HEAD = "POST /info HTTP/1.1\r\nHost: t\r\n"
SMUGGLED = "GET /healthz HTTP/1.1\r\nHost: smuggled\r\n\r\n"
PATIENCE = 60  # seconds until something that must happen counts as not happening


class Answer:
    def __init__(self, status, headers, body):
        self.status, self.headers, self.body = status, headers, body

    def json(self):
        return json.loads(self.body)


class Client:
    """One connection."""

    def __init__(self, port, host="127.0.0.1", source=None, rcvbuf=None):
        self.sock = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET)
        if rcvbuf:
            self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, rcvbuf)
        self.sock.settimeout(PATIENCE)
        if source:
            self.sock.bind((source, 0))
        self.sock.connect((host, port))
        self.input = b""

    def send(self, data):
        self.sock.sendall(data if isinstance(data, bytes) else data.encode("latin-1"))
        return self

    def get(self, path, *headers):
        lines = [f"GET {path} HTTP/1.1", "Host: t", *headers, "", ""]
        return self.send("\r\n".join(lines))

    def more(self):
        """Reads some bytes; False at the end, however it came."""
        try:
            data = self.sock.recv(65536)
        except ConnectionError:
            data = b""
        self.input += data
        return bool(data)

    def until(self, mark):
        while mark not in self.input:
            assert self.more(), f"the connection ended after {self.input[-200:]!r}"
        end = self.input.index(mark) + len(mark)
        taken, self.input = self.input[:end], self.input[end:]
        return taken

    def exactly(self, n):
        while len(self.input) < n:
            assert self.more(), f"the connection ended after {self.input[-200:]!r}"
        taken, self.input = self.input[:n], self.input[n:]
        return taken

    def head(self):
        lines = self.until(b"\r\n\r\n").decode("latin-1").split("\r\n")
        version, status = lines[0].split(" ")[:2]
        assert version == "HTTP/1.1"
        headers = {}
        for line in lines[1:-2]:
            name, value = line.split(": ", 1)
            assert name.lower() not in headers
            headers[name.lower()] = value
        return int(status), headers

    def answer(self, body=True):
        status, headers = self.head()
        bytes_ = b""
        if body and status not in (100, 204, 304):
            bytes_ = self.exactly(int(headers["content-length"]))
        return Answer(status, headers, bytes_)

    def ended(self):
        """Reads to the end; what else came."""
        while self.more():
            pass
        return self.input

    def shut(self):
        self.sock.shutdown(socket.SHUT_WR)
        return self

    def close(self):
        self.sock.close()

    def reset(self):
        self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.sock.close()


def refusal(client):
    answer = client.answer()
    assert answer.headers["connection"] == "close"
    problem = answer.json()
    assert problem["status"] == answer.status
    assert answer.headers["content-type"] == "application/problem+json"
    assert client.ended() == b""
    return answer.status, problem["code"]


class Server:
    def __init__(self, **settings):
        program = os.environ.get("ECHO_SERVER", "./echo_server")
        self.host = settings.get("host", "127.0.0.1").strip("[]")
        self.process = subprocess.Popen(
            [program] + [f"{name}={value}" for name, value in settings.items()],
            stdout=subprocess.PIPE, text=True)
        line = self.process.stdout.readline()
        assert line.startswith("listening "), line
        self.port = int(line.split()[1])
        self.clients = []
        self.stopped = None

    def connect(self, **how):
        client = Client(self.port, self.host, **how)
        self.clients.append(client)
        return client

    def ask(self, path):
        client = Client(self.port, self.host)
        try:
            return client.get(path, "Connection: close").answer()
        finally:
            client.close()

    def counters(self):
        return self.ask("/counters").json()

    def wait_for(self, condition):
        """Asks until condition(counters) holds; they are then the answer."""
        end = time.monotonic() + PATIENCE
        while True:
            counters = self.counters()
            if condition(counters):
                return counters
            assert time.monotonic() < end, counters

    def wait_held(self, n):
        end = time.monotonic() + PATIENCE
        while int(self.ask("/held").body) != n:
            assert time.monotonic() < end

    def signal_stop(self):
        self.process.send_signal(signal.SIGTERM)

    def wait_stop(self):
        """How many requests were still held. A sanitizer's complaint is an exit code here."""
        if self.stopped is None:
            out, _ = self.process.communicate(timeout=PATIENCE)
            assert self.process.returncode == 0
            self.stopped = int(out.split()[1])
        return self.stopped

    def finish(self):
        for client in self.clients:
            client.close()
        if self.stopped is None:
            self.signal_stop()
            self.wait_stop()


@pytest.fixture
def serve():
    servers = []

    def start(**settings):
        servers.append(Server(**settings))
        return servers[-1]

    yield start
    for server in servers:
        try:
            server.finish()
        finally:
            server.process.kill()
