"""A statement's text never contains a user's text: hostile texts in every field, and the database's own log of what it was told;
and the check over the sources, which must find what is planted."""
import itertools
import os
import re
import subprocess
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import quote

import pytest
from conftest import wait_for_role
from support.contract import contract

ROOT = Path(__file__).resolve().parents[2]
SOCKET = Path(re.search(r"socket=([^&]*)", os.environ.get("TIDINGS_TEST_MYSQL", "socket=/none")).group(1))

# Each with a mark of its own, by which it would be found; {} is that.
HOSTILE = [
    "{}",
    "'; DROP TABLE post; -- {}",
    '" OR 1=1 /* {} */ #',
    "{}\\'; DELETE FROM user WHERE '1'='1",
    "\\\\{}\\",
    "`{}`; TRUNCATE post",
    "{} \\x00 \\0 %00 \\u0000 \x01\x1a\x7f",
    "{} %s %n %llu ${{x}} @p+1 :name ?",
    "x'{}' 0x{} _utf8mb4 x'41' _binary'",
    "{} 𝕊𝔮𝔩 🐬 ’ ʼ ＇ \u202e gnirts \ufeff",
    "{}\r\n;COMMIT;BEGIN;\n--\t",
]
marks = (f"mark{n:06d}q" for n in itertools.count())

# Texts of requests, which Writer sends; and lists, tokens and words that are none.
TEXTS = {
    "PUT /v1/users/me": {"name", "avatar", "extra"},
    "POST /v1/posts": {"title", "body", "extra"},
    "PATCH /v1/posts/{post_id}": {"title", "body", "extra"},
    "POST /v1/posts/{post_id}/comments": {"body"},
    "POST /v1/stories/{story_id}/scenes": {"title", "messages"},
    "PATCH /v1/scenes/{scene_id}": {"title", "messages"},
    "PUT /v1/admin/webhooks/{name}": {"url", "secret"},
    "POST /v1/admin/backup": {"name"},  # of a directory; there are no backups here
}
NO_TEXTS = {"kind", "up_to", "events", "post_ids", "ids", "user_ids"}


def run(statement):
    subprocess.run(["mariadb", "--no-defaults", f"--socket={SOCKET}", "--user=root", "--execute", statement], check=True)


@contextmanager
def statements():
    """What the server is told meanwhile; the file has it all when the block ends."""
    path = SOCKET.parent / "general.log"
    run(f"SET GLOBAL general_log_file = '{path}'; SET GLOBAL log_output = 'FILE'; SET GLOBAL general_log = ON")
    found = []
    try:
        yield found
    finally:
        run("SET GLOBAL general_log = OFF")
    found.append(path.read_bytes())


class Writer:
    """Sends every text field; what was sent."""

    def __init__(self, server):
        self.server, self.sent = server, []

    def text(self, form):
        mark = next(marks)
        self.sent.append(mark)
        return form.format(*[mark] * form.count("{}"))

    def write(self, form):
        ann, text = self.server.user(), lambda: self.text(form)
        extra = lambda: {text(): [text(), {"deep": text()}]}  # noqa: E731
        ann.expect(200, "PUT", "/v1/users/me", {"name": text()[:60], "avatar": "https://a/" + quote(text(), safe="';()-"), "extra": extra()})
        post = ann.post("/posts", {"kind": "note", "title": text(), "body": text(), "extra": extra()}, 201,
                        {"Idempotency-Key": next(marks) + "'; DROP -- \\"})["id"]
        ann.expect(200, "PATCH", f"/v1/posts/{post}", {"title": text(), "body": text(), "extra": extra()})
        ann.comment(post, text())
        story = ann.story(text())
        scene = ann.scene(story, text(), [text(), text()])
        kept = {"id": scene["messages"][0]["id"], "text": text()}
        ann.expect(200, "PATCH", f"/v1/scenes/{scene['id']}", {"title": text(), "messages": [kept, text()]})
        ann.open(post)

    def webhook(self):
        admin = self.server.admin()
        mark = next(marks)
        self.sent.append(mark)
        admin.expect(200, "PUT", "/v1/admin/webhooks/hostile", {"url": f"https://example.invalid/{mark}';DROP--", "secret":
                                                                 f"{mark}'; DROP TABLE webhook; -- and much more"})


def test_no_text_of_a_user_is_part_of_a_statement(make_servers):
    (server,) = make_servers(1)
    wait_for_role(server, "writer")
    writer = Writer(server)
    with statements() as log:
        for form in HOSTILE:
            writer.write(form)
        writer.webhook()
    assert b"INSERT INTO tidings_log" in log[0] and len(writer.sent) > 150
    for mark in writer.sent:
        assert mark.encode() not in log[0], mark
        assert mark.encode().hex().encode() in log[0].lower(), f"{mark} was not stored as hexadecimal digits"
    assert b"DROP" not in log[0].upper() and b"TRUNCATE" not in log[0].upper()


def test_what_was_hostile_comes_back_as_it_was(make_servers):
    (server,) = make_servers(1)
    wait_for_role(server, "writer")
    ann = server.user()
    for form in HOSTILE:
        text = form.format(*["mark"] * form.count("{}"))
        post = ann.post("/posts", {"kind": "note", "title": text, "body": text, "extra": {text: text}}, 201)
        assert (post["title"], post["body"], post["extra"]) == (text, text, {text: text})
        assert ann.comment(post["id"], text)["body"] == text


def test_the_log_would_show_a_text():
    with statements() as log:
        mark = next(marks)
        run(f"SELECT '{mark}'")
    assert mark.encode() in log[0]


def texts_of(operation):
    body = operation.get("requestBody")
    schema = contract.resolve(body["content"]["application/json"]["schema"]) if body else {"properties": {}}
    types = {name: contract.resolve(value).get("type", []) for name, value in schema["properties"].items()}
    return {name for name, those in types.items() if {"string", "object", "array"} & {*([those] if isinstance(those, str) else those)}}


def test_every_text_of_a_request_is_among_them():
    """A field that is new must be sent here, too."""
    for method, path, operation in contract.operations():
        assert texts_of(operation) - NO_TEXTS == TEXTS.get(f"{method} {path}", set()), (method, path)


@pytest.mark.parametrize("line", [
    'buf_printf(text, "SELECT %.*s", (int)title.n, title.p);',
    'buf_printf(text, "SELECT \'%s\'", post->title);',
    "buf_printf(text, format, 1);",
    "buf_text(text, name);",
    "buf_append(text, title.p, title.n);",
    "sql_run_text(sql, statement);",
    'buf_printf(text, "%s", full ? "" : name);',
])
def test_the_check_over_the_sources_finds_what_is_planted(tmp_path, line):
    planted = tmp_path / "planted.c"
    planted.write_text('static void f(void)\n{\n    buf_printf(text, "%s%llu", i ? "," : "", 1ULL);\n}\n')
    check = ROOT / "scripts/check-statements"
    assert subprocess.run([check, planted], check=False).returncode == 0
    planted.write_text(planted.read_text().replace("}\n", f"    {line}\n}}\n"))
    done = subprocess.run([check, planted], capture_output=True, text=True, check=False)
    assert done.returncode == 1 and "planted.c:4:" in done.stdout


def test_the_sources_pass():
    subprocess.run([ROOT / "scripts/check-statements"], cwd=ROOT, check=True)
