"""What servers of one log refuse: each refusal says what to do, ends the program with its code, and changes nothing."""
import os
import shutil
import socket
import time

import pytest

from conftest import leave, peer_port, replica, sql, url_of, wait_for_all, wait_for_rejoin, wait_for_role, writer_of
from support.server import tidings, wait_until


def serve(directory, server, *arguments):
    """Started by hand, with the arguments of that server; what became of it."""
    return tidings("serve", "--data", directory, "--listen", "127.0.0.1:0", *(arguments or server.arguments),
                   TIDINGS_JWT_SECRET=server.secret)


def refused(done, *words):
    assert done.returncode in (2, 3), (done.returncode, done.stderr)  # wrong settings; it cannot work
    for word in words:
        assert word in done.stderr, done.stderr


def listed(directory):
    """Names and sizes of all files but those that opening makes anew."""
    return {os.path.join(at, name): os.path.getsize(os.path.join(at, name))
            for at, _, names in os.walk(directory) for name in names if name not in ("lock", "data.mdb-lock")}


def stopped(server):
    leave(server)
    server.stop()


def exported(server):
    done = tidings("export", "--data", server.data, "-")
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture
def pair(make_servers):
    """Two servers, the second is stopped; both have a post."""
    first, second = make_servers(2)
    wait_for_role(first, "writer")
    first.user(1).publish(title="kept")
    wait_for_all([first, second])
    stopped(second)
    return first, second


SETTINGS = [
    ("max_allowed_packet", "16777216", "67108864", "max_allowed_packet=64M"),
    ("innodb_flush_log_at_trx_commit", "2", "1", "innodb_flush_log_at_trx_commit=1"),
    ("read_only", "1", "0", "read_only"),
    ("binlog_format", "'STATEMENT'", "'MIXED'", "binlog_format=ROW"),
]


@pytest.mark.parametrize("name, wrong, right, words", SETTINGS)
def test_a_mysql_that_is_set_otherwise(pair, name, wrong, right, words):
    first, second = pair
    before = listed(second.data)
    sql(first, f"SET GLOBAL {name}={wrong}")
    try:
        refused(serve(second.data, first), words)
    finally:
        sql(first, f"SET GLOBAL {name}={right}")
    assert listed(second.data) == before
    second.start()
    second.user(1).publish(title="and this")
    wait_for_all([first, second])


@pytest.mark.parametrize("version, words", [(99, ("newer than this program's", "use the newer program")),
                                            (1, ("older than this program's", "use the program that made them"))])
def test_tables_of_another_program(pair, version, words):
    first, second = pair
    own = sql(first, "SELECT CAST(value AS UNSIGNED) FROM tidings_setting WHERE name='schema'")
    if int(own) == version:
        pytest.skip("there is no older version")
    sql(first, f"UPDATE tidings_setting SET value={version} WHERE name='schema'")
    try:
        refused(serve(second.data, first), *words)
    finally:
        sql(first, f"UPDATE tidings_setting SET value={own} WHERE name='schema'")
    second.start()
    wait_for_all([first, second])


def test_a_part_of_a_log(pair):
    first, second = pair
    sql(first, "CREATE TABLE kept AS SELECT * FROM tidings_setting; DELETE FROM tidings_setting")
    try:
        refused(serve(second.data, first), "a part of a log", "restore all tables")
    finally:
        sql(first, "INSERT INTO tidings_setting SELECT * FROM kept; DROP TABLE kept")
    second.start()
    wait_for_all([first, second])


def test_two_servers_on_one_directory(pair):
    first, second = pair
    second.start()
    refused(serve(second.data, second), "another process uses this data directory")
    second.user(1).publish()
    wait_for_all([first, second])


def test_following_a_server_and_a_log(pair):
    first, second = pair
    refused(serve(second.data, first, *first.arguments, "--follow", "tidings://127.0.0.1:1"), "follow and mysql cannot")
    second.start()


def test_a_database_that_is_not_there(pair):
    first, second = pair
    refused(serve(second.data, first, "--mysql", url_of(first).replace("/replicas_", "/nothing_", 1)), "nothing_")
    second.start()
    wait_for_all([first, second])


def test_the_log_of_another_community(pair, make_servers):
    first, second = pair
    stranger, = make_servers(1)
    wait_for_role(stranger, "writer")
    stranger.user(5).publish(title="elsewhere")
    before = listed(second.data)
    refused(serve(second.data, stranger), "another cluster", "empty directory")
    assert listed(second.data) == before
    second.start()
    wait_for_all([first, second])


# ---- A directory that was a lone server meanwhile ------------------------------------------------

def alone(server, title):
    """Without the log, for one post."""
    arguments, server.arguments = server.arguments, []
    server.start()
    post = server.user(1).publish(title=title)["id"]
    stopped(server)
    server.arguments = arguments
    return post


def test_a_directory_that_went_on_alone_brings_its_changes_if_nobody_else_did(pair):
    first, second = pair
    stopped(first)
    alone(second, "alone")
    second.start()
    wait_for_role(second, "writer")
    first.start()
    wait_for_all([first, second])
    assert [row["title"] for row in first.user(1).rows("/users/1/posts")] == ["alone", "kept"]


def test_a_directory_that_went_on_alone_beside_the_others_drops_nothing_in_silence(pair):
    first, second = pair
    lost = alone(second, "alone")
    kept = first.user(1).publish(title="together")["id"]
    position = replica(first)["position"]
    second.start()
    wait_for_rejoin(second)
    wait_for_all([first, second])
    assert replica(first)["position"] == position
    aside = [name for name in os.listdir(second.data) if name.startswith("diverged-")]
    assert len(aside) == 2, aside  # what it alone had, and the list of that
    assert "dropped: position " in second.log_text()
    ids = [row["post_id"] for row in second.user(1).rows("/users/1/posts")]
    assert kept in ids and lost not in ids


def test_a_record_that_cannot_be_applied_stops_one_server_alone(pair):
    """It answers reads at once, with their age, and is not ready."""
    first, second = pair
    first.user(2).publish(title="damaged in the log")
    sql(first, "UPDATE tidings_log SET bytes=CONCAT(x'ff',SUBSTRING(bytes,2)) ORDER BY position DESC LIMIT 1")
    stopped(first)
    kept = exported(second)
    first.start()
    wait_for_role(first, "writer")
    second.start()
    told = wait_until(lambda: replica(second)["following"]["trouble"], "it says what is wrong")
    reader = second.user(1)
    for _ in range(3):
        began = time.monotonic()
        answer = reader.send("GET", "/v1/users/1/posts")
        assert answer.status == 200 and int(answer.headers["tidings-age"]) > 0
        assert time.monotonic() - began < 1, told
    assert second.client().request("GET", "/readyz", b"", {}).status == 503
    first.user(1).publish(title="others go on")
    stopped(second)
    assert exported(second) == kept


# ---- Whoever is not one of the servers ------------------------------------------------------------

NOISE = [b"GET / HTTP/1.1\r\nHost: x\r\n\r\n", os.urandom(4096), b"\x16\x03\x01\x02\x00\x01" + os.urandom(500), b"", b"\0" * 100_000]


@pytest.mark.parametrize("noise", NOISE, ids=["http", "random", "tls", "nothing", "zeros"])
def test_a_peer_that_is_none(pair, noise):
    """The port of servers among themselves is closed for it; theirs go on meanwhile."""
    first, second = pair
    second.start()
    wait_for_all([first, second])
    for port in (peer_port(first), peer_port(second)):
        with socket.create_connection(("127.0.0.1", port), timeout=30) as stranger:
            try:
                stranger.sendall(noise)
                if noise:
                    second.user(1).publish()
                stranger.shutdown(socket.SHUT_WR)
                answer = stranger.recv(1 << 16)
                while piece := stranger.recv(1 << 16):
                    answer += piece
            except (ConnectionResetError, BrokenPipeError, OSError):
                answer = b""
            assert b"HTTP" not in answer and len(answer) < 64, answer  # an alert of TLS, or nothing
    second.user(1).publish()
    wait_for_all([first, second])


def test_many_who_say_nothing_leave_room_for_servers(pair):
    first, second = pair
    port = peer_port(first)
    silent = [socket.create_connection(("127.0.0.1", port)) for _ in range(250)]
    try:
        began = time.monotonic()
        second.start()
        wait_for_all([first, second])
        second.user(1).publish()
        assert time.monotonic() - began < 30  # who says nothing is not waited for long
    finally:
        for one in silent:
            one.close()


def test_a_key_that_is_not_the_logs(pair, tmp_path):
    """A standby with a key of its own is not let in."""
    first, _ = pair
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "peer.key").write_text("0" * 64 + "\n", encoding="ascii")
    refused(serve(os.fspath(tmp_path / "data"), first, "--follow", f"tidings://127.0.0.1:{peer_port(first)}"), "same key")
    shutil.rmtree(tmp_path / "data")
    assert writer_of([first]) is first
