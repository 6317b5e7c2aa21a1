"""Facts as a test writes them, and as the program exports them again."""
import json
import os

from support.server import tidings

DAY = 86_400_000
T0 = 1_700_000_000_000  # in 2023


def exported(data, *more):
    return tidings("export", "--data", os.fspath(data), *more)


def lines_of(facts):
    return "".join(fact if isinstance(fact, str) else json.dumps(fact, ensure_ascii=False) + "\n" for fact in facts)


def import_facts(tmp_path, facts, *more, name="data"):
    """The command's outcome, and the directory."""
    path = tmp_path / f"{name}.ndjson"
    path.write_text(lines_of(facts))
    data = tmp_path / name
    return tidings("import", os.fspath(path), "--data", os.fspath(data), *more), data


def export_facts(data, *more):
    done = exported(data, *more)
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def of_type(facts, kind):
    return [fact for fact in facts if fact["type"] == kind]


def post(author, key, at, **more):
    return {"type": "post", "author_id": author, "key": key, "title": f"Title of {key}", "at": at, **more}


def follow(user, author, at):
    return {"type": "follow", "user_id": user, "author_id": author, "at": at}


def unfollow(user, author, at):
    return {"type": "unfollow", "user_id": user, "author_id": author, "at": at}


def read(user, key, at, **more):
    return {"type": "read", "user_id": user, "post_key": key, "at": at, **more}


def verified(data):
    done = tidings("verify", "--data", os.fspath(data))
    assert done.returncode == 0, done.stdout + done.stderr
    return True
