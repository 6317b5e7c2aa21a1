"""Rows that somebody or something has damaged: each column of each table in turn is cut short, emptied, flipped or set to what cannot be. A
server that reads it answers with an error that says so, or as before, or verify finds what it answers otherwise; nothing ends it, and in
every answer the total is the sum of the authors."""
import hashlib
import os
import random
import subprocess

import database
from support.server import tidings, wait_until
from support.sse import Stream

SEED = int(os.environ.get("SEED", "1"))
ALL = "ALL" in os.environ  # every damage of each column; otherwise some that the seed draws

# What is told by nothing else: another title is another title, another user's comment another user's, and nobody can say that it was not meant.
FACTS = {
    "profile.name", "profile.avatar", "profile.extra", "post.title", "post.excerpt", "post.extra", "post.edited", "post_body.body", "scene.title",
    "scene.edited", "scene_messages.messages", "comment.user_id", "reaction.user_id", "profile.user_id", "user.version", "comment_body.body", "comment.moderated", "reaction.stamp", "history.stamp", "history.post_id",
    "user.quiet", "user.history_cleared", "user.reading_cleared", "user.follow_full_at", "user.react_full_at", "user.comment_full_at",
    "user.publish_full_at", "webhook.name", "webhook.record", "webhook.created", "clock.elapsed_ms",
}
FACT_TABLES = {"reading_position", "outbox_event", "idempotency", "passing_news", "schema_version", "secret", "server", "server_clock", "lane",
               "news_position", "memory_epoch", "memory_server", "relay", "dead_letter", "rules"}


def plant_key(name, post, key):
    """As an import leaves it."""
    digest = hashlib.sha256(key.encode()).digest()
    high, low = (int.from_bytes(digest[n:n + 8], "big") for n in (0, 8))
    database.run(f"INSERT INTO post_key VALUES ({post}, '{key}'); INSERT INTO imported_key VALUES (112, {high}, {low}, {post}, '{key}')", name)


def populate(server):
    """A little of everything; {what the paths of questions call it: what there is}."""
    ann, bob, carl = server.users(3)
    for fan, author in ((ann, bob), (ann, carl), (carl, bob)):
        fan.follow(author)
    posts = [bob.publish(f"Post {n}")["id"] for n in range(5)] + [carl.publish()["id"]]
    story = bob.story()
    ann.subscribe(story)
    scenes = [bob.scene(story)["id"] for _ in range(3)]
    bob.delete(posts[1])
    bob.expect(204, "DELETE", f"/v1/scenes/{scenes[1]}")
    ann.open(posts[0], headers={"Idempotency-Key": "one"})
    carl.open(posts[2])
    for fan in (ann, carl):
        fan.react(f"/posts/{posts[0]}/like")
    ann.react(f"/posts/{posts[2]}/fav")
    comment = ann.comment(posts[0])["id"]
    carl.react(f"/comments/{comment}/like")
    carl.comment(posts[0], parent_id=comment)
    ann.read_to(story, scene_id=scenes[0])
    bob.expect(200, "PUT", "/v1/users/me", {"name": "Bob"})
    for n, post in enumerate(posts[:3]):
        plant_key(database.name_of(server), post, f"blog:{n}")
    return {"actors": (ann, bob, carl), "user_id": bob.id, "post_id": posts[0], "post_ids": posts, "comment_id": comment, "story_id": story,
            "scene_id": scenes[0]}


def questions(world):
    """(who, path) of what anybody may ask."""
    every = [
        f"/relation/status?user_id={world['user_id']}", "/relation/following", f"/relation/followers?user_id={world['user_id']}",
        f"/relation/counter?user_id={world['user_id']}", f"/users?ids={world['user_id']}", "/users/search?prefix=bo",
        f"/users/{world['user_id']}", f"/users/{world['user_id']}/posts", "/posts/by-key?key=blog:0", "/posts/by-key?key=blog:2", "/posts?ids=" + ",".join(map(str, world["post_ids"])),
        "/posts/stats?ids=" + ",".join(map(str, world["post_ids"])), *(f"/posts/{post}" for post in world["post_ids"]), "/inbox",
        "/inbox?filter=unread", "/inbox/badge", "/inbox/unread", "/history", f"/posts/{world['post_id']}/likes", "/me/likes", "/me/favs",
        "/me/likes?target=comment", "/hot", f"/posts/{world['post_id']}/comments", f"/posts/{world['post_id']}/comments?sort=hot",
        f"/comments/{world['comment_id']}/likes", f"/comments/{world['comment_id']}/stats", f"/stories/{world['story_id']}/scenes",
        f"/scenes/{world['scene_id']}", "/subscriptions", "/reading", "/notifications", "/settings",
    ]
    return [(actor, path) for actor in world["actors"] for path in every]


def without_moments(body):
    """What an answer says, but for the moment that it is of."""
    if isinstance(body, dict):
        return {name: without_moments(value) for name, value in body.items() if name not in ("as_of", "heat", "score", "sync")}
    return [without_moments(one) for one in body] if isinstance(body, list) else body


def ask(server, world):
    """All answers."""
    answers = {}
    for actor, path in questions(world):
        try:
            answer = actor.send("GET", "/v1" + path)
            answers[actor.id, path] = (answer.status, without_moments(answer.json) if answer.status == 200 else answer.json["code"])
        except OSError as error:
            raise AssertionError(f"{path}: {error}: {server.log_text()[-3000:]}") from error
        except AssertionError as misfit:  # an id of 0, for example
            answers[actor.id, path] = (0, str(misfit))
    for actor in world["actors"]:
        (status, badge), (same, unread) = (answers[actor.id, path] for path in ("/inbox/badge", "/inbox/unread"))
        if (status, same) == (200, 200):
            assert badge["total"] == unread["total"] == sum(row["unread"] for row in unread["authors"]), unread
    assert server.process.poll() is None, server.log_text()[-3000:]
    return answers


def columns(name):
    """(table, column, type) of all tables that have rows."""
    rows = database.run("SELECT table_name, column_name, data_type FROM information_schema.columns WHERE table_schema = "
                        f"'{name}' ORDER BY table_name, ordinal_position")
    full = {row[0] for row in map(str.split, database.run(
        "SELECT table_name FROM information_schema.tables WHERE table_schema = '%s' AND table_type = 'BASE TABLE'" % name))
            if database.run(f"SELECT 1 FROM {row[0]} LIMIT 1", name)}
    return [row.split("\t") for row in rows if row.split("\t")[0] in full]


def damages(column, kind):
    """What may be made of it, as an expression."""
    if "blob" in kind or "binary" in kind:
        half = f"LEFT({column}, LENGTH({column}) DIV 2)"
        flipped = f"INSERT({column}, 1, 1, CHAR(ASCII({column}) ^ 129 USING binary))"
        return [half, "x''", "x'ff'", f"CONCAT({column}, x'00ff00ff')", flipped, "REPEAT(x'ff', 64)"]
    if "char" in kind or "text" in kind:
        return [f"LEFT({column}, 1)", f"CONCAT({column}, {column})"]
    if kind == "datetime":
        return ["'1971-01-01'", "'2037-01-01'"]
    return ["0", "1", f"{column} + 1", f"GREATEST({column}, 1) - 1", "127"] + ["9007199254740991"] * (kind == "bigint")


def verify(server):
    """Whether it finds nothing."""
    done = tidings("cluster", "reconcile", "--check", "--mysql", database.url_of(server))
    assert done.returncode in (0, 1, 3), (done.returncode, done.stdout, done.stderr)
    return done.returncode == 0


class Damage:
    """One table with one column of one of its rows made something else, for a while."""

    def __init__(self, name, table, column, expression):
        self.name, self.table = name, table
        self.said = f"UPDATE IGNORE {table} SET {column} = {expression}"

    def __enter__(self):
        database.run(f"CREATE TABLE kept.{self.table} LIKE {self.table}; INSERT INTO kept.{self.table} SELECT * FROM {self.table}; "
                     f"{self.said} ORDER BY RAND({SEED}) LIMIT 1", self.name)
        return self

    def __exit__(self, *_):
        database.run(f"START TRANSACTION; DELETE FROM {self.table}; INSERT INTO {self.table} SELECT * FROM kept.{self.table}; COMMIT; "
                     f"DROP TABLE kept.{self.table}", self.name)


# Rows that running servers change by themselves: what they hold meanwhile must not be put back.
LIVING = {"server", "server_clock", "lane", "clock", "news_position", "memory_epoch", "memory_server", "relay", "passing_news", "secret",
          "schema_version", "outbox_event"}


def is_fact(table, column):
    return table in FACT_TABLES or f"{table}.{column}" in FACTS


def test_a_damaged_row_is_an_error_or_found(make_servers):
    (server,) = make_servers(1)
    world = populate(server)
    name = database.name_of(server)
    database.run("CREATE DATABASE kept")
    good = ask(server, world)
    assert not {question: answer for question, answer in good.items() if answer[0] not in (200, 404, 410)}
    assert verify(server)
    draw = random.Random(SEED)
    wrong, tried, errors = [], 0, 0
    every = [(table, column, expression) for table, column, kind in columns(name) if table not in LIVING for expression in damages(column, kind)
             if (table, expression) != ("post_body", "0")]  # nobody's key, and verify begins behind it
    for table, column, expression in every if ALL else draw.sample(every, 40):
        with Damage(name, table, column, expression) as damage:
            print(damage.said)
            server.restart()
            answers = ask(server, world)
            tried += 1
            errors += any(status == 500 for status, _ in answers.values())
            assert not {question: answer for question, answer in answers.items() if answer[0] not in (0, 200, 404, 410, 500)}, damage.said
            other = [(path, good[who, path], answer) for (who, path), answer in answers.items() if answer != good[who, path] and answer[0] != 500]
            if other and not is_fact(table, column) and verify(server):
                wrong.append((damage.said, other[0]))
    server.restart()
    assert ask(server, world) == good and verify(server)
    database.run("DROP DATABASE kept")
    assert tried >= 40 and errors
    assert not wrong, "\n".join(map(str, wrong))


def with_redis():
    return {"arguments": ["--redis", os.environ["TIDINGS_TEST_REDIS"]],
            "environment": {"TIDINGS_REDIS_PASSWORD": os.environ.get("TIDINGS_TEST_REDIS_PASSWORD")}}


def tell_of(name, event_type, reaction=0):
    """An event as another server commits one."""
    database.run("START TRANSACTION; UPDATE news_position SET position = position + 1; INSERT INTO outbox_event (position, event_type, "
                 "happened_at, actor_id, target_id, author_id, delta, post_id, reaction, slot) SELECT position, "
                 f"{event_type}, UNIX_TIMESTAMP() * 1000, 7, 7, 7, 0, 0, {reaction}, 99 FROM news_position; COMMIT", name)


def test_events_that_nobody_knows_hold_nobody_up(make_servers):
    """Of a later version's type, or damaged: those who read on get all others, in pages of one, too; those who watch go on."""
    first, second = make_servers(2, **with_redis())
    name = database.name_of(first)
    ann, bob = first.users(2)
    service = second.service()
    ann.follow(bob)
    with Stream(second, ann.bearer) as stream:
        for event_type, reaction in ((200, 0), (0, 0), (255, 9), (1, 77)):
            tell_of(name, event_type, reaction)
            stream.until("post", post_id=bob.publish()["id"])
    read, after = [], 0
    while True:
        page = service.get("/events", after=after, limit=1)["items"]
        if not page:
            break
        read.append(page[0]["type"])
        after = page[0]["event_id"]
    assert read == ["FollowCreated"] + ["PostPublished"] * 4
    database.run("DELETE FROM outbox_event WHERE slot = 99", name)


def test_news_that_is_too_long_is_not_taken(make_servers):
    """What is told in passing, with more events than any server writes, cut short, or of nothing."""
    (server,) = make_servers(1)
    name = database.name_of(server)
    ann, bob = server.users(2)
    ann.follow(bob)

    def tells(stream):
        """Of a post that comes in one round with what cannot be read only the badge is told."""
        try:
            return stream.until("post", patience=5, post_id=bob.publish()["id"])
        except AssertionError:
            return None
    with Stream(server, ann.bearer) as stream:
        for batch, events in enumerate(("REPEAT(x'00', 200000)", "REPEAT(x'0B00000000000000001001010101000000000000', 20000)", "x'ff'", "x''"), 1):
            database.run(f"START TRANSACTION; INSERT INTO passing_news VALUES (99, 0, 1, {batch}, NOW(3), {events}); "
                         f"REPLACE INTO lane VALUES (9, 0, 1, {batch}); UPDATE passing_news SET slot = 9 WHERE slot = 99; COMMIT", name)
            wait_until(lambda: tells(stream), "posts are told of again")
    database.run("DELETE FROM lane WHERE slot = 9", name)


def redis_cli(*words):
    """On whoever has the key."""
    port = os.environ["TIDINGS_TEST_REDIS"].split(",")[0].rpartition(":")[2]
    return subprocess.run(["redis-cli", "-c", "-p", port, *words], capture_output=True, text=True, check=True,
                          env={**os.environ, "REDISCLI_AUTH": os.environ.get("TIDINGS_TEST_REDIS_PASSWORD", "")}).stdout


def test_foreign_values_under_our_keys_change_no_answer(make_servers):
    (server,) = make_servers(1, **with_redis())
    name = database.name_of(server)
    ann, bob = server.users(2)
    ann.follow(bob)
    admin = server.admin()
    remembers = lambda: admin.get("/admin/status")["cluster"]["redis"]["remembers"]  # noqa: E731
    unread = 0
    for value in (["set", "C"], ["set", "C x 1 1"], ["set", "C " + "9" * 400], ["set", ""], ["set", "M"], ["set", "\xff\xfe"], ["set", "x" * 100_000],
                  ["rpush", "C"], ["hset", "a", "b"], ["set", "C {run} 18446744073709551615 1"], ["set", "C {run} 1 18446744073709551616"],
                  ["set", "C {run} -1 1"]):
        wait_until(remembers, "remembering")
        assert ann.check_adds_up() == unread
        epoch = database.run("SELECT epoch FROM memory_epoch", name)[0]
        key = f"tidings:{name}:{epoch}:{{{ann.id}}}"
        run = (redis_cli("get", key).split() or ["", ""])[1:2]
        redis_cli("del", key)
        redis_cli(value[0], key, *(word.replace("{run}", run[0] if run else "") for word in value[1:]))
        assert ann.check_adds_up() == unread, value
        bob.publish()
        unread += 1
        wait_until(lambda: ann.badge() == unread, f"the next post, after {value}")
        ann.open(ann.inbox(filter="unread")[0]["post_id"])
        unread -= 1
        assert ann.check_adds_up() == unread, value
