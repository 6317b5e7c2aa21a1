"""Somebody who signs tokens and publishes the keys: a JWK Set at an address."""
import http.server
import json
import threading
import time

import jwt
from cryptography.hazmat.primitives import serialization
from jwcrypto import jwk

KINDS = {"RS256": {"kty": "RSA", "size": 2048}, "ES256": {"kty": "EC", "crv": "P-256"},
         "EdDSA": {"kty": "OKP", "crv": "Ed25519"}}


class Key:
    def __init__(self, alg, kid):
        self.alg, self.kid = alg, kid
        self.jwk = jwk.JWK.generate(kid=kid, **KINDS[alg])
        pem = self.jwk.export_to_pem(private_key=True, password=None)
        self.private = serialization.load_pem_private_key(pem, None)

    def public(self, **more):
        return {**self.jwk.export_public(as_dict=True), "use": "sig", "alg": self.alg, **more}

    def public_pem(self):
        return self.jwk.export_to_pem().decode()

    def token(self, user, **more):
        made = {"sub": str(user), "exp": int(time.time()) + 600, **more}
        return jwt.encode(made, self.private, self.alg, {"kid": self.kid})


class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        idp = self.server.idp
        idp.asked += 1
        status, body, headers = idp.answer
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


class Idp:
    """`answer` is what everybody gets who asks."""

    def __init__(self, *keys, tls=None):
        self.asked = 0
        self.publish(*keys)
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.server.handle_error = lambda *_: None
        self.server.idp = self
        if tls:
            self.server.socket = tls.wrap_socket(self.server.socket, server_side=True)
        self.url = f"{'https' if tls else 'http'}://127.0.0.1:{self.server.server_port}/keys"
        self.thread = threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.01})
        self.thread.start()

    def publish(self, *keys, **more):
        self.answer = (200, json.dumps({"keys": [key.public() if isinstance(key, Key) else key for key in keys], **more}).encode(), {})

    def close(self):
        self.server.shutdown()
        self.thread.join()
        self.server.server_close()
