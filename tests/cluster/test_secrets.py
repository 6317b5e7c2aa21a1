"""What the servers know and nobody else may: passwords of the services, which stand in no log, argument, status or metric, right ones and wrong
ones; and as whom they work: a user of the database who may change rows and nothing else."""
import os
import re
import subprocess
import time
from pathlib import Path

import database
import pytest
from support.server import Server, tidings, wait_until

MYSQL, REDIS, KAFKA = "mysql-Sesame-71", "redis-Sesame-72", "kafka-Sesame-73"  # with-redis is started with the second
SECRETS = (MYSQL, REDIS, KAFKA)
WORKS = "SELECT, INSERT, UPDATE, DELETE"
MAKES_TABLES = "SELECT, INSERT, UPDATE, DELETE, CREATE, ALTER, INDEX"


def give(user, rights, name):
    database.run(f"CREATE USER {user}@localhost IDENTIFIED BY '{MYSQL}'; GRANT {rights} ON {name}.* TO {user}@localhost")


@pytest.fixture
def as_app(monkeypatch):
    """A server's place: a database whose tables somebody else has made, and the user who works there; others get the same."""
    name = f"secrets_{time.monotonic_ns()}"
    database.run(f"CREATE DATABASE {name}")
    give("maker", MAKES_TABLES, name)
    give("app", WORKS, name)
    root = os.environ["TIDINGS_TEST_MYSQL"]
    url = root.replace("/?", f"/{name}?", 1).replace("root@", "app@", 1)
    made = tidings("cluster", "init", "--mysql", url.replace("app@", "maker@", 1), TIDINGS_MYSQL_PASSWORD=MYSQL)
    assert made.returncode == 0, made.stderr
    monkeypatch.setattr("support.server.where", lambda data: ["--engine", "cluster", "--mysql", url])
    monkeypatch.setattr("support.server.make_tables", lambda place: None)
    yield url
    database.run(f"DROP USER maker@localhost; DROP USER app@localhost; DROP DATABASE {name}")


def serve(mysql=MYSQL, redis=REDIS, kafka=KAFKA):
    return Server(arguments=["--redis", os.environ["TIDINGS_TEST_REDIS"], "--kafka", "127.0.0.1:1", "--kafka-sasl", "plain", "--kafka-user", "app"],
                  environment={"TIDINGS_MYSQL_PASSWORD": mysql, "TIDINGS_REDIS_PASSWORD": redis, "TIDINGS_KAFKA_PASSWORD": kafka})


def all_that_shows(server):
    """What is written or can be looked at by others, as one text."""
    process = Path("/proc") / str(server.process.pid)
    admin = server.admin()
    shown = [admin.get("/admin/status"), admin.send("GET", "/v1/admin/metrics").body, admin.send("GET", "/metrics").body, (process / "cmdline").read_bytes()]
    return server.log_text() + "".join(map(str, shown))


def assert_no_secret(text):
    assert not [secret for secret in SECRETS if secret in text]


def test_passwords_are_nowhere_and_rows_are_all_it_may_change(as_app):
    server = serve().start()
    try:
        ann, bob = server.users(2)
        ann.follow(bob)
        post = bob.publish()["id"]
        ann.react(f"/posts/{post}/like")
        ann.comment(post)
        admin = server.admin()
        wait_until(lambda: admin.get("/admin/status")["cluster"]["redis"]["remembers"], "remembering")
        assert ann.check_adds_up() == 1
        assert_no_secret(all_that_shows(server))
        with_password = {"TIDINGS_MYSQL_PASSWORD": MYSQL}
        for command in (("status",), ("status", "--json"), ("reconcile",), ("dead",), ("show", "user", str(ann.id))):
            done = tidings("cluster", *command, "--mysql", as_app, **with_password)
            assert done.returncode == 0, (command, done.stdout, done.stderr)
            assert_no_secret(done.stdout + done.stderr)
        refused = tidings("cluster", "init", "--mysql", as_app.replace("/secrets", "/other"), **with_password)
        assert refused.returncode == 3 and "denied" in refused.stderr, refused.stderr
        assert_no_secret(refused.stderr)
    finally:
        server.close()


def keys_in_redis():
    """Of all nodes."""
    for node in os.environ["TIDINGS_TEST_REDIS"].split(","):
        host, _, port = node.rpartition(":")
        told = subprocess.run(["redis-cli", "-h", host, "-p", port, "--no-auth-warning", "-a", REDIS, "KEYS", "*"], capture_output=True,
                              text=True, check=True).stdout
        yield from filter(None, told.split("\n"))


def test_names_of_keys_have_numbers_and_nothing_that_a_user_wrote(as_app):
    server = serve().start()
    try:
        ann, bob = server.users(2)
        for user in (ann, bob):
            user.expect(200, "PUT", "/v1/users/me", {"name": "Zebra"})
        ann.post("/relation/follow", {"user_id": bob.id}, headers={"Idempotency-Key": "zebra-1"})
        bob.publish(title="Zebra", body="zebra")
        wait_until(lambda: server.admin().get("/admin/status")["cluster"]["redis"]["remembers"], "remembering")
        wait_until(lambda: ann.get("/inbox/badge")["total"] == 1 and list(keys_in_redis()), "there are keys")
        ours = re.compile(r"tidings:(secrets|t)_[0-9a-f]+:\d+:\{\d+\}|ucnt:\d+|uf:(flws|fans):\d+|\{(ucnt|uf:flws|uf:fans):\d+\}:fill")
        assert not [key for key in keys_in_redis() if not ours.fullmatch(key)]
    finally:
        server.close()


def test_wrong_passwords_are_told_of_without_them(as_app):
    server = serve(redis=REDIS + "x", kafka=KAFKA + "x").start()
    try:
        admin = server.admin()
        admin.publish()
        wait_until(lambda: "refuses the user or password" in admin.get("/admin/status")["cluster"]["redis"]["trouble"], "Redis's refusal")
        assert_no_secret(all_that_shows(server))
    finally:
        server.close()
    refused = tidings("serve", "--engine", "cluster", "--mysql", as_app, "--listen", "127.0.0.1:0",
                      TIDINGS_MYSQL_PASSWORD=MYSQL + "x", TIDINGS_JWT_SECRET="x" * 32)
    assert refused.returncode != 0 and "denied" in refused.stderr, refused.stderr
    assert_no_secret(refused.stderr)


def test_a_password_in_the_address_is_refused(as_app):
    done = tidings("cluster", "status", "--mysql", as_app.replace("app@", f"app:{MYSQL}@", 1))
    assert done.returncode == 2
    assert_no_secret(done.stdout + done.stderr)
