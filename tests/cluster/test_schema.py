"""Tables of a later version: an older program does not touch them and says so, and its servers that run already go on, as upgrades without
stopping need it."""
import os
import re
from contextlib import contextmanager
from pathlib import Path

import database
from people import People
from support.server import tidings

COMMANDS = [("cluster", "init"), ("cluster", "status"), ("cluster", "status", "--json"), ("cluster", "reconcile"), ("cluster", "rebuild"),
            ("cluster", "show", "user", "1"), ("cluster", "dead"), ("cluster", "dead", "--retry"), ("cluster", "replay", "kafka", "--since", "1"),
            ("serve", "--listen", "127.0.0.1:0", "--engine", "cluster"), ("verify", "--engine", "cluster")]


@contextmanager
def of_a_later_version(name):
    database.run("INSERT INTO schema_version (version) SELECT MAX(version) + 1 FROM schema_version", name)
    try:
        yield
    finally:
        database.run("DELETE FROM schema_version ORDER BY version DESC LIMIT 1", name)


def sums(name):
    """Of all tables but those in which servers say that they are here."""
    told = {"server", "server_clock", "clock", "lane", "relay", "memory_server", "memory_epoch", "reconciliation", "rebuild"}
    tables = [table for table in database.run("SHOW TABLES", name) if table not in told]
    return database.run("CHECKSUM TABLE " + ", ".join(tables), name)


def test_tables_of_a_later_version_are_not_touched(make_servers):
    (server,) = make_servers(1)
    ann = server.user()
    ann.publish()
    name = database.name_of(server)
    with of_a_later_version(name):
        before = sums(name)
        for command in COMMANDS:
            done = tidings(*command, "--mysql", database.url_of(server), TIDINGS_JWT_SECRET="x" * 32)
            assert done.returncode != 0 and "made by a newer version" in done.stderr, (command, done.returncode, done.stdout, done.stderr)
        assert sums(name) == before
        ann.publish()
        assert len(ann.rows(f"/users/{ann.id}/posts", 10)) == 2, "who runs already goes on"


def test_tables_that_are_not_there_yet_are_asked_for():
    url = os.environ["TIDINGS_TEST_MYSQL"].replace("/?", "/mysql?", 1)
    for command in (("status",), ("dead",), ("show", "user", "1")):
        done = tidings("cluster", *command, "--mysql", url)
        assert done.returncode != 0 and "run `tidings cluster init`" in done.stderr, done.stderr


def test_servers_of_before_go_on_while_every_table_gets_more_columns(make_servers):
    """What an upgrade may do under them: any table gets another column with a default, and there are new tables."""
    servers = make_servers(2)
    name = database.name_of(servers[0])
    with People(servers, 3) as people:
        people.go_on(2)
        for table in database.run("SHOW TABLES", name):
            database.run(f"ALTER TABLE {table} ADD COLUMN of_a_later_version INT NOT NULL DEFAULT 7", name)
        database.run("CREATE TABLE later_table (id INT NOT NULL PRIMARY KEY)", name)
        with of_a_later_version(name):
            people.go_on(3)
    people.is_fine()
    people.check()
    ann, bob = servers[1].users(2)
    story = ann.publish(kind="story")["id"]
    bob.react(f"/posts/{story}/fav")
    bob.comment(story)
    stats = ann.stats("posts", story)
    assert (stats["fav_count"], stats["comment_count"]) == (1, 1)


def test_steps_are_taken_again_while_servers_work(make_servers):
    """All of them, as if the tables were of the first version: each can be taken where it was taken already, and nobody notices."""
    servers = make_servers(2)
    name = database.name_of(servers[0])
    with People(servers, 3) as people:
        people.go_on(2)
        database.run("DELETE FROM schema_version", name)
        done = tidings("cluster", "init", "--mysql", database.url_of(servers[0]))
        assert done.returncode == 0 and done.stdout.startswith("step 1 of"), done.stderr
        people.go_on(2)
    people.is_fine()
    people.check()


def test_every_row_is_written_with_the_names_of_its_columns():
    """So that a table may have more of them; the steps that make the tables know them all."""
    for path in (Path(__file__).parents[2] / "src" / "engine" / "cluster").rglob("*.c"):
        if path.name != "schema.c":
            assert not re.findall(r"(?:INSERT|REPLACE) INTO [\w%]+ (?:SELECT|VALUES)", path.read_text(encoding="utf-8")), path
