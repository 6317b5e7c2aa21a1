"""Tokens of others: RS256, ES256 and EdDSA, and keys that are published at an address."""
import json
import threading

import pytest

from support.client import Client
from support.idp import Idp, Key
from support.receiver import tls_context
from support.server import SECRET, tidings, wait_until
from support.tokens import b64, claims, compact, hs256, token

USER = 4242
ALGORITHMS = ["RS256", "ES256", "EdDSA"]


@pytest.fixture
def make_idp():
    made = []

    def make(*keys, **more):
        made.append(Idp(*keys, **more))
        return made[-1]

    yield make
    for idp in made:
        idp.close()


def ask(server, bearer):
    with Client(server) as client:
        return client.request("GET", "/v1/inbox/badge", headers={"Authorization": "Bearer " + bearer})


def status(server, bearer):
    return ask(server, bearer).status


def by_url(make_server, idp, **settings):
    return make_server(secret=None, settings={"jwks_url": idp.url, **settings})


# ---- Algorithms ---------------------------------------------------------------------------------

@pytest.mark.parametrize("form", ["jwk", "pem"])
@pytest.mark.parametrize("alg", ALGORITHMS)
def test_keys_of_pairs_in_a_file(make_server, tmp_path, alg, form):
    key, other = Key(alg, "a"), Key(alg, "a")
    path = tmp_path / "keys.json"
    path.write_text(json.dumps({"keys": [key.public() if form == "jwk" else
                                         {"kid": "a", "alg": alg, "public_key": key.public_pem()}]}))
    path.chmod(0o600)
    server = make_server(secret=None, environment={"TIDINGS_JWT_KEYS_FILE": str(path)})
    good = key.token(USER)
    head, payload, signature = good.split(".")
    assert status(server, good) == 200
    assert status(server, other.token(USER)) == 401
    for bad in (signature[:-4], signature + "AAAA", "AAAA", b64(b"\0" * 64), b64(b"\xff" * 64), b64(b"\0" * 256),
                b64(b"\xff" * 256), b64(b"\0" * 1024), b64(b"\0" * 1500)):
        assert status(server, f"{head}.{payload}.{bad}") == 401, bad
    for i in range(0, len(signature) - 2, 5):
        turned = signature[:i] + ("A" if signature[i] != "A" else "B") + signature[i + 1:]
        assert status(server, f"{head}.{payload}.{turned}") == 401
    for name in {"RS256", "ES256", "EdDSA", "HS256", "none"} - {alg}:  # the key says which it is
        other_head = b64(json.dumps({"alg": name, "kid": "a"}))
        assert status(server, f"{other_head}.{payload}.{signature}") == 401
    for secret in (key.public_pem(), json.dumps(key.public())):  # a public key is no secret
        assert status(server, compact({"alg": "HS256", "kid": "a"}, claims(USER, "admin"), hs256(secret))) == 401


@pytest.mark.parametrize("wrong", [
    {"n": "AQAB"}, {"n": b64(b"\xff" * 128)}, {"n": b64(b"\xff" * 1025)}, {"e": "AQ"}, {"e": "AA"}, {"e": b64(b"\xff" * 200)},
    {"n": 5}, {"n": "!"}, {"d": "AQAB"}])
def test_rsa_keys_that_are_none(tmp_path, wrong):
    refuses(tmp_path, {**Key("RS256", "a").public(), **wrong})


@pytest.mark.parametrize("wrong", [{"x": "AA"}, {"y": None}, {"x": b64(b"\1" * 32)}, {"y": b64(b"\0" * 33)}, {"d": b64(b"\1" * 32)}])
def test_p256_keys_that_are_none(tmp_path, wrong):
    refuses(tmp_path, {**Key("ES256", "a").public(), **wrong})


def refuses(tmp_path, key):
    path = tmp_path / "keys.json"
    path.write_text(json.dumps({"keys": [key]}))
    path.chmod(0o600)
    done = tidings("serve", "--data", str(tmp_path / "data"), "--listen", "127.0.0.1:0", TIDINGS_JWT_KEYS_FILE=str(path))
    assert done.returncode == 3 and "key 1: " in done.stderr, done.stderr


# ---- iss and aud --------------------------------------------------------------------------------

def test_issuer_and_audience_are_looked_at_if_they_are_set(make_server):
    server = make_server(settings={"jwt_issuer": "https://idp.example/", "jwt_audience": "tidings"})
    good = {"iss": "https://idp.example/", "aud": "tidings"}
    assert status(server, token(SECRET, USER, **good)) == 200
    assert status(server, token(SECRET, USER, **{**good, "aud": ["other", "tidings"]})) == 200
    for wrong, claim in (({"iss": ...}, "iss"), ({"iss": "https://idp.example"}, "iss"), ({"iss": None}, "iss"),
                         ({"iss": ["https://idp.example/"]}, "iss"), ({"aud": ...}, "aud"), ({"aud": "Tidings"}, "aud"),
                         ({"aud": []}, "aud"), ({"aud": ["other"]}, "aud"), ({"aud": {"tidings": 1}}, "aud")):
        answer = ask(server, token(SECRET, USER, **{**good, **wrong}))
        assert answer.status == 401 and answer.json["code"] == "token_claims", wrong
        assert answer.json["detail"].startswith(claim + ": ")
    made = tidings("token", "--user", "5", TIDINGS_JWT_SECRET=SECRET, TIDINGS_JWT_ISSUER=good["iss"],
                   TIDINGS_JWT_AUDIENCE="tidings").stdout.strip()
    assert status(server, made) == 200


# ---- Keys by address ----------------------------------------------------------------------------

def test_keys_come_from_an_address_before_the_server_is_ready(make_server, make_idp):
    keys = [Key(alg, alg) for alg in ALGORITHMS]
    idp = make_idp(*keys)
    server = by_url(make_server, idp)
    assert idp.asked == 1
    for key in keys:
        assert status(server, key.token(USER)) == 200
    assert idp.asked == 1, "known keys need no asking"


def test_a_new_key_is_fetched_when_a_token_names_it_and_unknown_ones_do_not_flood(make_server, make_idp):
    old, new = Key("ES256", "old"), Key("RS256", "new")
    idp = make_idp(old)
    server = by_url(make_server, idp)
    idp.publish(old, new)
    wait_until(lambda: status(server, new.token(USER)) == 200, "the new key is known")
    assert idp.asked == 2 and status(server, old.token(USER)) == 200
    for n in range(50):
        assert status(server, Key("EdDSA", f"unknown{n}").token(USER)) == 401
    assert idp.asked == 2, "once a minute"
    idp.publish(new)  # the old one is kept until the next fetch: within the hour
    assert status(server, old.token(USER)) == 200


@pytest.mark.parametrize("answer", [
    (500, b"", {}), (404, b"{}", {}), (200, b"", {}), (200, b"{", {}), (200, b'{"keys": []}', {}), (200, b"x" * 300_000, {}),
    (200, b'{"keys": [{"kty": "oct", "k": "' + b"A" * 43 + b'"}]}', {}), (302, b"", {"Location": "/other"})])
def test_a_fetch_that_fails_changes_nothing(make_server, make_idp, answer):
    key, new = Key("ES256", "a"), Key("ES256", "b")
    idp = make_idp(key)
    server = by_url(make_server, idp)
    idp.answer = answer
    assert status(server, new.token(USER)) == 401
    wait_until(lambda: "the keys stay as they were" in server.log_text(), "the failure is told")
    assert idp.asked == 2 and status(server, key.token(USER)) == 200


def test_a_published_private_key_is_refused_and_secrets_are_passed_over(tmp_path, make_server, make_idp):
    secret = {"kty": "oct", "kid": "s", "k": b64("s" * 32)}
    key = Key("EdDSA", "a")
    idp = make_idp(secret, key)
    server = by_url(make_server, idp)
    assert status(server, key.token(USER)) == 200 and status(server, token("s" * 32, USER, kid="s")) == 401
    private = make_idp({**key.jwk.export(as_dict=True)})
    process = by_url(make_server, idp)  # another server, which hears of it later
    idp.answer = private.answer
    assert status(process, Key("EdDSA", "b").token(USER)) == 401
    wait_until(lambda: "a private key" in process.log_text(), "it is refused")


def test_the_first_fetch_is_tried_again(make_server, make_idp):
    """The first answer is no set; three seconds later it is one."""
    key = Key("ES256", "a")
    idp = make_idp(key)
    right, idp.answer = idp.answer, (503, b"", {})

    def mend():
        wait_until(lambda: idp.asked == 1, "asked once")
        idp.answer = right

    thread = threading.Thread(target=mend)
    thread.start()
    server = by_url(make_server, idp)
    thread.join()
    assert "jwks_url: the answer is 503; trying again" in server.log_text()
    assert status(server, key.token(USER)) == 200


@pytest.mark.parametrize("url", ["http://example.org/keys", "ftp://127.0.0.1/keys", "file:///etc/passwd", "keys.json", "",
                                 "https://u:p@example.org/", "http://127.0.0.1.example.org/", "http://0.0.0.0/"])
def test_addresses_that_are_not_asked(tmp_path, url):
    done = tidings("serve", "--data", str(tmp_path / "data"), "--listen", "127.0.0.1:0", "--jwks-url", url)
    assert done.returncode == 2 and "jwks_url: " in done.stderr, done.stderr


def test_https_by_a_certificate_that_is_trusted(make_server, make_idp, authority):
    key = Key("ES256", "a")
    idp = make_idp(key, tls=tls_context(authority / "server.pem", authority / "server.key"))
    server = by_url(make_server, idp, jwks_ca_file=authority / "ca.pem")
    assert status(server, key.token(USER)) == 200


def test_secrets_the_file_and_the_address_go_together(make_server, make_idp, tmp_path):
    key, filed = Key("ES256", "a"), Key("ES256", "f")
    path = tmp_path / "keys.json"
    path.write_text(json.dumps({"keys": [filed.public()]}))
    path.chmod(0o600)
    idp = make_idp(key)
    server = make_server(settings={"jwks_url": idp.url, "jwt_keys_file": path})
    for bearer in (token(SECRET, USER), key.token(USER), filed.token(USER)):
        assert status(server, bearer) == 200
    path.write_text(json.dumps({"keys": [Key("ES256", "g").public()]}))
    wait_until(lambda: status(server, filed.token(USER)) == 401, "the file is read again")
    assert status(server, key.token(USER)) == 200
