"""docs/INTEGRATE.md and docs/RECIPES.md: their pieces of Python are run as they stand, on a real server."""
import base64
import json
import os
import re
import sqlite3
import sys
import urllib.error
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, os.fspath(ROOT / "tests" / "http"))

from support.receiver import Receiver  # noqa: E402
from support.server import Server, wait_until  # noqa: E402

KEY = base64.urlsafe_b64encode(bytes(range(32))).decode().rstrip("=")
SECRET = "whsec_" + base64.b64encode(bytes(range(24))).decode()


def pieces(page, language):
    return re.findall(rf"^```{language}\n(.*?)^```$", (ROOT / "docs" / page).read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    keys = tmp_path_factory.mktemp("keys") / "keys.json"
    keys.write_text(json.dumps({"keys": [{"kid": "first", "alg": "HS256", "secret": KEY}]}))
    keys.chmod(0o600)
    made = Server(settings={"webhook_allow": "127.0.0.0/8"}, environment={"TIDINGS_JWT_SECRET": None, "TIDINGS_JWT_KEYS_FILE": str(keys)})
    made.start()
    yield made
    made.close()


@pytest.fixture(scope="module")
def page(server):
    """Everything that both pages define."""
    names = {"API": f"http://127.0.0.1:{server.port}", "KID": "first", "SECRET": KEY}
    for piece in pieces("INTEGRATE.md", "python") + pieces("RECIPES.md", "python"):
        exec(compile(piece, "page", "exec"), names)  # noqa: S102
    return names


def test_a_backend_acts_for_its_users(page):
    call = page["call"]
    page["profile_changed"](11, "Ann", "https://example.org/ann.png")
    call(12, "POST", "/v1/relation/follow", {"user_id": 11})
    once, again = (page["article_published"](11, 77, "An article", "Its first lines") for _ in range(2))
    assert once == again
    (item,) = call(12, "GET", "/v1/inbox?filter=unread")["items"]
    assert item["author_name"] == "Ann" and item["title"] == "An article"


def test_a_user_has_a_token_that_acts_for_nobody_else(page, server):
    request = page["urllib"].request.Request(page["API"] + "/v1/inbox/badge", headers={
        "Authorization": "Bearer " + page["make_token"](12), "X-User-Id": "11"})
    with pytest.raises(urllib.error.HTTPError) as refused:
        page["urllib"].request.urlopen(request)
    assert refused.value.code == 403


def test_push_hears_of_a_post_and_knows_whose_phones_to_light(page):
    receiver = Receiver()
    try:
        page["set_webhook"](f"http://127.0.0.1:{receiver.port}/", SECRET)
        page["call"](22, "POST", "/v1/relation/follow", {"user_id": 21})
        page["call"](21, "POST", "/v1/posts", {"kind": "note", "title": "Told"})
        wait_until(lambda: receiver.calls, "the call")
        call = receiver.calls[0]
        headers = {name.lower(): value for name, value in call.headers.items()}
        assert page["is_from_tidings"](headers, call.body, SECRET)
        assert not page["is_from_tidings"](headers, call.body + b" ", SECRET)
        assert not page["is_from_tidings"](headers, call.body, SECRET, now=int(headers["webhook-timestamp"]) + 301)
        assert list(page["phones_to_light"](json.loads(call.body))) == [(22, 1)]
    finally:
        receiver.close()


def test_events_are_handled_once_and_in_order(page):
    seen = []
    db = sqlite3.connect(":memory:")
    page["follow_events"](db, lambda db, event: seen.append(event["event_id"]), until_idle=True)
    page["follow_events"](db, lambda db, event: seen.append(event["event_id"]), until_idle=True)
    assert seen and seen == sorted(set(seen))


def test_search_finds_what_is_there(page):
    db, call = sqlite3.connect(":memory:"), page["call"]
    kept = call(31, "POST", "/v1/posts", {"kind": "note", "title": "A lighthouse", "body": "It moved."})["id"]
    gone = call(31, "POST", "/v1/posts", {"kind": "note", "title": "Another lighthouse"})["id"]
    call(31, "PATCH", f"/v1/posts/{kept}", {"body": "It stood still."})
    call(31, "DELETE", f"/v1/posts/{gone}")
    page["follow_events"](db, page["index_posts"], until_idle=True)
    assert [post["id"] for post in page["search"](db, "lighthouse")] == [kept]
    assert page["search"](db, "still") and not page["search"](db, "moved")


def test_pictures_that_no_post_names_are_known(page):
    db, call = sqlite3.connect(":memory:"), page["call"]
    post = call(41, "POST", "/v1/posts", {"kind": "note", "title": "Pictures",
                                          "body": "[img]https://example.org/a.jpg[/img] [img]https://example.org/b.jpg[/img]"})["id"]
    call(41, "PATCH", f"/v1/posts/{post}", {"body": "[img]https://example.org/b.jpg[/img]"})
    page["follow_events"](db, page["keep_pictures"], until_idle=True)
    assert db.execute("SELECT url FROM pictures WHERE post_id = ?", [post]).fetchall() == [("https://example.org/b.jpg",)]


def test_a_digest_has_the_exact_number(page):
    call = page["call"]
    call(52, "POST", "/v1/relation/follow", {"user_id": 51})
    for i in range(6):
        call(51, "POST", "/v1/posts", {"kind": "note", "title": f"Note {i}"})
    (digest,) = page["digests"]([52, 53])
    assert digest[:2] == (52, 6) and len(digest[2]) == 5 and digest[2][0].endswith("Note 5")
