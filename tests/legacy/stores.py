"""The MariaDB and the Redis of the system that people come from, as its application reaches them."""
import os
import re
import socket
import subprocess
import uuid

MYSQL = os.environ.get("TIDINGS_TEST_MYSQL", "mysql://none@localhost/?socket=/none")
REDIS = os.environ.get("TIDINGS_TEST_REDIS", "127.0.0.1:1")
SOCKET = re.search(r"socket=([^&]*)", MYSQL).group(1)


def control(variable, line):
    """Has a server of the tests killed, started and so on: see tests/support/with-mariadb and with-redis."""
    with socket.socket(socket.AF_UNIX) as control_socket:
        control_socket.connect(os.environ[variable])
        control_socket.sendall(line.encode() + b"\n")
        answer = control_socket.makefile().readline()
    assert answer.startswith("ok"), answer


class Database:
    """One database, made for a test. Statements are gathered and run together: a client for each would take minutes."""

    def __init__(self):
        self.name = "old_" + uuid.uuid4().hex[:12]
        self.statements = []
        self.run(f"CREATE DATABASE {self.name} CHARACTER SET utf8mb4", "")

    @property
    def url(self):
        return re.sub(r"/\?|/$", f"/{self.name}?", MYSQL) if "?" in MYSQL else f"{MYSQL.rstrip('/')}/{self.name}"

    def run(self, text, database=None):
        done = subprocess.run(["mariadb", "--no-defaults", f"--socket={SOCKET}", "--user=root", "--batch", "--skip-column-names",
                               "--default-character-set=utf8mb4", self.name if database is None else database],
                              input=text.encode(), capture_output=True, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout.decode().splitlines()

    def later(self, statement):
        self.statements.append(statement)

    def flush(self):
        self.run("SET time_zone = '+00:00';\n" + ";\n".join(self.statements + ["COMMIT"]))
        self.statements = []


class Redis:
    """A client of a Redis or a Redis Cluster: follows redirections, and nothing else."""

    def __init__(self):
        self.nodes = [node.rpartition(":")[::2] for node in REDIS.split(",")]
        self.files = {}
        for node in self.nodes:
            self.ask(node, "FLUSHALL")

    def ask(self, node, *words):
        node = (node[0], int(node[1]))
        if node not in self.files:
            self.files[node] = socket.create_connection(node).makefile("rwb")
        file = self.files[node]
        encoded = [word if isinstance(word, bytes) else str(word).encode() for word in words]
        file.write(b"*%d\r\n" % len(encoded) + b"".join(b"$%d\r\n%s\r\n" % (len(word), word) for word in encoded))
        file.flush()
        return self.answer(file)

    def answer(self, file):
        line = file.readline()[:-2]
        kind, rest = line[:1], line[1:]
        if kind == b"$":
            return None if rest == b"-1" else file.read(int(rest) + 2)[:-2]
        if kind == b"*":
            return [self.answer(file) for _ in range(int(rest))]
        if kind == b":":
            return int(rest)
        return (kind + rest).decode()

    def __call__(self, *words):
        node = self.nodes[0]
        for _ in range(5):
            answer = self.ask(node, *words)
            if not (isinstance(answer, str) and answer.startswith("-MOVED")):
                break
            node = answer.split()[2].rpartition(":")[::2]
        assert not (isinstance(answer, str) and answer.startswith("-")), (words, answer)
        return answer
