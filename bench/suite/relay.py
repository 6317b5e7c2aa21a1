"""Stands between a program and a database's socket, and counts what the program sends: a packet is a round trip."""
import os
import socket
import threading

HEAD = 4  # of a packet: three bytes of length, and its number in the exchange; 0 begins one


class Relay:
    """Listens on a socket of its own; `packets` are those sent on connections on which `marker` was sent once, but for those
    that are nothing but `unawaited`."""

    def __init__(self, path, server, marker, unawaited):
        self.path, self.server, self.marker, self.unawaited = path, server, marker, unawaited
        self.connections = []
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(os.fspath(path))
        self.listener.listen()
        threading.Thread(target=self.accept, daemon=True).start()

    @property
    def packets(self):
        return sum(c["packets"] for c in self.connections if c["marked"])

    def accept(self):
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            server = socket.socket(socket.AF_UNIX)
            server.connect(os.fspath(self.server))
            counted = {"packets": 0, "marked": False}
            self.connections.append(counted)
            threading.Thread(target=self.copy, args=(client, server, counted), daemon=True).start()
            threading.Thread(target=self.copy, args=(server, client, None), daemon=True).start()

    def copy(self, source, target, counted):
        kept = b""
        while True:
            try:
                data = source.recv(1 << 16)
                target.sendall(data)
            except OSError:
                data = b""
            if not data:
                break
            if counted is not None:
                kept = self.count(kept + data, counted)
        for end in (source, target):
            end.close()

    def count(self, data, counted):
        """What is left of it when whole packets are counted."""
        counted["marked"] |= self.marker in data
        while len(data) >= HEAD and len(data) >= HEAD + int.from_bytes(data[:3], "little"):
            end = HEAD + int.from_bytes(data[:3], "little")
            counted["packets"] += data[3] == 0 and data[HEAD + 1:end] != self.unawaited
            data = data[end:]
        return data

    def close(self):
        self.listener.close()
