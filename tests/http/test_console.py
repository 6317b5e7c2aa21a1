"""The console as it is served: one page and its assets, how they may be kept, and what the page may do."""
import gzip
import re

import pytest

ASSET = re.compile(r'(?:href|src)="(/assets/[^"]+)"')
TYPES = {".js": "text/javascript; charset=utf-8", ".css": "text/css; charset=utf-8", ".svg": "image/svg+xml"}


def get(client, path, **headers):
    return client.request("GET", path, headers={name.replace("_", "-"): value for name, value in headers.items()})


def page_text(client):
    return get(client, "/").body.decode("utf-8")


def policy_of(answer):
    parts = answer.headers["content-security-policy"].split(";")
    return {words[0]: words[1:] for words in (part.split() for part in parts)}


def test_page_needs_no_token_and_has_no_inline_script_or_style(server):
    with server.client() as client:
        answer = get(client, "/")
    text = answer.body.decode("utf-8")
    assert answer.status == 200 and answer.headers["content-type"] == "text/html; charset=utf-8"
    assert "<style" not in text and not re.search(r"<[^>]*\s(on\w+|style)=", text)
    assert all(" src=" in tag for tag in re.findall(r"<script[^>]*>", text))


def test_page_may_run_and_load_only_what_is_ours(server):
    with server.client() as client:
        answer = get(client, "/")
    policy = policy_of(answer)
    assert policy["default-src"] == ["'none'"]
    assert policy["script-src"] == policy["style-src"] == policy["connect-src"] == ["'self'"]
    assert policy["img-src"] == ["'self'", "https:", "http:"]
    assert policy["base-uri"] == policy["form-action"] == policy["frame-ancestors"] == ["'none'"]
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["referrer-policy"] == "no-referrer"


def test_every_asset_is_there_with_its_type_and_may_be_kept_for_ever(server):
    with server.client() as client:
        names = ASSET.findall(page_text(client))
        assert sorted(name.rsplit(".", 1)[1] for name in names) == ["css", "js", "svg"]
        for name in names:
            assert re.fullmatch(r"/assets/console-[0-9a-f]{16}\.\w+", name)
            answer = get(client, name)
            assert answer.status == 200 and answer.body
            assert answer.headers["content-type"] == TYPES["." + name.rsplit(".", 1)[1]]
            assert answer.headers["cache-control"] == "public, max-age=31536000, immutable"
            assert answer.headers["x-content-type-options"] == "nosniff"


def test_page_itself_is_asked_for_each_time(server):
    with server.client() as client:
        for path in ("/", "/v1/openapi.json", "/docs"):
            assert get(client, path).headers["cache-control"] == "no-cache"


@pytest.mark.parametrize("accepted, packed", [
    ("gzip, deflate, br", True), ("br;q=1.0, gzip;q=0.5", True), ("gzip;q=0.001, br", True), ("gzip ; q=1", True),
    ("gzip;q=0", False), ("gzip;q=0.000,br;q=1", False), ("identity", False), ("", False)])
@pytest.mark.parametrize("path", ["script", "/v1/openapi.json", "/docs"])
def test_compressed_for_who_takes_it(server, path, accepted, packed):
    with server.client() as client:
        if path == "script":
            path = next(name for name in ASSET.findall(page_text(client)) if name.endswith(".js"))
        plain = get(client, path)
        answer = get(client, path, Accept_Encoding=accepted)
    assert "content-encoding" not in plain.headers
    assert answer.headers["vary"] == "Accept-Encoding"
    assert (answer.headers.get("content-encoding") == "gzip") is packed
    assert (gzip.decompress(answer.body) if packed else answer.body) == plain.body
    assert not packed or len(answer.body) < len(plain.body) / 2


def test_known_version_is_not_sent_again(server):
    with server.client() as client:
        for path in ["/", "/v1/openapi.json", "/docs", *ASSET.findall(page_text(client))]:
            tag = get(client, path).headers["etag"]
            known = get(client, path, If_None_Match=tag, Accept_Encoding="gzip")
            assert known.status == 304 and not known.body and known.headers["etag"] == tag
            assert "content-encoding" not in known.headers
            assert get(client, path, If_None_Match=f'"other", {tag.removeprefix("W/")}').status == 304
            assert get(client, path, If_None_Match='"other"').status == 200


def test_head_answers_as_get_without_the_body(server):
    with server.client() as client:
        whole = get(client, "/")
        head = client.request("HEAD", "/")
    assert head.status == 200 and not head.body
    assert head.headers["content-length"] == str(len(whole.body)) and head.headers["etag"] == whole.headers["etag"]


@pytest.mark.parametrize("name", [
    "console.js", "console-0000000000000000.js", "..", "%2e%2e", "console-", "x" * 500, "openapi.json"])
def test_other_names_are_not_found(server, name):
    with server.client() as client:
        answer = get(client, "/assets/" + name)
    assert answer.status == 404 and answer.json["code"] == "not_found"


def test_only_reading(server):
    with server.client() as client:
        for path in ("/", "/assets/console.js"):
            answer = client.request("POST", path)
            assert answer.status == 405 and answer.headers["allow"] == "GET, HEAD"


@pytest.mark.parametrize("name", ["cat", "lighthouse", "loaf", "pot", "summit"])
def test_pictures_of_the_demo_are_there_and_asked_for_each_time(server, name):
    with server.client() as client:
        answer = get(client, f"/assets/demo-{name}.svg")
    assert answer.status == 200 and answer.headers["content-type"] == "image/svg+xml"
    assert answer.headers["cache-control"] == "no-cache", "the name stays when the picture changes"
    assert policy_of(answer)["default-src"] == ["'none'"]
    assert b"<script" not in answer.body and b"href" not in answer.body
