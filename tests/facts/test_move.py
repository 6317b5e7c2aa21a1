"""`tidings move`: a directory of one machine becomes the database of a cluster, with the same answers; and stays as it was."""
import os
import re
import signal
import subprocess

import pytest
from facts import empty, lines_of
from support.server import BIN, Server, clean_environment, tidings, wait_until, where
from test_export import lively
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


def filled(tmp_path, facts, name="source"):
    """A directory of one machine."""
    path = tmp_path / f"{name}.ndjson"
    path.write_text(lines_of(facts))
    done = tidings("import", os.fspath(path), "--data", os.fspath(tmp_path / name))
    assert done.returncode == 0, done.stderr
    return tmp_path / name


def local_export(data):
    return tidings("export", "--data", os.fspath(data)).stdout


def test_all_of_it_moves_when_the_server_is_stopped(tmp_path, monkeypatch):
    with monkeypatch.context() as machine:
        machine.setenv("TIDINGS_TEST_ENGINE", "local")
        server = Server(data=os.fspath(tmp_path / "source")).start()
        lively(server.user(), server)
    for name in ("rehearsal", "cluster"):
        empty(tmp_path / name)
    try:
        done = move(tmp_path / "source", tmp_path / "cluster")
        assert done.returncode == 3 and "a server uses it" in done.stderr
        assert sql(tmp_path / "cluster", "SELECT COUNT(*) FROM import") == ["0"]
        done = move(tmp_path / "source", tmp_path / "rehearsal", "--rehearse", "--temp", os.fspath(tmp_path))
        assert done.returncode == 0 and "rehearsed in" in done.stdout, done.stderr
        assert not list(tmp_path.glob("tidings-copy-*")), "the copy is removed"
        server.user().publish()
    finally:
        server.stop()
    before = local_export(tmp_path / "source")
    done = move(tmp_path / "source", tmp_path / "cluster")
    assert done.returncode == 0 and "moved in" in done.stdout, done.stdout + done.stderr
    assert tidings("export", *where(os.fspath(tmp_path / "cluster"))).stdout == before
    assert local_export(tmp_path / "source") == before, "the directory is as it was"
    done = move(tmp_path / "source", tmp_path / "cluster")
    assert done.returncode == 3 and "there are data already" in done.stderr
    assert move(tmp_path / "source", tmp_path / "cluster", "--check").returncode == 0


def test_the_answers_are_the_same_and_it_goes_on_from_there(tmp_path, monkeypatch):
    data = filled(tmp_path, WORLD)
    with monkeypatch.context() as machine:
        machine.setenv("TIDINGS_TEST_ENGINE", "local")
        expected = answers(data)
    empty(tmp_path / "cluster")
    assert move(data, tmp_path / "cluster").returncode == 0
    assert answers(tmp_path / "cluster") == expected
    server = Server(data=os.fspath(tmp_path / "cluster")).start()
    try:
        fan, author = server.user(1), server.user(2)
        before = fan.get("/inbox/badge")["total"]
        post = author.publish()
        assert post["id"] > max(map(int, re.findall(r'"id":(\d+)', local_export(data))))
        assert fan.get("/inbox/badge")["total"] == before + 1
        assert server.service().get("/events")["items"][0]["type"] == "PostPublished", "events begin anew"
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


def large():
    facts = [{"type": "post", "author_id": 1 + i % 50, "key": f"k{i}", "title": "T", "at": 1_700_000_000_000 + i} for i in range(10000)]
    return facts + [{"type": "follow", "user_id": 100 + i, "author_id": 1 + i % 50, "at": 1_700_000_100_000 + i} for i in range(10000)]


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL])
def test_interrupted_it_goes_on(tmp_path, how):
    data = filled(tmp_path, large())
    empty(tmp_path / "cluster")
    before = local_export(data)

    def lines():
        return sum(map(int, sql(tmp_path / "cluster", "SELECT input_lines FROM import")))

    seen = 0
    for _ in range(2):
        process = subprocess.Popen([BIN, *move_command(data, tmp_path / "cluster")], stdout=subprocess.PIPE, text=True, env=clean_environment())
        wait_until(lambda: lines() > seen or process.poll() is not None, "a piece")  # pylint: disable=cell-var-from-loop
        process.send_signal(how)
        process.wait()
        process.stdout.close()
        seen = lines()
    serve = tidings("serve", *where(os.fspath(tmp_path / "cluster")), "--listen", "127.0.0.1:0", TIDINGS_JWT_SECRET="x" * 32)
    assert serve.returncode != 0 and "was interrupted" in serve.stderr
    done = move(data, tmp_path / "cluster")
    assert done.returncode == 0, done.stdout + done.stderr
    assert tidings("export", *where(os.fspath(tmp_path / "cluster"))).stdout == before
    assert tidings("verify", *where(os.fspath(tmp_path / "cluster"))).returncode == 0


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


def test_a_directory_that_was_changed_meanwhile_does_not_go_on(tmp_path, monkeypatch):
    data = filled(tmp_path, large())
    empty(tmp_path / "cluster")
    process = subprocess.Popen([BIN, *move_command(data, tmp_path / "cluster")], stdout=subprocess.DEVNULL, env=clean_environment())
    wait_until(lambda: sql(tmp_path / "cluster", "SELECT 1 FROM import WHERE input_lines > 0"), "a piece")
    process.send_signal(signal.SIGKILL)
    process.wait()
    with monkeypatch.context() as machine:
        machine.setenv("TIDINGS_TEST_ENGINE", "local")
        server = Server(data=os.fspath(data)).start()
        server.user().publish()
        server.stop()
    done = move(data, tmp_path / "cluster")
    assert done.returncode == 3 and "another input" in done.stderr
