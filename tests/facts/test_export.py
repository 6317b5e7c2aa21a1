"""Exports: their form, of a running server, of one user; packed, cut off, interrupted."""
import gzip
import json
import os
import re
import signal
import subprocess
from pathlib import Path

import pytest
from facts import DAY, T0, export_facts, exported, follow, import_facts, lines_of, of_type, post, read, verified
from jsonschema import Draft202012Validator
from support.server import BIN, Server, clean_environment, tidings
from test_others import WORLD

ROOT = Path(__file__).resolve().parents[2]
SCHEMA = json.loads((ROOT / "docs/facts.schema.json").read_text())


def validator(part):
    return Draft202012Validator({**SCHEMA, "anyOf": [{"$ref": f"#/$defs/{part}"}]})


def put(actor, path, body=None):
    return actor.expect(200, "PUT", "/v1" + path, body)


def lively(actor, server):
    """A little of everything, by the API."""
    fan, reader = server.users(2)
    story = actor.post("/posts", {"kind": "story", "title": "A story", "extra": {"a": [1]}}, status=201)["id"]
    fan.post("/relation/follow", {"user_id": actor.id})
    note = actor.post("/posts", {"kind": "note", "title": "Line\nbreak", "body": "\"\\ 文 \u0001"}, status=201)["id"]
    gone = actor.post("/posts", {"kind": "note", "title": "Gone"}, status=201)["id"]
    fan.post(f"/posts/{note}/open")
    fan.post(f"/posts/{gone}/open")
    actor.delete(gone)
    comment = fan.post(f"/posts/{note}/comments", {"body": "well"}, status=201)["id"]
    put(reader, f"/comments/{comment}/downvote")
    put(reader, f"/posts/{note}/fav")
    put(reader, f"/stories/{story}/subscription")
    scene = actor.post(f"/stories/{story}/scenes", {"title": "One", "messages": ["a", "b"]}, status=201)
    put(reader, f"/reading/{story}", {"scene_id": scene["id"], "message_id": scene["messages"][0]["id"], "modified_at": T0})
    put(fan, "/settings", {"story_updates": False})
    put(fan, "/users/me", {"name": "Fan", "extra": {"b": 2}})
    fan.post("/relation/unfollow", {"user_id": actor.id})


@pytest.fixture
def served():
    server = Server().start()
    yield server
    server.close()


def test_an_export_is_what_the_schema_says_and_comes_back_the_same(tmp_path, served):
    author = served.user()
    lively(author, served)
    served.stop()
    first = exported(served.data).stdout
    check = validator("export")
    for line in first.splitlines():
        check.validate(json.loads(line))
    kinds = {json.loads(line)["type"] for line in first.splitlines()}
    assert kinds >= {"tidings", "user", "post", "scene", "comment", "preferences", "follow", "read", "history", "reaction",
                     "subscription", "position", "end"}
    done, data = import_facts(tmp_path, [first])
    assert done.returncode == 0, done.stderr
    assert exported(data).stdout == first
    verified(data)


def test_the_schema_knows_facts_of_others_too():
    check = validator("other")
    for fact in WORLD:
        check.validate(fact)
    for wrong in ({"type": "post"}, {"type": "nonsense"}, {**WORLD[2], "id": 5}, {**WORLD[1], "at": -1}):
        assert not check.is_valid(wrong), wrong


def test_the_schema_has_the_fields_of_the_table():
    source = (ROOT / "src/engine/facts/fact.h").read_text()
    groups = {"STAMPED": {"id", "at"}, "CHANGED": {"edited_id", "edited_at", "deleted_id", "deleted_at"}}
    table = source[source.index("#define FACT_TYPES(X)"):source.index("#define STAMPED")].replace("\\\n", " ")
    found = 0
    for name, may in re.findall(r'X\(\w+, "(\w+)",(.*?),', table):
        fields = set(re.findall(r"HAS\((\w+)\)", may))
        for group, members in groups.items():
            fields |= members if group in may else set()
        told = set()
        for kind in ("export", "other"):
            told |= set(SCHEMA["$defs"].get(f"{kind}_{name}", {"properties": {}})["properties"])
        assert told - {"type"} == fields, name
        found += 1
    assert found == 16


def test_of_a_running_server_is_of_one_moment(tmp_path, served):
    lively(served.user(), served)
    first = exported(served.data, "--temp", os.fspath(tmp_path))
    assert first.returncode == 0, first.stderr
    assert not list(tmp_path.iterdir()), "the copy is removed"
    served.stop()

    def facts(text):  # the first line has the newest id
        return text.partition("\n")[2]
    assert facts(exported(served.data).stdout) == facts(first.stdout) != ""


def test_one_users_facts(tmp_path):
    _, data = import_facts(tmp_path, WORLD)
    facts = export_facts(data, "--user", "1")
    assert facts[0]["user_id"] == 1 and not of_type(facts, "post") and not of_type(facts, "webhook")
    for fact in facts[1:-1]:
        assert fact["user_id"] == 1, fact
    assert {fact["type"] for fact in facts[1:-1]} == {"user", "comment", "follow", "read", "history", "reaction", "subscription"}
    assert [fact["key"] for fact in of_type(export_facts(data, "--user", "2"), "post")] == [f"blog:{n}" for n in range(1, 6)]


def packed(how, text):
    if how == "gzip":
        middle = len(text) // 2
        return gzip.compress(text[:middle]) + gzip.compress(text[middle:])
    return subprocess.run(["zstd", "-q", "-c"], input=text, capture_output=True, check=True).stdout


@pytest.mark.parametrize("how", ["gzip", "zstd"])
def test_packed_input_is_taken_as_it_is(tmp_path, how):
    text = lines_of(post(2, f"k{i}", T0 + i) for i in range(20000)).encode()
    path = tmp_path / "facts"
    path.write_bytes(packed(how, text))
    done = tidings("import", os.fspath(path), "--data", os.fspath(tmp_path / "data"))
    assert done.stdout == "20000 facts taken, 0 repeated, 0 refused\n", done.stderr
    path.write_bytes(packed(how, text)[:-20])
    done = tidings("import", os.fspath(path), "--data", os.fspath(tmp_path / "cut"))
    assert done.returncode == 3 and "cannot be read" in done.stderr


def test_standard_input(tmp_path):
    done = subprocess.run([BIN, "import", "-", "--data", os.fspath(tmp_path / "data")], input=lines_of(WORLD), text=True,
                          capture_output=True, env=clean_environment(), check=False)
    assert done.returncode == 0, done.stderr


def many(tmp_path):
    """An export of some pieces."""
    facts = [post(1 + i % 50, f"k{i}", T0 + i) for i in range(8000)]
    facts += [follow(100 + i, 1 + i % 50, T0 + DAY + i) for i in range(8000)]
    facts += [read(100 + i, f"k{i}", T0 + 2 * DAY + i) for i in range(8000)]
    _, data = import_facts(tmp_path, facts, name="source")
    return exported(data).stdout


def test_an_export_that_was_cut_off_goes_on_with_the_whole(tmp_path):
    whole = many(tmp_path)
    done, data = import_facts(tmp_path, [whole[:len(whole) // 2]], name="again")
    assert done.returncode == 3 and "has no end" in done.stderr
    serve = tidings("serve", "--data", os.fspath(data), "--listen", "127.0.0.1:0", TIDINGS_JWT_SECRET="x" * 32)
    assert serve.returncode != 0 and "import into it was interrupted" in serve.stderr
    done, _ = import_facts(tmp_path, [whole], name="again")
    # The half of a line was refused then; it is not asked for again.
    assert done.returncode in (0, 1), done.stderr
    verified(data)


def test_interrupted_it_goes_on(tmp_path):
    whole = many(tmp_path)
    data = tmp_path / "again"
    times = 0
    while True:
        process = subprocess.Popen([BIN, "import", "-", "--data", os.fspath(data)], stdin=subprocess.PIPE,
                                   stdout=subprocess.PIPE, text=True, env=clean_environment())
        part = len(whole) * (times + 1) // 4
        try:
            process.stdin.write(whole[:part])
            process.stdin.flush()
            if times < 3:
                process.send_signal(signal.SIGINT)
            process.stdin.write(whole[part:])
            process.stdin.close()
        except BrokenPipeError:
            pass
        told = process.stdout.read()
        if process.wait() == 0:
            break
        assert process.returncode == 3 and "the same command goes on" in told
        times += 1
        assert times < 10
    assert exported(data).stdout == whole
    verified(data)


def test_another_input_does_not_go_on(tmp_path):
    whole = many(tmp_path)
    import_facts(tmp_path, [whole[:len(whole) // 2]], name="again")
    done, _ = import_facts(tmp_path, WORLD, name="again")
    assert done.returncode == 3 and "another input" in done.stderr


def test_a_hostile_export_leaves_nothing_that_contradicts_itself(tmp_path):
    """Lines of an export out of order, twice, and with each other's ids."""
    _, source = import_facts(tmp_path, WORLD, name="source")
    lines = [json.loads(line) for line in exported(source).stdout.splitlines()]
    inner = lines[1:-1]
    twice = [lines[0], *inner, *reversed(inner), *inner, {"type": "end", "facts": 3 * len(inner)}]
    done, data = import_facts(tmp_path, twice, name="twice")
    assert done.returncode == 1, done.stdout + done.stderr
    verified(data)
    late = [lines[0], *inner, {"type": "user", "user_id": 1, "name": "Late"}, {"type": "end", "facts": len(inner) + 1}]
    done, data = import_facts(tmp_path, late, name="late")
    assert done.returncode == 0, done.stdout + done.stderr
    verified(data)
    ids = [fact["id"] for fact in inner if "id" in fact]
    mixed = [lines[0]]
    for i, fact in enumerate(inner * 3):
        if "id" in fact:
            fact = {name: value for name, value in fact.items() if name != "at"}
            fact["id"] = ids[i * 7 % len(ids)]
        mixed.append(fact)
    done, data = import_facts(tmp_path, [*mixed, {"type": "end", "facts": len(mixed) - 1}], name="mixed")
    assert done.returncode == 1, done.stdout + done.stderr
    verified(data)
    ahead = [lines[0], {**inner[1], "id": 2**53 - 1}, {"type": "end", "facts": 1}]
    ahead[1].pop("at", None)
    done, data = import_facts(tmp_path, ahead, name="ahead")
    assert "future" in done.stderr
