"""A real receiver of webhooks: notes what it is told and verifies it, fails, stalls, dies and comes back."""
import hashlib
import hmac
import http.server
import json
import socket
import ssl
import threading
import time

from .server import wait_until

SECRET = "a webhook's secret, 16 bytes or more"


def verify(secret, headers, body, tolerance_s=300):
    """As docs/API.md shows it."""
    timestamp = headers["Tidings-Timestamp"]
    assert abs(time.time() - int(timestamp)) < tolerance_s, "an old call"
    expected = "v1=" + hmac.new(secret.encode(), timestamp.encode() + b"." + body, hashlib.sha256).hexdigest()
    return hmac.compare_digest(expected, headers["Tidings-Signature"])


class Call:
    def __init__(self, path, headers, body, peer):
        self.path, self.headers, self.body, self.peer = path, headers, body, peer
        self.at = time.monotonic()
        self.json = json.loads(body) if body else None


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    timeout = 60

    def do_POST(self):
        self.server.receiver.take(self)

    do_GET = do_PUT = do_POST

    def log_message(self, *_):
        pass


class Listener(http.server.ThreadingHTTPServer):
    daemon_threads = True
    allow_reuse_address = True
    request_queue_size = 64

    def handle_error(self, *_):
        pass  # a peer that went away


class Receiver:
    """`how` is called with the handler and the call and answers; by default every call is taken with 204."""

    def __init__(self, secret=SECRET, how=None, tls=None):
        self.secret = secret
        self.how = how or answer(204)
        self.calls = []  # all of them, in the order of coming
        self.taken = []  # those that are answered with 2xx
        self.wrong = []
        self.lock = threading.Lock()
        self.open = []
        self.tls = tls
        self.port = 0
        self.listener = None
        self.start()

    # ---- Living and dying ----

    def start(self):
        self.listener = Listener(("127.0.0.1", self.port), Handler)
        if self.tls:
            self.listener.socket = self.tls.wrap_socket(self.listener.socket, server_side=True,
                                                        do_handshake_on_connect=False)
        self.listener.receiver = self
        self.port = self.listener.server_port
        threading.Thread(target=self.listener.serve_forever, args=(0.01,), daemon=True).start()

    def die(self):
        """Nobody listens any more, and open connections are cut."""
        self.listener.shutdown()
        self.listener.server_close()
        with self.lock:
            for connection in self.open:
                try:
                    connection.shutdown(socket.SHUT_RDWR)
                except OSError:
                    pass
            self.open.clear()
        self.listener = None

    def close(self):
        if self.listener:
            self.die()

    # ---- Being told ----

    def url(self, path="/hook", host="127.0.0.1"):
        return f"{'https' if self.tls else 'http'}://{host}:{self.port}{path}"

    @property
    def place(self):
        return f"127.0.0.1:{self.port}"

    def take(self, handler):
        body = handler.rfile.read(int(handler.headers["Content-Length"] or 0))  # none: somebody followed a redirect
        call = Call(handler.path, handler.headers, body, handler.client_address)
        with self.lock:
            self.calls.append(call)
            self.open.append(handler.connection)
            if not self.is_right(handler, call):
                self.wrong.append(call)
        self.how(handler, call)

    def took(self, call):
        """It is ours; noted before the answer is sent, so that whoever has seen the answer finds it here."""
        with self.lock:
            self.taken.append(call)

    def is_right(self, handler, call):
        return (handler.command == "POST" and verify(self.secret, call.headers, call.body)
                and call.headers["Content-Type"] == "application/json"
                and call.headers["User-Agent"].startswith("Tidings")
                and call.headers["Tidings-Event-Id"] == str(call.json["event_id"])
                and call.headers["webhook-id"] == f"evt_{call.json['event_id']}"
                and call.headers["webhook-timestamp"] == call.headers["Tidings-Timestamp"]
                and "Expect" not in call.headers and "Authorization" not in call.headers)

    # ---- What came of it ----

    def scenes(self):
        with self.lock:
            return [call.json["scene_id"] for call in self.taken if "scene_id" in call.json]

    def wait_for(self, scenes, patience=60):
        """Every one of these arrives."""
        wait_until(lambda: set(scenes) <= set(self.scenes()), f"{len(scenes)} events arrive", patience)

    def check(self, scenes):
        """What was taken is all of these, in order, each at least once; and every call was signed."""
        assert not self.wrong, [call.body for call in self.wrong]
        seen = self.scenes()
        firsts = list(dict.fromkeys(seen))
        assert firsts == list(scenes), (firsts, scenes)
        # A repeat is only ever of the latest: going back further would be out of order.
        newest = -1
        for scene in seen:
            at = firsts.index(scene)
            assert at >= newest, "out of order"
            newest = at


def answer(status, headers=(), body=b""):
    def how(handler, call):
        if 200 <= status <= 299:
            handler.server.receiver.took(call)
        handler.send_response(status)
        for name, value in headers:
            handler.send_header(name, value)
        handler.send_header("Content-Length", str(len(body)))
        handler.end_headers()
        handler.wfile.write(body)
    return how


def drop(handler, _call):
    """The connection ends without an answer."""
    handler.close_connection = True
    handler.connection.shutdown(socket.SHUT_RDWR)


class Stall:
    """No answer until it is released."""

    def __init__(self):
        self.event = threading.Event()

    def __call__(self, handler, call):
        self.event.wait(60)
        answer(204)(handler, call)

    def release(self):
        self.event.set()


def in_turn(*hows):
    """One way after the other, the last for ever."""
    left = list(hows)

    def how(handler, call):
        (left.pop(0) if len(left) > 1 else left[0])(handler, call)
    return how


def tls_context(cert, key):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(cert, key)
    return context
