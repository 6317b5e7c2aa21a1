"""A socket between a server and MySQL that loses COMMITs: by turns the statements never arrive, or their answer does not; or that
holds them back until they are let through, whoever sent them."""
import os
import select
import socket
import tempfile
import threading

QUIET_S = 0.3  # MySQL is through with the statements when it says nothing for so long


class Losing:
    def __init__(self, target):
        self.target = target
        self.path = os.path.join(tempfile.mkdtemp(prefix="tl-"), "s")
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(self.path)
        self.listener.listen(8)
        self.every = 0  # 0: none is lost
        self.commits = self.unsent = self.unanswered = self.held = 0
        self.open = threading.Event()
        self.open.set()
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self.forward, args=[client], daemon=True).start()

    def forward(self, client):
        server = socket.socket(socket.AF_UNIX)
        with client, server:
            try:
                server.connect(self.target)
                self.pump(client, server)
            except OSError:
                pass

    def pump(self, client, server):
        tail = b""
        while True:
            ready, _, _ = select.select([client, server], [], [])
            if server in ready:
                piece = server.recv(65536)
                if not piece:
                    return
                client.sendall(piece)
            if client in ready:
                piece = client.recv(65536)
                if not piece:
                    return
                commit, tail = b";COMMIT" in tail + piece, piece[-8:]
                if commit and not self.passes(server, piece):
                    return
                server.sendall(piece)

    def passes(self, server, piece):
        self.commits += 1
        if not self.open.is_set():
            self.held += 1
            self.open.wait()
        if not self.every or self.commits % self.every:
            return True
        if (self.commits // self.every) % 2:
            self.unsent += 1
            return False
        server.sendall(piece)
        while select.select([server], [], [], QUIET_S)[0] and server.recv(65536):
            pass
        self.unanswered += 1
        return False

    def close(self):
        self.listener.close()
