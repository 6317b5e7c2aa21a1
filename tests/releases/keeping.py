"""What is kept of a release, and what is asked of it. An archive has

    closed/      a data directory after a server that ended in order
    killed/      one after kill -9: its last changes are in the log alone
    backup/      of a running server
    facts.jsonl  of `tidings export`
    answers.json what the server answered, by request

The demo community is in it, which has something of everything, and a webhook.
"""
import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, os.fspath(HERE.parent / "http"))

from support.server import BIN, Server, clean_environment, tidings  # noqa: E402

PEOPLE = range(1, 7)
OF_EVERYBODY = ("/inbox/badge", "/inbox/unread", "/inbox?limit=100", "/history?limit=100", "/me/likes", "/me/favs", "/reading", "/subscriptions",
                "/notifications?limit=100", "/settings", "/relation/following", "/relation/followers")
KINDS = ("note", "activity", "story")
# Tokens and positions that a server makes anew, and what is said about the moment.
PASSING = {"as_of", "next_cursor", "version", "state", "position", "waiting_since", "failing_since", "attempts", "retry_at", "failed", "dead"}


def lasting(value):
    """An answer without what passes."""
    if isinstance(value, dict):
        return {name: lasting(member) for name, member in value.items() if name not in PASSING}
    return [lasting(member) for member in value] if isinstance(value, list) else value


def is_within(kept, now):
    """Whether all that was answered then is answered now. Later versions may say more."""
    if isinstance(kept, dict):
        return isinstance(now, dict) and all(name in now and is_within(member, now[name]) for name, member in kept.items())
    if isinstance(kept, list):
        return isinstance(now, list) and len(kept) == len(now) and all(map(is_within, kept, now))
    return kept == now


def ask_everything(server):
    """{request: answer}, of everybody and about every post."""
    answers = {}

    def ask(actor, name, path):
        answers[f"{name} {path}"] = lasting(actor.get(path))
        return answers[f"{name} {path}"]

    people = {user_id: server.service(acting_for=user_id) for user_id in PEOPLE}
    for user_id, actor in people.items():
        for path in OF_EVERYBODY:
            ask(actor, user_id, path)
    reader = people[1]
    posts = [item["post_id"] for kind in KINDS for item in ask(reader, 1, f"/hot?kind={kind}&limit=100")["items"]]
    for post_id in posts:
        post = ask(reader, 1, f"/posts/{post_id}")
        ask(reader, 1, f"/posts/{post_id}/comments?include_hidden=1&limit=100")
        if post["kind"] == "story":
            for scene in ask(reader, 1, f"/stories/{post_id}/scenes?limit=100")["items"]:
                ask(reader, 1, f"/scenes/{scene['id']}")
    ask(server.admin(), "admin", "/admin/webhooks")
    return answers


def answers_of(directory):
    server = Server(data=os.fspath(directory)).start()
    try:
        return ask_everything(server)
    finally:
        server.close()


def must(done):
    assert done.returncode == 0, done.stderr
    return done


# ---- Making one ----

def fill_demo(directory):
    process = subprocess.Popen([BIN, "serve", "--dev", "--data", directory, "--listen", "127.0.0.1:0"], env=clean_environment(),
                               stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    for line in process.stdout:
        if "Ctrl-C" in line:
            break
    process.send_signal(signal.SIGTERM)
    process.communicate()
    assert process.returncode == 0


def change_more(server):
    """What the demo has not: a webhook, an edit, a preference, changes that only the log has."""
    server.admin().expect(200, "PUT", "/v1/admin/webhooks/kept", {"url": "https://push.example/", "secret": "0123456789abcdef" * 2,
                                                                  "disabled": True})
    ann = server.service(acting_for=2)
    post = ann.publish("Kept", "Of a release.")
    ann.expect(200, "PATCH", f"/v1/posts/{post['id']}", {"title": "Kept, and edited"})
    server.service(acting_for=1).react(f"/posts/{post['id']}/fav")


def make(directory):
    """Fills a directory with what is kept."""
    data = directory / "closed"
    fill_demo(data)
    (data / "backups").rmdir()
    server = Server(data=os.fspath(data)).start()
    try:
        change_more(server)
        (directory / "answers.json").write_text(json.dumps(ask_everything(server), ensure_ascii=False, indent=1, sort_keys=True))
        must(tidings("backup", os.fspath(directory / "backup"), "--data", os.fspath(data)))
        must(tidings("export", "--data", os.fspath(data), "--to", os.fspath(directory / "facts.jsonl")))
        server.kill()
        shutil.copytree(data, directory / "killed")
        server.start().stop()
    finally:
        server.close()
