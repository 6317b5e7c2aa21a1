"""`tidings move`: a directory of one machine becomes the database of a cluster, with the same answers, beside its server; and stays as it was."""
import os
import re
import signal
import subprocess
import threading

import pytest
from facts import empty, lines_of
from support.server import BIN, Server, clean_environment, tidings, wait_until, where
from test_export import lively, put
from test_others import WORLD, answers

SOCKET = re.search(r"socket=(.*)", os.environ.get("TIDINGS_TEST_MYSQL", "socket=/none")).group(1)


def sql(data, statement):
    name = re.search(r"/(t_\w+)\?", where(os.fspath(data))[-1]).group(1)
    done = subprocess.run(["mariadb", "--no-defaults", f"--socket={SOCKET}", "--user=root", "--batch", "--skip-column-names", "--execute",
                           statement, name], capture_output=True, text=True, check=True)
    return done.stdout.split()


def move_command(data, cluster, *more):
    return ["move", "--data", os.fspath(data), *where(os.fspath(cluster)), *more]


def move(data, cluster, *more):
    return tidings(*move_command(data, cluster, *more), timeout=300)


def begin_move(data, cluster, *more):
    return subprocess.Popen([BIN, *move_command(data, cluster, *more)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                            env=clean_environment())


def until_asked(process):
    """Reads what it says until it asks for the server to be stopped."""
    said = ""
    for line in process.stdout:
        said += line
        if line.startswith("Stop the server now"):
            return said
    raise AssertionError(f"it did not ask: {said}{process.stderr.read()}")


@pytest.fixture
def local_server(tmp_path, monkeypatch):
    """A server on a directory, whatever engine the tests are about."""
    servers = []

    def start(data=tmp_path / "source", **settings):
        with monkeypatch.context() as machine:
            machine.setenv("TIDINGS_TEST_ENGINE", "local")
            servers.append(Server(data=os.fspath(data), **settings).start())
        return servers[-1]
    yield start
    for server in servers:
        if server.process.poll() is None:
            server.stop()


def filled(tmp_path, facts, name="source"):
    """A directory of one machine."""
    path = tmp_path / f"{name}.ndjson"
    path.write_text(lines_of(facts))
    done = tidings("import", os.fspath(path), "--data", os.fspath(tmp_path / name))
    assert done.returncode == 0, done.stderr
    return tmp_path / name


def local_export(data):
    return tidings("export", "--data", os.fspath(data)).stdout


def same(data, cluster):
    place = where(os.fspath(cluster))
    assert tidings("export", *place).stdout == local_export(data)
    assert tidings("verify", *place).returncode == 0
    return True


def large():
    facts = [{"type": "post", "author_id": 1 + i % 50, "key": f"k{i}", "title": "T", "at": 1_700_000_000_000 + i} for i in range(10000)]
    return facts + [{"type": "follow", "user_id": 100 + i, "author_id": 1 + i % 50, "at": 1_700_000_100_000 + i} for i in range(10000)]


# ---- Beside a server -----------------------------------------------------------------------------

def test_a_server_is_stopped_only_at_the_end(tmp_path, local_server):
    """While somebody writes all the time: what was acknowledged before the stop is there."""
    filled(tmp_path, large())
    server = local_server()
    for _ in range(3):
        lively(server.user(), server)
    empty(tmp_path / "cluster")
    done, written = threading.Event(), []

    def write():
        author, fan = server.users(2)
        fan.post("/relation/follow", {"user_id": author.id})
        while not done.is_set():
            post = author.publish()
            fan.post(f"/posts/{post['id']}/open")
            put(fan, f"/posts/{post['id']}/like")
            written.append(post["id"])

    writer = threading.Thread(target=write)
    process = begin_move(tmp_path / "source", tmp_path / "cluster", "--temp", os.fspath(tmp_path))
    writer.start()
    until_asked(process)
    before = len(written)
    wait_until(lambda: len(written) > before + 20, "more posts behind the question")
    done.set()
    writer.join()
    server.stop()
    told = process.stdout.read()
    assert process.wait() == 0, told + process.stderr.read()
    assert "moved: " in told and "have the same answers" in told
    assert not list(tmp_path.glob("tidings-copy-*")), "the copy is removed"
    assert same(tmp_path / "source", tmp_path / "cluster")
    posts = set(map(int, sql(tmp_path / "cluster", "SELECT post_id FROM post")))
    assert posts.issuperset(written)
    again = move(tmp_path / "source", tmp_path / "cluster")
    assert again.returncode == 3 and "there are data already" in again.stderr
    assert move(tmp_path / "source", tmp_path / "cluster", "--check").returncode == 0


def test_what_clients_hold_is_good_there_too(tmp_path, local_server):
    """Tokens, cursors, positions in the events, keys of retries, versions of devices, buckets."""
    server = local_server()
    author, fan, device = server.users(3)
    fan.post("/relation/follow", {"user_id": author.id})
    posts = [author.publish()["id"] for _ in range(5)]
    page = fan.get("/inbox", limit=2)
    later = author.publish()["id"]
    key = {"Idempotency-Key": "once"}
    first = author.expect(201, "POST", "/v1/posts", {"kind": "note", "title": "Once"}, headers=key)
    events = server.service().get("/events", limit=3)
    story = author.post("/posts", {"kind": "story", "title": "S"}, status=201)["id"]
    scene = author.post(f"/stories/{story}/scenes", {"title": "1", "messages": ["a"]}, status=201)
    put(device, f"/reading/{story}", {"scene_id": scene["id"], "message_id": scene["messages"][0]["id"], "modified_at": 1})
    version = device.get("/reading")["version"]
    rest = server.service().get("/events", after=events["items"][-1]["event_id"], limit=100)["items"]
    server.stop()
    empty(tmp_path / "cluster")
    assert move(tmp_path / "source", tmp_path / "cluster").returncode == 0
    there = Server(data=os.fspath(tmp_path / "cluster")).start()
    try:
        author, fan, device = (there.user(someone.id) for someone in (author, fan, device))
        assert [item["post_id"] for item in fan.get("/inbox", limit=2, cursor=page["next_cursor"])["items"]] == [posts[2], posts[1]]
        marked = fan.post("/inbox/mark-read", {"up_to": page["as_of"]})
        assert marked["marked"] == 5, "what came behind the look stays unread"
        assert later in [item["post_id"] for item in fan.get("/inbox", filter="unread")["items"]]
        again = author.expect(201, "POST", "/v1/posts", {"kind": "note", "title": "Once"}, headers=key)
        assert again["id"] == first["id"]
        assert there.service().get("/events", after=events["items"][-1]["event_id"], limit=100)["items"][:len(rest)] == rest
        assert device.get("/reading", since=version)["items"] == []
        before = there.service().get("/events", limit=100)["items"][-1]["event_id"]
        new = author.publish()
        assert new["id"] > later
        assert [event["target_id"] for event in there.service().get("/events", after=before)["items"]] == [new["id"]]
    finally:
        there.close()


def test_a_rehearsal_stops_nobody(tmp_path, local_server):
    server = local_server()
    lively(server.user(), server)
    empty(tmp_path / "rehearsal")
    done = move(tmp_path / "source", tmp_path / "rehearsal", "--rehearse", "--temp", os.fspath(tmp_path))
    assert done.returncode == 0 and "rehearsed: " in done.stdout and "facts are the same" in done.stdout, done.stdout + done.stderr
    assert not list(tmp_path.glob("tidings-copy-*")), "the copy is removed"
    server.user().publish()


def test_the_server_may_come_back_before_it_is_noticed(tmp_path, local_server):
    """The directory is nobody's for a moment, which passes unseen or not: nothing is lost either way, and one who has it keeps it."""
    server = local_server()
    lively(server.user(), server)
    empty(tmp_path / "cluster")
    process = begin_move(tmp_path / "source", tmp_path / "cluster")
    until_asked(process)
    process.send_signal(signal.SIGSTOP)
    server.stop()
    server = local_server()
    server.user().publish()
    process.send_signal(signal.SIGCONT)
    wait_until(lambda: process.poll() is None, "it goes on")
    server.stop()
    assert process.wait(60) == 0, process.stderr.read()
    process.stdout.close()
    assert same(tmp_path / "source", tmp_path / "cluster")


def test_a_server_that_is_killed_has_stopped_too(tmp_path, local_server):
    server = local_server()
    author = server.user()
    lively(author, server)
    empty(tmp_path / "cluster")
    process = begin_move(tmp_path / "source", tmp_path / "cluster")
    until_asked(process)
    last = author.publish()["id"]
    server.kill()
    assert process.wait(60) == 0, process.stderr.read()
    process.stdout.close()
    assert str(last) in sql(tmp_path / "cluster", "SELECT MAX(post_id) FROM post")
    assert same(tmp_path / "source", tmp_path / "cluster")


# ---- Without one ---------------------------------------------------------------------------------

def test_the_answers_are_the_same_and_it_goes_on_from_there(tmp_path, monkeypatch):
    data = filled(tmp_path, WORLD)
    with monkeypatch.context() as machine:
        machine.setenv("TIDINGS_TEST_ENGINE", "local")
        expected = answers(data)
    empty(tmp_path / "cluster")
    before = local_export(data)
    assert move(data, tmp_path / "cluster").returncode == 0
    assert local_export(data) == before, "the directory is as it was"
    assert answers(tmp_path / "cluster") == expected
    assert same(data, tmp_path / "cluster")
    server = Server(data=os.fspath(tmp_path / "cluster")).start()
    try:
        fan, author = server.user(1), server.user(2)
        before = fan.get("/inbox/badge")["total"]
        post = author.publish()
        assert post["id"] > max(map(int, re.findall(r'"id":(\d+)', local_export(data))))
        assert fan.get("/inbox/badge")["total"] == before + 1
    finally:
        server.close()


@pytest.mark.parametrize("planted", ["UPDATE profile SET name = 'Mallory'", "DELETE FROM follower", "UPDATE user_counter SET followers = 9",
                                     "UPDATE content_stats SET likes = likes + 1", "DELETE FROM reaction"])
def test_what_differs_is_found(tmp_path, planted):
    data = filled(tmp_path, WORLD)
    empty(tmp_path / "cluster")
    assert move(data, tmp_path / "cluster").returncode == 0
    sql(tmp_path / "cluster", planted)
    done = move(data, tmp_path / "cluster", "--check")
    assert done.returncode == 3 and ("not the same" in done.stderr or "there, " in done.stderr), done.stdout + done.stderr


# ---- Interrupted ---------------------------------------------------------------------------------

def interrupt_once(data, cluster, how):
    """In the middle of it, behind a piece at least; whether it was still under way."""
    def pieces():
        return sum(map(int, sql(cluster, "SELECT input_lines FROM import")))

    seen = pieces()
    process = begin_move(data, cluster)
    wait_until(lambda: pieces() > seen or process.poll() is not None, "a piece")
    process.send_signal(how)
    process.communicate()
    return process.returncode != 0


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL])
def test_interrupted_it_goes_on(tmp_path, how, local_server):
    """Also when a server has changed the directory meanwhile."""
    data = filled(tmp_path, large())
    empty(tmp_path / "cluster")
    assert interrupt_once(data, tmp_path / "cluster", how)
    server = local_server()
    lively(server.user(), server)
    assert interrupt_once(data, tmp_path / "cluster", how)
    serve = tidings("serve", *where(os.fspath(tmp_path / "cluster")), "--listen", "127.0.0.1:0", TIDINGS_JWT_SECRET="x" * 32)
    assert serve.returncode != 0 and "was interrupted" in serve.stderr
    server.stop()
    before = local_export(data)
    done = move(data, tmp_path / "cluster")
    assert done.returncode == 0, done.stdout + done.stderr
    assert local_export(data) == before
    assert same(data, tmp_path / "cluster")


def test_another_directory_does_not_go_on(tmp_path):
    empty(tmp_path / "cluster")
    assert interrupt_once(filled(tmp_path, large()), tmp_path / "cluster", signal.SIGKILL)
    done = move(filled(tmp_path, WORLD, name="other"), tmp_path / "cluster")
    assert done.returncode == 3 and "another directory" in done.stderr


def test_a_log_that_does_not_go_back_that_far(tmp_path, local_server):
    """As after a fortnight: a base image was made meanwhile, and the log before it is gone."""
    data = filled(tmp_path, large())
    empty(tmp_path / "cluster")
    assert interrupt_once(data, tmp_path / "cluster", signal.SIGKILL)
    imported = sorted((data / "log").iterdir())
    server = local_server(settings={"snapshot_log_mb": 1})
    author = server.user()

    def has_base():
        author.publish(body="b" * 60000)
        return list((data / "snapshots").glob("*.mdb"))
    wait_until(has_base, "a base image")
    server.stop()
    for segment in imported:
        segment.unlink()
    sql(tmp_path / "cluster", "UPDATE import SET batch = batch - 1")
    done = move(data, tmp_path / "cluster")
    assert done.returncode == 3 and "begin anew" in done.stderr, done.stdout + done.stderr


def test_an_import_that_slept_does_nothing_twice(tmp_path):
    """Its connection is gone, and another import goes on in its place, as far as the end; then it wakes up with a piece under way."""
    whole = local_export(filled(tmp_path, large()))
    path = tmp_path / "whole.ndjson"
    path.write_text(whole)
    place = empty(tmp_path / "cluster")
    command = ["import", os.fspath(path), *place]
    sleeper = subprocess.Popen([BIN, *command], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, env=clean_environment())
    wait_until(lambda: sql(tmp_path / "cluster", "SELECT 1 FROM import WHERE input_lines > 0"), "a piece")
    sleeper.send_signal(signal.SIGSTOP)
    for number in sql(tmp_path / "cluster", "SELECT id FROM information_schema.processlist WHERE db = DATABASE() AND id <> CONNECTION_ID()"):
        sql(tmp_path / "cluster", f"KILL {number}")
    done = tidings(*command, timeout=300)
    sleeper.send_signal(signal.SIGCONT)
    told = sleeper.communicate()[1]
    assert done.returncode == 0, done.stderr
    assert sleeper.returncode == 3 and "another import" in told, told
    assert tidings("export", *place).stdout == whole
    assert tidings("verify", *place).returncode == 0
