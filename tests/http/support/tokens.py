"""Tokens, made by hand so that they can be made wrong."""
import base64
import hashlib
import hmac
import json
import time


def b64(data):
    if isinstance(data, str):
        data = data.encode()
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def unb64(text):
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


def hs256(secret):
    if isinstance(secret, str):
        secret = secret.encode()
    return lambda text: hmac.new(secret, text, hashlib.sha256).digest()


def eddsa(private_key):
    return private_key.sign


def compact(header, claims, sign):
    """A token of a header and claims, each an object or JSON text, signed by a function of bytes."""
    parts = [part if isinstance(part, str) else json.dumps(part) for part in (header, claims)]
    text = ".".join(b64(part) for part in parts)
    return text + "." + b64(sign(text.encode()))


def claims(user, role=None, ttl=3600, **more):
    made = {"sub": str(user), "exp": int(time.time()) + ttl}
    if role is not None:
        made["role"] = role
    made.update(more)
    return {name: value for name, value in made.items() if value is not ...}


def token(secret, user, role=None, ttl=3600, kid=None, **more):
    header = {"alg": "HS256", "typ": "JWT"}
    if kid is not None:
        header["kid"] = kid
    return compact(header, claims(user, role, ttl, **more), hs256(secret))
