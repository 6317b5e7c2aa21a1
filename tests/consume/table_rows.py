"""The tables as somebody else reads them, and what they must say: by the API's answers and an export of facts, both of which know
nothing of the tables."""
import json
import os
import random
import re
import socket
import subprocess
import tempfile
from datetime import datetime, timedelta, timezone
from pathlib import Path

from support.server import tidings, wait_until

ROOT = Path(__file__).resolve().parents[2]

SOCKET = re.search(r"socket=([^&]*)", os.environ.get("TIDINGS_TEST_MYSQL", "socket=none")).group(1)
FAST = {"react_burst": 1_000_000, "comment_burst": 1_000_000, "follow_burst": 1_000_000}


def control(word):
    with socket.socket(socket.AF_UNIX) as client, client.makefile("rw") as lines:
        client.connect(os.environ["TIDINGS_TEST_MYSQL_CONTROL"])
        lines.write(word + "\n")
        lines.flush()
        assert lines.readline() == "ok\n"


def url_of(database, user="root"):
    return f"mysql://{user}@localhost/{database}?socket={SOCKET}"


def sql(database, text, user="root"):
    """The rows of the last statement, as texts; NULL is None."""
    done = subprocess.run(["mariadb", "--no-defaults", f"--socket={SOCKET}", f"--user={user}", "--batch", "--skip-column-names",
                           database], input=text, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return [tuple(None if field == "NULL" else field for field in line.split("\t")) for line in done.stdout.splitlines()]


def numbers(database, text):
    return [tuple(int(field) for field in row) for row in sql(database, text)]


def place(database):
    """position, state, differences of the last comparison; (0, "", 0) before there is a row."""
    try:
        rows = sql(database, "SELECT position,state,differences FROM tidings_tables")
    except AssertionError:
        rows = []
    return (int(rows[0][0]), rows[0][1], int(rows[0][2])) if rows else (0, "", 0)


def last_event(server):
    admin = server.admin()
    after = 0
    while True:
        page = admin.get("/events", limit=100, after=after)
        if not page["items"]:
            admin.close()
            server.actors.remove(admin)
            return after
        after = page["next_after"]


def catch_up(server, database, patience=60):
    """Until the tables have everything that was acknowledged."""
    last = last_event(server)
    wait_until(lambda: place(database)[0] >= last and place(database)[1] == "ready", "the tables are there", patience)


def ms(text):
    """Of a DATETIME(3)."""
    at = datetime.strptime(text, "%Y-%m-%d %H:%M:%S.%f").replace(tzinfo=timezone.utc)
    return (at - datetime(1970, 1, 1, tzinfo=timezone.utc)) // timedelta(milliseconds=1)


# ---- Traffic ---------------------------------------------------------------------------------------------------------


class Traffic:
    """People who do at random what changes the tables. What is refused, since it is gone or was so, is refused."""

    def __init__(self, server, seed, people=5):
        self.random = random.Random(seed)
        self.ids = [actor.id for actor in server.users(people)]
        self.at(server)
        self.posts, self.comments = [], []
        for _ in range(4):
            self.publish()

    def at(self, server):
        """From now on it is this server that they talk to."""
        self.server = server
        self.people = [server.user(user) for user in self.ids]
        self.admin = server.admin()

    def publish(self):
        kind = self.random.choice(["note", "activity", "story"])
        self.posts.append(self.random.choice(self.people).publish(kind=kind)["id"])

    def comment(self):
        post = self.random.choice(self.posts)
        parents = [None] + [comment for comment, of in self.comments if of == post]
        body = {"body": "A comment"}
        parent = self.random.choice(parents)
        if parent:
            body["parent_id"] = parent
        answer = self.random.choice(self.people).send("POST", f"/v1/posts/{post}/comments", body)
        if answer.status == 201:
            self.comments.append((answer.json["id"], post))

    def react(self):
        one = self.random.choice(self.people)
        verb = self.random.choice(["PUT", "PUT", "DELETE"])
        if self.comments and self.random.random() < 0.5:
            what = self.random.choice(["like", "downvote", "downvote"])
            path = f"/comments/{self.random.choice(self.comments)[0]}/{what}"
        else:
            path = f"/posts/{self.random.choice(self.posts)}/{self.random.choice(['like', 'fav'])}"
        assert one.send(verb, "/v1" + path).status in (200, 410)

    def follow(self):
        one, other = self.random.sample(self.people, 2)
        (one.follow if self.random.random() < 0.6 else one.unfollow)(other)

    def moderate(self):
        if self.comments:
            comment = self.random.choice(self.comments)[0]
            verb, path = self.random.choice([("POST", "/hide"), ("POST", "/restore"), ("DELETE", "")])
            assert self.admin.send(verb, f"/v1/comments/{comment}{path}").status in (200, 204, 410)

    def remove(self):
        if len(self.posts) > 3:
            assert self.admin.send("DELETE", f"/v1/posts/{self.random.choice(self.posts)}").status in (204, 410)

    def do(self, n):
        for _ in range(n):
            self.random.choices([self.publish, self.comment, self.react, self.follow, self.moderate, self.remove],
                                [2, 8, 20, 8, 2, 0.3])[0]()


# ---- What they must say ----------------------------------------------------------------------------------------------


def facts_of(server):
    path = os.path.join(tempfile.gettempdir(), f"facts-{os.getpid()}-{os.path.basename(server.data)}.ndjson")
    done = tidings("export", path, "--data", server.data)
    assert done.returncode == 0, done.stderr
    try:
        with open(path, encoding="utf-8") as file:
            return [json.loads(line) for line in file]
    finally:
        os.unlink(path)


def check_follows(server, database, facts):
    """S3's own queries: the list of a user, newest first, and whether somebody follows."""
    wanted = {(fact["user_id"], fact["author_id"]): fact for fact in facts if fact["type"] == "follow" and "id" in fact}
    for table in ("following", "follower"):
        found = sql(database, "SELECT from_user_id,to_user_id,id,created_at,updated_at FROM " + table + " WHERE rel_status=1")
        assert {(int(row[0]), int(row[1])): (int(row[2]), ms(row[3])) for row in found} == \
            {pair: (fact["id"], fact["at"]) for pair, fact in wanted.items()}
        assert not sql(database, f"SELECT 1 FROM {table} WHERE rel_status NOT IN (0,1)")
    assert sql(database, "SELECT * FROM following a JOIN follower b USING (id) WHERE NOT (a.from_user_id<=>b.from_user_id AND "
               "a.to_user_id<=>b.to_user_id AND a.rel_status<=>b.rel_status AND a.created_at<=>b.created_at AND "
               "a.updated_at<=>b.updated_at)") == []
    admin = server.admin()
    for user in {pair[0] for pair in wanted}:
        rows = numbers(database, f"SELECT to_user_id FROM following WHERE from_user_id={user} AND rel_status=1 "
                                 "ORDER BY created_at DESC, id DESC")
        assert [row[0] for row in rows] == [row["user_id"] for row in server.user(user).rows("/relation/following", 100)]
        mutual = numbers(database, "SELECT a.to_user_id FROM following a JOIN follower b ON b.to_user_id=a.from_user_id AND "
                                   f"b.from_user_id=a.to_user_id AND b.rel_status=1 WHERE a.from_user_id={user} AND a.rel_status=1")
        for other, in mutual:
            assert server.user(user).get("/relation/status", user_id=other)["mutual"]
    admin.close()


def check_reactions(database, facts):
    kinds = kinds_of(facts)
    wanted = {(fact["user_id"], "COMMENT" if "comment_id" in fact else kinds[fact["post_id"]],
               fact.get("comment_id") or fact["post_id"], fact["reaction"].upper(), fact["at"])
              for fact in facts if fact["type"] == "reaction"}
    found = sql(database, "SELECT user_id,target_type,target_id,type,created_at FROM yl_reaction")
    assert {(int(row[0]), row[1], int(row[2]), row[3], ms(row[4])) for row in found} == wanted
    assert len(found) == len(wanted)


def kinds_of(facts):
    return {fact["id"]: "ACTIVITY" if fact.get("kind") == "activity" else "CONTENT" for fact in facts if fact["type"] == "post"}


def check_comments(database, facts):
    kinds = kinds_of(facts)
    wanted = {(fact["id"], kinds[fact["post_id"]], fact["post_id"], fact.get("parent_id"), fact["user_id"],
               fact.get("status", "visible").upper(), fact["at"]) for fact in facts if fact["type"] == "comment"}
    found = sql(database, "SELECT id,target_type,target_id,parent_id,user_id,status,created_at FROM yl_comment")
    assert {(int(row[0]), row[1], int(row[2]), row[3] and int(row[3]), int(row[4]), row[5], ms(row[6])) for row in found} == wanted
    assert len(found) == len(wanted)


def check_counts(server, database, facts):
    """S4's counts against the API's answers; of what is deleted, too, which an admin may see."""
    admin = server.admin()
    kinds = kinds_of(facts)
    for kind, table, key in ("CONTENT", "yl_content_stats", "content_id"), ("ACTIVITY", "yl_activity_stats", "activity_id"):
        found = {row[0]: row[1:] for row in numbers(
            database, f"SELECT {key},like_count,fav_count,comment_count,hot_score FROM {table}")}
        wanted = {}
        for post in [post for post in kinds if kinds[post] == kind]:
            stats = admin.stats("posts", post)
            wanted[post] = tuple(stats[name] for name in ("like_count", "fav_count", "comment_count", "hot_score"))
        assert found == wanted
    found = {row[0]: row[1:] for row in numbers(
        database, "SELECT comment_id,like_count,down_count,reply_count,hot_score FROM yl_comment_stats")}
    wanted = {}
    for comment in [fact["id"] for fact in facts if fact["type"] == "comment"]:
        stats = admin.stats("comments", comment)
        wanted[comment] = tuple(stats[name] for name in ("like_count", "down_count", "reply_count", "hot_score"))
    assert found == wanted
    admin.close()


def check_outbox(server, database):
    """One row for each event that has other words, with these as its payload."""
    admin, events, after = server.admin(), {}, 0
    while True:
        page = admin.get("/events", limit=100, after=after)
        if not page["items"]:
            break
        events.update({event["event_id"]: event["yl"] for event in page["items"] if "yl" in event})
        after = page["next_after"]
    admin.close()
    rows = sql(database, "SELECT id,event_type,payload,status,created_at FROM yl_outbox_event")
    assert {int(row[0]): json.loads(row[2]) for row in rows} == events
    for row in rows:
        assert row[1] == events[int(row[0])]["event_type"] and ms(row[4]) == events[int(row[0])]["happened_at"]


def check(server, database, catch=True):
    if catch:
        catch_up(server, database)
    facts = facts_of(server)
    check_follows(server, database, facts)
    check_reactions(database, facts)
    check_comments(database, facts)
    check_counts(server, database, facts)
    check_outbox(server, database)
    return facts
