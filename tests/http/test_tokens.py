"""Who may call at all: forged, stale and rotated tokens, over HTTP."""
import base64
import json
import signal
import threading
import time

import jwt
import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from jwcrypto import jwk

from support.client import Client, new_user_id
from support.server import SECRET, tidings, wait_until
from support.tokens import b64, claims, compact, eddsa, hs256, token, unb64

HS = {"alg": "HS256", "typ": "JWT"}
USER = 4242


def status(server, bearer, scheme="Bearer "):
    with Client(server) as client:
        return client.request("GET", "/v1/inbox/badge", headers={"Authorization": scheme + bearer}).status


def flip(text, i):
    """Another character of the alphabet in that place, and not one that decodes to the same."""
    alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
    at = alphabet.find(text[i])
    return text[:i] + (alphabet[(at + 17) % 64] if at >= 0 else "A") + text[i + 1:]


def test_a_good_token_is_accepted_and_every_scheme_spelling(server):
    good = token(SECRET, USER)
    assert status(server, good) == 200
    assert status(server, good, "bearer ") == 200
    assert status(server, good, "BEARER ") == 200
    for scheme in ("", "Basic ", "Token ", "Bearer", "Bearer\t"):
        assert status(server, good, scheme) == 401, scheme


@pytest.mark.parametrize("bearer", ["", "x", ".", "..", "...", "a.b.c", "null", "{}", "Bearer x", "a" * 4000])
def test_nonsense(server, bearer):
    assert status(server, bearer) == 401


@pytest.mark.parametrize("alg", ["none", "None", "NONE", "nOnE", "", None, "HS384", "HS512", "RS256", "ES256", "hs256",
                                 "EdDSA", ["HS256"], 1, "HS256 "])
def test_other_algorithms_are_refused(server, alg):
    header = {"typ": "JWT"} if alg is None else {"alg": alg, "typ": "JWT"}
    assert status(server, compact(header, claims(USER), hs256(SECRET))) == 401
    unsigned = b64(json.dumps(header)) + "." + b64(json.dumps(claims(USER))) + "."
    assert status(server, unsigned) == 401
    assert status(server, unsigned + b64(b"\0" * 32)) == 401


def test_signatures_of_other_lengths(server):
    good = token(SECRET, USER)
    head, signature = good.rsplit(".", 1)
    raw = unb64(signature)
    for other in (raw[:31], raw + b"\0", raw + raw, b"", b"\0"):
        assert status(server, head + "." + b64(other)) == 401
    assert status(server, good + "=") == 401
    assert status(server, good + ".") == 401
    assert status(server, good + " x") == 401


def test_every_character_matters(server):
    """Bit flips anywhere in the token, under a valid one that is cached by now."""
    good = token(SECRET, USER)
    assert status(server, good) == 200
    with Client(server) as client:
        for i in range(len(good)):
            answer = client.request("GET", "/v1/inbox/badge", headers={"Authorization": "Bearer " + flip(good, i)})
            assert answer.status == 401, i
    assert status(server, good) == 200


def test_the_last_characters_unused_bits_matter(server):
    """base64url has spare bits in its last character; one token has one spelling."""
    good = token(SECRET, USER)
    alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
    last = alphabet.index(good[-1])
    for spare in range(1, 4):
        assert status(server, good[:-1] + alphabet[last ^ spare]) == 401


@pytest.mark.parametrize("what, made", [
    ("expired", claims(USER, ttl=-1)), ("expires now", claims(USER, ttl=0)), ("no exp", claims(USER, exp=...)),
    ("exp as text", claims(USER, exp="9999999999")),
    ("exp past, as float", claims(USER, exp=time.time() - 0.5)), ("exp far, as float", claims(USER, exp=1e300)),
    ("exp negative", claims(USER, exp=-1)), ("exp far", claims(USER, exp=10 ** 18)), ("exp null", claims(USER, exp=None)),
    ("not yet", claims(USER, nbf=int(time.time()) + 86400)), ("nbf as text", claims(USER, nbf="0")),
    ("issued in the future", claims(USER, iat=int(time.time()) + 86400)),
    ("no sub", claims(USER, sub=...)), ("sub a number", claims(USER, sub=USER)), ("sub 0", claims(0)),
    ("sub empty", claims("")), ("sub signed", claims("+5")), ("sub negative", claims("-5")), ("sub 05", claims("05")),
    ("sub hex", claims("0x5")), ("sub spaced", claims(" 5")), ("sub too large", claims(2 ** 53)),
    ("sub huge", claims("9" * 40)), ("sub float", claims("5.0")), ("sub a list", claims(USER, sub=["5"])),
    ("role unknown", claims(USER, "root")), ("role empty", claims(USER, "")), ("role upper", claims(USER, "Admin")),
    ("role a list", claims(USER, ["admin"])), ("role null", claims(USER) | {"role": None}),
    ("role a number", claims(USER) | {"role": 2}),
    ("claims a list", [1, 2]), ("claims a text", "\"text\""), ("claims empty", "{}"), ("not json", "{"),
])
def test_wrong_claims_under_a_right_signature(server, what, made):
    assert status(server, compact(HS, made, hs256(SECRET))) == 401, what


def test_times_may_have_fractions(server):
    """RFC 7519, NumericDate: as some libraries write them."""
    now = time.time()
    made = claims(USER, iat=now, nbf=now - 0.25, exp=now + 600.75)
    assert status(server, compact(HS, made, hs256(SECRET))) == 200
    assert status(server, compact(HS, json.dumps(made).replace(str(made["exp"]), "9.999e9"), hs256(SECRET))) == 200


def test_duplicate_claims_are_refused(server):
    exp = int(time.time()) + 600
    for text in (f'{{"sub":"5","sub":"6","exp":{exp}}}', f'{{"sub":"5","exp":1,"exp":{exp}}}',
                 f'{{"sub":"5","role":"user","role":"admin","exp":{exp}}}',
                 f'{{"sub":"5","role":"user","\\u0072ole":"admin","exp":{exp}}}'):
        assert status(server, compact(HS, text, hs256(SECRET))) == 401
    assert status(server, compact('{"alg":"none","alg":"HS256"}', claims(USER), hs256(SECRET))) == 401


def test_headers_that_offer_keys_or_want_extensions(server):
    for more in ({"crit": ["exp"]}, {"crit": []}, {"kid": "nobody"}, {"kid": ""}, {"kid": 5}, {"kid": "../../dev/null"}):
        assert status(server, compact({**HS, **more}, claims(USER), hs256(SECRET))) == 401, more
    own = "a secret that the token brings along, 32 bytes"
    jwk = {"kty": "oct", "k": b64(own)}
    assert status(server, compact({**HS, "jwk": jwk}, claims(USER), hs256(own))) == 401
    assert status(server, compact({**HS, "jku": "http://127.0.0.1:1/keys"}, claims(USER), hs256(own))) == 401


def test_oversize_tokens(server):
    fits = compact(HS, claims(USER, pad="x" * 2000), hs256(SECRET))
    assert len(fits) < 4096 and status(server, fits) == 200
    too_long = compact(HS, claims(USER, pad="x" * 3200), hs256(SECRET))
    assert len(too_long) > 4096 and status(server, too_long) == 401


def test_authorization_given_twice(server):
    good = token(SECRET, USER)
    with Client(server) as client:
        answer = client.request("GET", "/v1/inbox/badge", headers=[("Authorization", "Bearer " + good)] * 2)
    assert answer.status == 401


def test_a_token_in_the_query_is_not_looked_at(server):
    with Client(server) as client:
        answer = client.request("GET", f"/v1/inbox/badge?access_token={token(SECRET, USER)}")
    assert answer.status == 401


def test_a_cached_token_expires_exactly(server):
    """Accepted until its exp, refused from that second on, although it is remembered."""
    bearer = token(SECRET, USER, ttl=2)
    exp = json.loads(unb64(bearer.split(".")[1]))["exp"]
    with Client(server) as client:
        while True:
            before = time.time()
            got = client.request("GET", "/v1/inbox/badge", headers={"Authorization": "Bearer " + bearer}).status
            after = time.time()
            if after < exp:
                assert got == 200
            elif before >= exp:
                assert got == 401
                return


def test_leeway_is_a_setting(make_server):
    server = make_server(settings={"jwt_leeway_s": 30})
    assert status(server, token(SECRET, USER, ttl=-20)) == 200
    assert status(server, token(SECRET, USER, ttl=-40)) == 401
    assert status(server, token(SECRET, USER, nbf=int(time.time()) + 20)) == 200


def test_clocks_may_differ_by_a_minute(make_server):
    server = make_server()
    server.settings.pop("jwt_leeway_s")
    server.restart()
    assert status(server, token(SECRET, USER, ttl=-50)) == 200
    assert status(server, token(SECRET, USER, ttl=-70)) == 401


# ---- Why not ------------------------------------------------------------------------------------

def refusal(server, headers):
    with Client(server) as client:
        answer = client.request("GET", "/v1/inbox/badge", headers=headers)
    assert answer.status == 401
    return answer.json["code"], answer.headers["www-authenticate"]


def test_a_refusal_says_why_and_no_more_than_the_sender_knows(server):
    realm = 'Bearer realm="tidings"'
    assert refusal(server, {}) == ("token_missing", realm)
    assert refusal(server, {"Authorization": "Basic QTpC"}) == ("token_missing", realm)
    good = token(SECRET, USER)
    head, payload, signature = good.split(".")
    other = token("another secret, also of 32 bytes or more", USER)
    for bearer, code in (("", "token_malformed"), ("x", "token_malformed"), (f"{head}.{payload}.!", "token_malformed"),
                         ("a" * 5000, "token_malformed"), (other, "token_signature"),
                         (f"{head}.{payload}.{flip(signature, 5)}", "token_signature"),
                         (token(SECRET, USER, kid="nobody"), "token_signature"),
                         (compact({"alg": "none"}, claims(USER), hs256(SECRET)), "token_signature"),
                         (token(SECRET, USER, ttl=-5), "token_expired"),
                         (token("another secret, also of 32 bytes or more", USER, ttl=-5), "token_signature"),
                         (token(SECRET, USER, nbf=int(time.time()) + 50), "token_not_yet"),
                         (compact(HS, {**claims(USER), "sub": "me"}, hs256(SECRET)), "token_claims")):
        got, challenge = refusal(server, {"Authorization": "Bearer " + bearer})
        assert got == code, bearer
        assert challenge.startswith(realm + ', error="invalid_token", error_description="')
    # A key of that name or none: the same words, also where the signature cannot be read.
    unread = [compact({**HS, **kid}, claims(USER), hs256(SECRET)).rsplit(".", 1)[0] + ".!" for kid in ({}, {"kid": "x"})]
    assert len({refusal(server, {"Authorization": "Bearer " + bearer}) for bearer in unread}) == 1


@pytest.mark.parametrize("made, detail", [
    (claims(USER, sub=USER), "sub: must be a string of digits, not a number, and be there."),
    (claims(USER, sub=...), "sub: must be a string of digits, not a number, and be there."),
    (claims("0b8f0d3e-6f0f-4b52-8d3f-1f6a5a2f0c11"),
     "sub: no id of this server, which are the digits of 1 to 9007199254740991."),
    (claims(2 ** 53), "sub: no id of this server, which are the digits of 1 to 9007199254740991."),
    (claims(USER, exp=...), "exp: missing; a token must expire."),
    (claims(USER, exp=int(time.time() * 1000) + 600_000), "exp: in milliseconds; it must be seconds since 1970."),
    (claims(USER, "root"), "role: none of user, service and admin."),
    (claims(USER) | {"role": None}, "role: is null; leave it out for user, or say service or admin."),
    (claims(USER, nbf="0"), "exp, nbf, iat: one is no number of seconds since 1970."),
])
def test_each_likely_mistake_has_its_sentence(server, made, detail):
    with Client(server) as client:
        answer = client.request("GET", "/v1/inbox/badge",
                                headers={"Authorization": "Bearer " + compact(HS, made, hs256(SECRET))})
    assert answer.status == 401 and answer.json["code"] == "token_claims"
    assert answer.json["detail"] == detail
    assert f'error_description="{detail}"' in answer.headers["www-authenticate"]


# ---- Several keys -------------------------------------------------------------------------------

def test_several_secrets(make_server):
    new = "the new secret of the tests, 32 bytes or more"
    server = make_server(environment={"TIDINGS_JWT_SECRET": new + "\n" + SECRET + "\n"})
    assert status(server, token(SECRET, USER)) == 200
    assert status(server, token(new, USER)) == 200
    assert status(server, token(SECRET + new, USER)) == 401


class KeysFile:
    def __init__(self, path):
        self.path = path

    def write(self, *keys):
        self.path.write_text(json.dumps({"keys": list(keys)}))
        self.path.chmod(0o600)


def hs_key(kid, secret, **more):
    return {"kid": kid, "alg": "HS256", "secret": b64(secret), **more}


def ed_public(private, pem=False):
    public = private.public_key()
    if pem:
        return public.public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo).decode()
    return b64(public.public_bytes(serialization.Encoding.Raw, serialization.PublicFormat.Raw))


def ed_key(kid, private, pem=False, **more):
    return {"kid": kid, "alg": "EdDSA", "public_key": ed_public(private, pem), **more}


@pytest.fixture
def keys_file(tmp_path):
    return KeysFile(tmp_path / "keys.json")


def with_keys(make_server, keys_file, *keys):
    keys_file.write(*keys)
    return make_server(secret=None, environment={"TIDINGS_JWT_KEYS_FILE": str(keys_file.path)})


def reload(server):
    before = server.log_text().count("keys read again") + server.log_text().count("the keys stay as they were")
    server.process.send_signal(signal.SIGHUP)
    wait_until(lambda: server.log_text().count("keys read again") + server.log_text().count("the keys stay as they were")
               > before, "the keys are read again")


@pytest.mark.parametrize("pem", [False, True])
def test_eddsa_keys(make_server, keys_file, pem):
    private, other = Ed25519PrivateKey.generate(), Ed25519PrivateKey.generate()
    server = with_keys(make_server, keys_file, ed_key("idp", private, pem))
    header = {"alg": "EdDSA", "kid": "idp"}
    good = compact(header, claims(USER), eddsa(private))
    assert status(server, good) == 200
    assert status(server, compact(header, claims(USER), eddsa(other))) == 401
    assert status(server, compact({"alg": "EdDSA"}, claims(USER), eddsa(private))) == 401, "kid is needed"
    assert status(server, compact({"alg": "EdDSA", "kid": "IDP"}, claims(USER), eddsa(private))) == 401
    with Client(server) as client:
        for i in range(0, len(good), 3):
            headers = {"Authorization": "Bearer " + flip(good, i)}
            assert client.request("GET", "/v1/inbox/badge", headers=headers).status == 401


def test_algorithm_confusion_with_the_public_key(make_server, keys_file):
    """The classic: HS256, with everything public about the EdDSA key as the secret."""
    private = Ed25519PrivateKey.generate()
    raw = private.public_key().public_bytes(serialization.Encoding.Raw, serialization.PublicFormat.Raw)
    pem = ed_public(private, pem=True)
    server = with_keys(make_server, keys_file, ed_key("idp", private), hs_key("app", "s" * 40))
    for secret in (raw, b64(raw), pem, pem.strip(), base64.b64encode(raw)):
        for header in ({"alg": "HS256", "kid": "idp"}, {"alg": "HS256"}, {"alg": "HS256", "kid": "app"},
                       {"alg": "EdDSA", "kid": "idp"}):
            assert status(server, compact(header, claims(USER, "admin"), hs256(secret))) == 401
    assert status(server, compact({"alg": "EdDSA", "kid": "app"}, claims(USER), hs256("s" * 40))) == 401
    assert status(server, token("s" * 40, USER, kid="app")) == 200


def test_a_kid_means_its_key_and_no_other(make_server, keys_file):
    server = with_keys(make_server, keys_file, hs_key("a", "a" * 40), hs_key("b", "b" * 40))
    assert status(server, token("a" * 40, USER, kid="a")) == 200
    assert status(server, token("a" * 40, USER, kid="b")) == 401
    assert status(server, token("a" * 40, USER)) == 401


def test_a_keys_own_time(make_server, keys_file):
    now = int(time.time())
    server = with_keys(make_server, keys_file, hs_key("past", "p" * 40, not_after=now - 1),
                       hs_key("future", "f" * 40, not_before=now + 600), hs_key("now", "n" * 40, not_after=now + 600))
    assert status(server, token("p" * 40, USER, kid="past")) == 401
    assert status(server, token("f" * 40, USER, kid="future")) == 401
    assert status(server, token("n" * 40, USER, kid="now")) == 200


def test_rotation_with_overlap_and_removal_at_once(make_server, keys_file):
    old, new = hs_key("old", "o" * 40), hs_key("new", "n" * 40)
    server = with_keys(make_server, keys_file, old)
    by_old, by_new = token("o" * 40, USER, kid="old"), token("n" * 40, USER, kid="new")
    clients = [Client(server) for _ in range(8)]  # on both loops, each with its own memory

    def all_get(bearer):
        headers = {"Authorization": "Bearer " + bearer}
        return {client.request("GET", "/v1/inbox/badge", headers=headers).status for client in clients}

    assert all_get(by_old) == {200} and all_get(by_new) == {401}
    keys_file.write(new, old)
    reload(server)
    assert all_get(by_old) == {200} and all_get(by_new) == {200}
    keys_file.write(new)
    reload(server)
    assert all_get(by_old) == {401}, "removed, though every loop had it cached"
    assert all_get(by_new) == {200}
    for client in clients:
        client.close()


def test_a_broken_keys_file_leaves_the_old_keys(make_server, keys_file):
    server = with_keys(make_server, keys_file, hs_key("a", "a" * 40))
    bearer = token("a" * 40, USER, kid="a")
    for text in ("", "{", "{}", '{"keys": []}', '{"keys": [{"kid": "a", "alg": "none"}]}',
                 json.dumps({"keys": [hs_key("a", "short")]}), json.dumps({"keys": [hs_key("a", "a" * 40)] * 2})):
        keys_file.path.write_text(text)
        reload(server)
        assert status(server, bearer) == 200, text
    keys_file.path.unlink()
    reload(server)
    assert status(server, bearer) == 200
    assert "a" * 40 not in server.log_text() and b64("a" * 40) not in server.log_text()


def test_reload_under_load_drops_no_request(make_server, keys_file):
    keep = hs_key("keep", "k" * 40)
    server = with_keys(make_server, keys_file, keep)
    stop = threading.Event()
    counts, failures = [0] * 4, []

    def ask(i):
        headers = {"Authorization": "Bearer " + token("k" * 40, USER + i, kid="keep")}
        try:
            with Client(server) as client:
                while not stop.is_set():
                    answer = client.request("GET", "/v1/inbox/badge", headers=headers)
                    assert answer.status == 200, answer
                    counts[i] += 1
        except Exception as error:  # noqa: BLE001 - told by the main thread
            failures.append(error)

    threads = [threading.Thread(target=ask, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for i in range(30):
        keys_file.write(keep, hs_key(f"extra-{i}", "e" * 40))
        reload(server)
    stop.set()
    for thread in threads:
        thread.join()
    assert not failures and min(counts) > 0


def test_streams_and_requests_survive_many_reloads_with_secrets_from_the_environment(make_server):
    server = make_server()
    ann = server.user()
    for _ in range(5):
        reload(server)
        assert ann.badge() == 0


# ---- tidings token ------------------------------------------------------------------------------

def test_token_command_round_trip(server):
    for role, path, good in ((None, "/v1/inbox/badge", 200), ("user", "/v1/events", 403), ("service", "/v1/events", 200),
                             ("service", "/v1/admin/status", 403), ("admin", "/v1/admin/status", 200)):
        arguments = ["token", "--user", "77", "--ttl", "5m"] + (["--role", role] if role else [])
        done = tidings(*arguments, TIDINGS_JWT_SECRET=SECRET)
        assert done.returncode == 0, done.stderr
        bearer = done.stdout.strip()
        made = json.loads(unb64(bearer.split(".")[1]))
        assert made["sub"] == "77" and made["exp"] - made["iat"] == 300
        with Client(server) as client:
            assert client.request("GET", path, headers={"Authorization": "Bearer " + bearer}).status == good


@pytest.mark.parametrize("ttl, seconds", [("90", 90), ("90s", 90), ("2m", 120), ("1h", 3600), ("2d", 172800), (None, 3600)])
def test_token_ttl(ttl, seconds):
    done = tidings("token", "--user", "5", *(["--ttl", ttl] if ttl else []), TIDINGS_JWT_SECRET=SECRET)
    made = json.loads(unb64(done.stdout.split(".")[1]))
    assert made["exp"] - made["iat"] == seconds


@pytest.mark.parametrize("arguments", [
    [], ["--user", "0"], ["--user", "x"], ["--user", "-5"], ["--user", "9007199254740992"], ["--user", "5", "--ttl", "0"],
    ["--user", "5", "--ttl", "-1h"], ["--user", "5", "--ttl", "1w"], ["--user", "5", "--role", "root"],
    ["--user", "5", "--what"], ["--user", "5", "extra"], ["--user", "5x"]])
def test_token_command_refuses(arguments):
    done = tidings("token", *arguments, TIDINGS_JWT_SECRET=SECRET)
    assert done.returncode == 2 and "usage" in done.stderr and not done.stdout


def test_token_command_needs_a_good_secret():
    for secret in (None, "short", ""):
        done = tidings("token", "--user", "5", TIDINGS_JWT_SECRET=secret)
        assert done.returncode not in (0, 2) and not done.stdout and done.stderr


def test_token_command_signs_with_a_keys_file(make_server, keys_file):
    """After the Debian package is installed there is a keys file, and nothing else."""
    server = with_keys(make_server, keys_file, hs_key("first", "f" * 40), hs_key("second", "s" * 40))
    path = str(keys_file.path)
    config = keys_file.path.with_name("tidings.conf")
    config.write_text(f"jwt_keys_file = {path}\n")
    for arguments, environment, kid in (
            (["--keys", path], {}, "first"), (["--keys", path, "--kid", "second"], {}, "second"),
            (["--config", str(config)], {}, "first"), ([], {"TIDINGS_JWT_KEYS_FILE": path}, "first"),
            (["--keys", path], {"TIDINGS_JWT_SECRET": SECRET}, "first")):
        done = tidings("token", "--user", "77", *arguments, **environment)
        assert done.returncode == 0 and not done.stderr, done.stderr
        assert json.loads(unb64(done.stdout.split(".")[0]))["kid"] == kid
        assert status(server, done.stdout.strip()) == 200
    for arguments, says in ((["--keys", path, "--kid", "third"], "no key of kid third"), (["--keys", path + "x"], "cannot be read"),
                            ([], "--keys FILE")):
        done = tidings("token", "--user", "77", *arguments)
        assert done.returncode == 3 and says in done.stderr and not done.stdout


def test_token_command_signs_with_a_jwk_set(make_server, tmp_path):
    idp, other = (jwk.JWK.generate(kty="OKP", crv="Ed25519", kid=kid) for kid in ("idp", "other"))
    secret = jwk.JWK.generate(kty="oct", size=256, kid="s")
    public = tmp_path / "public.json"
    private = tmp_path / "private.json"
    server = jwk_server(make_server, public, idp.export_public(as_dict=True), secret.export(as_dict=True))
    private.write_text(json.dumps({"keys": [idp.export(as_dict=True), secret.export(as_dict=True)]}))
    private.chmod(0o600)
    for kid, alg in ((None, "EdDSA"), ("idp", "EdDSA"), ("s", "HS256")):
        done = tidings("token", "--user", "77", "--keys", str(private), *(["--kid", kid] if kid else []))
        assert json.loads(unb64(done.stdout.split(".")[0]))["alg"] == alg, done.stderr
        assert status(server, done.stdout.strip()) == 200
    assert status(jwk_server(make_server, private, idp.export(as_dict=True)),
                  tidings("token", "--user", "77", "--keys", str(private)).stdout.strip()) == 200, "a server takes d as well"
    # Only the public half, or another's: it cannot sign.
    for key, says in ((idp.export_public(as_dict=True), "can sign"),
                      ({**idp.export(as_dict=True), "x": other.export_public(as_dict=True)["x"]}, "d is not")):
        private.write_text(json.dumps({"keys": [key]}))
        done = tidings("token", "--user", "77", "--keys", str(private))
        assert done.returncode == 3 and says in done.stderr and not done.stdout


def test_new_users_need_no_sign_up(server):
    assert status(server, token(SECRET, new_user_id())) == 200


# ---- JWK Sets, and tokens of other libraries ----------------------------------------------------

def jwk_server(make_server, path, *keys, **more):
    path.write_text(json.dumps({"keys": list(keys), **more}))
    path.chmod(0o600)
    return make_server(secret=None, environment={"TIDINGS_JWT_KEYS_FILE": str(path)})


def test_a_jwk_set_of_another_library(make_server, tmp_path):
    secret = jwk.JWK.generate(kty="oct", size=256, kid="s", use="sig", alg="HS256")
    idp = jwk.JWK.generate(kty="OKP", crv="Ed25519", kid="idp")
    rsa = jwk.JWK.generate(kty="RSA", size=2048, kid="rsa")
    server = jwk_server(make_server, tmp_path / "jwks.json", rsa.export_public(as_dict=True),
                        secret.export(as_dict=True), {**idp.export_public(as_dict=True), "x5t": "?"}, issuer="them")
    made = {"sub": str(USER), "exp": int(time.time()) + 60}
    private = serialization.load_pem_private_key(idp.export_to_pem(private_key=True, password=None), None)
    assert status(server, jwt.encode(made, unb64(secret.export(as_dict=True)["k"]), "HS256", {"kid": "s"})) == 200
    assert status(server, jwt.encode(made, private, "EdDSA", {"kid": "idp"})) == 200
    rsa_pem = rsa.export_to_pem(private_key=True, password=None)
    assert status(server, jwt.encode(made, rsa_pem, "RS256", {"kid": "rsa"})) == 200
    # A public key is no secret.
    assert status(server, jwt.encode(made, unb64(idp.export_public(as_dict=True)["x"]), "HS256", {"kid": "idp"})) == 401


def test_the_keys_file_is_read_again_when_it_changes(make_server, tmp_path):
    old, new = (jwk.JWK.generate(kty="oct", size=256, kid=kid) for kid in ("old", "new"))
    path = tmp_path / "jwks.json"
    server = jwk_server(make_server, path, old.export(as_dict=True))

    def by(key):
        made = {"sub": str(USER), "exp": int(time.time()) + 600}
        return jwt.encode(made, unb64(key.export(as_dict=True)["k"]), "HS256", {"kid": key.export(as_dict=True)["kid"]})

    assert (status(server, by(old)), status(server, by(new))) == (200, 401)
    path.write_text("{")  # half written: what was there stays
    wait_until(lambda: "the keys stay as they were" in server.log_text(), "the damage is noticed")
    assert status(server, by(old)) == 200
    other = tmp_path / "next.json"
    other.write_text(json.dumps({"keys": [new.export(as_dict=True)]}))
    other.chmod(0o600)
    other.rename(path)
    wait_until(lambda: status(server, by(new)) == 200, "the new key holds")
    assert status(server, by(old)) == 401
