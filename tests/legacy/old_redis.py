"""The Redis that tests/support/with-redis has started, spoken to as the old application does: by its own few lines, so that nothing of
what is tested takes part."""
import os
import re
import socket
import ssl
import threading
from contextlib import contextmanager

END = "that is all"


class Refused(Exception):
    pass


class Connection:
    def __init__(self, host, port, password=None, ca=None):
        self.socket = socket.create_connection((host, int(port)), timeout=30)
        if ca:
            self.socket = ssl.create_default_context(cafile=ca).wrap_socket(self.socket, server_hostname=host)
        self.file = self.socket.makefile("rb")
        if password:
            self.call("AUTH", password)

    def call(self, *words):
        words = [word if isinstance(word, bytes) else str(word).encode() for word in words]
        self.socket.sendall(b"*%d\r\n" % len(words) + b"".join(b"$%d\r\n%s\r\n" % (len(word), word) for word in words))
        return self.answer()

    def answer(self):
        line = self.file.readline()
        if not line.endswith(b"\r\n"):
            raise ConnectionError("it went away")
        kind, rest = line[:1], line[1:-2]
        if kind == b"-":
            raise Refused(rest.decode())
        if kind == b"+":
            return rest.decode()
        if kind == b":":
            return int(rest)
        n = int(rest)
        if kind == b"$":
            return None if n < 0 else self.file.read(n + 2)[:-2].decode()
        return [self.answer() for _ in range(n)]

    def close(self):
        self.file.close()
        self.socket.close()


class Redis:
    def __init__(self, password=None, ca=None):
        self.nodes = [tuple(node.rsplit(":", 1)) for node in os.environ["TIDINGS_TEST_REDIS"].split(",")]
        self.connections = {}
        self.password, self.ca = password, ca

    @property
    def is_cluster(self):
        return len(self.nodes) > 1

    def connection(self, node):
        if node not in self.connections:
            self.connections[node] = Connection(*node, self.password, self.ca)
        return self.connections[node]

    def call(self, *words):
        """Wherever its key is, whoever is away of those that have it not."""
        node, others = self.nodes[0], list(self.nodes[1:])
        for _ in range(5 + len(others)):
            try:
                return self.connection(node).call(*words)
            except Refused as refused:
                if not str(refused).startswith("MOVED"):
                    raise
                node = tuple(str(refused).split()[2].rsplit(":", 1))
            except (ConnectionError, OSError):
                self.connections.pop(node, None)
                node = others.pop(0) if others else node
        raise ConnectionError("nobody has it")

    def masters(self):
        """Replicas refuse to be written to."""
        return [node for node in self.nodes if self.connection(node).call("ROLE")[0] == "master"]

    def empty(self):
        for node in self.masters():
            self.connection(node).call("FLUSHALL")

    def keys(self, pattern="*"):
        return {key for node in self.masters() for key in self.connection(node).call("KEYS", pattern)}

    def dump(self):
        """All keys and what is in them."""
        ways = {"string": ("GET",), "set": ("SMEMBERS",), "hash": ("HGETALL",), "zset": ("ZRANGE", 0, -1, "WITHSCORES")}
        found = {}
        for key in self.keys():
            command, *rest = ways[self.call("TYPE", key)]
            found[key] = self.call(command, key, *rest)
        return {key: sorted(value) if isinstance(value, list) else value for key, value in found.items()}

    @contextmanager
    def listen(self):
        """Commands that a single Redis gets meanwhile, as lists of words."""
        heard = []
        connection = Connection(*self.nodes[0])
        connection.call("MONITOR")

        def take():
            for line in connection.file:
                words = re.findall(r'"((?:[^"\\]|\\.)*)"', line.decode())
                if words == ["ECHO", END]:
                    return
                heard.append(words)

        listener = threading.Thread(target=take)
        listener.start()
        yield heard
        self.call("ECHO", END)
        listener.join()
        connection.close()

    def close(self):
        for connection in self.connections.values():
            connection.close()
        self.connections.clear()


def control(line):
    """Has with-redis do something to a node: `kill 0`."""
    with socket.socket(socket.AF_UNIX) as client:
        client.connect(os.environ["TIDINGS_TEST_REDIS_CONTROL"])
        client.sendall(line.encode() + b"\n")
        answer = client.makefile().readline().strip()
        assert answer.startswith("ok"), answer
