"""`tidings cluster`: what operators see of a log in MySQL, and a directory that becomes the history from now on."""
import hashlib
import json
import os
import pty
import re
import subprocess
import tempfile
import time

import pytest

from conftest import numbers, replica, wait_for_all, wait_for_rejoin, wait_for_role, writer_of
from support.server import BIN, clean_environment, make_database, tidings, wait_until
from test_images import exported, sql, stop

LEASE_S = 3


def url_of(server):
    return server.arguments[server.arguments.index("--mysql") + 1]


def cluster(action, url, *more, **how):
    return tidings("cluster", action, "--mysql", url, *more, **how)


def status(url, *codes):
    """What `status` says, as JSON and for people; both exit with one of the codes."""
    done = cluster("status", url, "--json")
    assert done.returncode in (codes or (0,)), (done.returncode, done.stdout, done.stderr)
    people = cluster("status", url)
    assert people.returncode in (codes or (0,))
    return json.loads(done.stdout), people.stdout


def files_of(directory):
    """Every file of a directory with a digest of its bytes."""
    found = {}
    for where, _, names in os.walk(directory):
        for name in names:
            path = os.path.join(where, name)
            with open(path, "rb") as file:
                found[os.path.relpath(path, directory)] = hashlib.sha256(file.read()).hexdigest()
    return found


@pytest.fixture
def database():
    return make_database(f"commands_{os.getpid()}_{next(numbers)}")


# ---- init ------------------------------------------------------------------------------------------------------------


def test_init_makes_tables_once_and_a_server_without_the_right_to_make_them_begins_the_log(database, make_server):
    done = cluster("init", database)
    assert done.returncode == 0 and "the first server" in done.stdout, done.stderr
    again = cluster("init", database)
    assert again.returncode == 0 and again.stdout == done.stdout
    assert cluster("status", database).returncode == 3
    server = make_server(arguments=["--mysql", database])
    name = re.search(r"/([a-z0-9_]+)\?", database).group(1)
    sql(server, f"CREATE USER plain; GRANT SELECT,INSERT,UPDATE,DELETE ON {name}.* TO plain")
    server.arguments[1] = database.replace("root@", "plain@")
    wait_for_role(server.start(), "writer")
    server.user(1).publish()
    assert "nothing was changed" in cluster("init", database).stdout
    assert status(database)[0]["position"] == replica(server)["position"]
    stop(server)
    sql(server, "DROP USER plain")


def test_init_refuses_a_part_of_a_log_and_tables_of_another_version(make_servers):
    first, = make_servers(1)
    wait_for_role(first, "writer")
    url = url_of(first)
    stop(first)
    sql(first, "UPDATE tidings_setting SET value=1 WHERE name='schema'")
    done = cluster("init", url)
    assert done.returncode == 2 and "version 1" in done.stderr
    sql(first, "DELETE FROM tidings_setting")
    done = cluster("init", url)
    assert done.returncode == 2 and "a part of a log" in done.stderr


# ---- status ----------------------------------------------------------------------------------------------------------


def test_status_tells_what_stands_in_the_tables(make_servers):
    servers = make_servers(3)
    writer = writer_of(servers)
    writer.user(1).publish()
    wait_for_all(servers)
    position = replica(writer)["position"]

    def all_told():
        told, people = status(url_of(writer), 0, 1)
        done = [one["position"] for one in told["replicas"]] == [position] * 3 and not told["warnings"]
        return done and (told, people)

    told, people = wait_until(all_told, "all say where they are")
    assert told["position"] == position and told["era"] == 0
    assert told["writer"]["ready"] and 0 < told["writer"]["lease_left_ms"] <= 3000
    assert [one["address"] for one in told["replicas"] if one["writer"]] == [told["writer"]["address"]]
    assert [one["lag"] for one in told["replicas"]] == [0, 0, 0]
    assert told["log"]["records"] == position - told["log"]["after"] and told["log"]["bytes"] > 0
    assert told["log"]["first_at_ms"] <= told["log"]["last_at_ms"] <= time.time() * 1000 + 1000
    assert told["mysql"]["max_allowed_packet"] == 64 << 20
    assert told["writer"]["address"] in people and f"position  {position}" in people and "warning" not in people


def test_status_warns_of_a_replica_that_is_silent_and_of_a_log_without_a_writer(make_servers):
    first, second = make_servers(2)
    wait_for_role(first, "writer")
    wait_for_all([first, second])
    url = url_of(first)
    second.kill()
    told = wait_until(lambda: (lambda one: one["warnings"] and one)(status(url, 0, 1)[0]), "a warning")
    assert re.search(r"the replica at \S+ was not seen for \d+ s", told["warnings"][0])
    stop(first)
    told, people = status(url, 1)
    assert told["writer"] is None and "nobody makes changes" in told["warnings"][0]
    assert "writer    nobody" in people and "warning   nobody makes changes" in people


def test_status_that_cannot_look_exits_with_3(database):
    assert cluster("status", database).returncode == 3
    away = cluster("status", "mysql://root@127.0.0.1:1/nothing")
    assert away.returncode == 3 and away.stderr and not away.stdout


def test_no_password_is_printed(database, make_servers):
    """Neither one that somebody put into the URL, nor the one of the environment."""
    first, = make_servers(1)
    wait_for_role(first, "writer")
    for action, more in (("status", ["--json"]), ("init", []), ("begin", ["--from", first.data, "--yes"]), ("targets", [])):
        wrong = cluster(action, database.replace("root@", "root:sesame@"), *more)
        assert wrong.returncode in (2, 3) and "sesame" not in wrong.stdout + wrong.stderr
        secret = cluster(action, url_of(first), *more, TIDINGS_MYSQL_PASSWORD="open sesame")
        assert "sesame" not in secret.stdout + secret.stderr


# ---- begin -----------------------------------------------------------------------------------------------------------


def restored(server, until_ms, target):
    done = tidings("restore", server.data, "--data", str(target), "--until", str(until_ms))
    assert done.returncode == 0, done.stderr
    return str(target)


@pytest.fixture
def three(make_servers, tmp_path):
    """Three servers that are stopped, with a moment at which something was there and something was not yet; a directory as of then."""
    servers = make_servers(3)
    writer = writer_of(servers)
    ann = writer.user(1)
    for i in range(20):
        ann.publish(title=f"before {i}")
    wait_for_all(servers)
    event = writer.admin().get("/events?limit=100")["items"][-1]["event_id"]
    time.sleep(0.05)  # so that there is a moment between the two
    until_ms = int(time.time() * 1000)
    time.sleep(0.05)
    done = tidings("backup", "--data", writer.data, str(tmp_path / "backup"))
    assert done.returncode == 0, done.stderr
    for i in range(20):
        ann.publish(title=f"after {i}")
    wait_for_all(servers)
    for one in servers:
        stop(one)
    assert "after 19" in titles_of_export(servers[0])
    # The last server may have ended while it took over: then its lease is over after 3 seconds.
    wait_until(lambda: cluster("status", url_of(servers[0]), "--json").returncode == 1, "nobody makes changes")
    return servers, restored(servers[0], until_ms, tmp_path / "moment"), event


def titles_of_export(server):
    return [fact.get("title") for fact in map(json.loads, exported(server).splitlines()) if fact["type"] == "post"]


def begin(url, directory):
    return cluster("begin", url, "--from", directory, "--yes")


def test_a_directory_restored_to_a_moment_becomes_the_history_and_the_others_join_anew(three, make_server):
    servers, directory, event = three
    url = url_of(servers[0])
    before, _ = status(url, 1)
    done = begin(url, directory)
    assert done.returncode == 0, done.stderr
    dropped = re.search(r"positions (\d+) to (\d+)", done.stdout)
    assert "up to there it has the log's own history" in done.stdout
    assert int(dropped.group(2)) == before["position"] and int(dropped.group(1)) < before["position"]
    after, _ = status(url, 1)
    assert after["era"] == before["era"] + 1 and after["log"]["records"] == 0 and not after["replicas"]
    assert int(dropped.group(1)) <= after["position"] < before["position"]
    first = make_server(data=directory, arguments=servers[0].arguments).start()
    wait_for_role(first, "writer")
    assert replica(first)["era"] == after["era"]
    new = first.user(1).publish(title="another history")["id"]
    others = servers[1:]
    for one in others:
        one.start()
    for one in others:
        wait_for_role(one, "follower")
    wait_for_all([first, *others], 60)
    for one in (first, *others):
        titles = [row["title"] for row in one.user(1).rows("/users/1/posts")]
        assert titles[0] == "another history" and "before 19" in titles and "after 0" not in titles
        # A cursor of the former history goes on: ids are never given twice.
        events = one.admin().get(f"/events?after={event}")["items"]
        assert [row["target_id"] for row in events if row["type"] == "PostPublished"] == [new]
    for one in (*others, first):
        stop(one)
    assert exported(first) == exported(others[0]) == exported(others[1])
    for one in others:
        assert [name for name in os.listdir(one.data) if name.startswith(("diverged-", "outdated-"))]
        one.verify()
    first.verify()


@pytest.mark.parametrize("kind", ["moment", "backup"])
def test_a_server_that_starts_before_that_of_the_directory_does_not_bring_its_tail_back(three, make_server, kind):
    """A backup has the id and the chain of the servers: the record of the new era alone tells the two apart."""
    servers, directory, _ = three
    directory = os.path.join(os.path.dirname(directory), kind)
    assert begin(url_of(servers[0]), directory).returncode == 0
    position = status(url_of(servers[0]), 1)[0]["position"]
    early = servers[1]
    early.log_file.close()
    os.unlink(early.log_file.name)
    early.log_file = tempfile.NamedTemporaryFile("w+b", delete=False)
    early.process = subprocess.Popen([BIN, "serve", "--data", early.data, *early.arguments, "--listen", "127.0.0.1:0"],
                                     env=clean_environment(**early.environment), stdin=subprocess.DEVNULL,
                                     stdout=subprocess.DEVNULL, stderr=early.log_file)
    time.sleep(LEASE_S + 2)
    assert status(url_of(servers[0]), 1)[0]["position"] == position
    early.process.kill()  # it gives up by itself some time later: there is no image
    early.process.wait()
    first = make_server(data=directory, arguments=servers[0].arguments).start()
    wait_for_role(first, "writer")
    wait_for_all([first, early.start()], 60)
    assert "after 19" not in [row["title"] for row in first.user(1).rows("/users/1/posts")]


def test_the_directory_of_a_stopped_server_itself_can_begin(three, make_server):
    servers, _, _ = three
    url = url_of(servers[0])
    before, _ = status(url, 1)
    done = begin(url, servers[0].data)
    assert done.returncode == 0, done.stderr
    first = servers[0].start()
    wait_for_role(first, "writer")
    second = servers[1].start()
    wait_for_all([first, second], 60)
    assert replica(second)["era"] == before["era"] + 1


def test_begin_is_refused_while_a_server_makes_changes_and_when_its_lease_is_not_over(three, make_server):
    servers, directory, _ = three
    url = url_of(servers[0])
    writer = servers[0].start()
    wait_for_role(writer, "writer")
    before = files_of(directory)
    done = begin(url, directory)
    assert done.returncode == 1 and "stop all servers" in done.stderr
    writer.close_actors()
    writer.actors.clear()
    position = status(url)[0]["position"]
    writer.kill()
    killed = begin(url, directory)
    assert killed.returncode == 1 and "stop all servers" in killed.stderr
    assert files_of(directory) == before and status(url, 0, 1)[0]["position"] == position
    wait_until(lambda: status(url, 0, 1)[0]["writer"] is None, "the lease is over")
    assert begin(url, directory).returncode == 0


def test_nothing_is_changed_unless_it_is_confirmed(three):
    servers, directory, _ = three
    url = url_of(servers[0])
    before, tables = files_of(directory), status(url, 1)[0]
    done = cluster("begin", url, "--from", directory)
    assert done.returncode == 1 and "--yes is missing" in done.stderr
    number = re.search(r"positions (\d+) to (\d+)", done.stdout)
    dropped = int(number.group(2)) - int(number.group(1)) + 1
    assert at_a_terminal(url, directory, str(dropped - 1)) == 1
    assert files_of(directory) == before and status(url, 1)[0] == tables
    assert at_a_terminal(url, directory, str(dropped)) == 0
    assert status(url, 1)[0]["era"] == tables["era"] + 1


def at_a_terminal(url, directory, answer):
    terminal, end = pty.openpty()
    process = subprocess.Popen([BIN, "cluster", "begin", "--from", directory, "--mysql", url], stdin=end,
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=clean_environment())
    os.write(terminal, answer.encode() + b"\n")
    code = process.wait(60)
    os.close(terminal)
    os.close(end)
    return code


def test_directories_that_cannot_begin_are_refused(three, make_server, tmp_path):
    servers, directory, _ = three
    url = url_of(servers[0])
    tables = status(url, 1)[0]
    stranger = make_server().start()
    locked = begin(url, stranger.data)
    assert locked.returncode == 1 and "a process uses" in locked.stderr
    stop(stranger)
    foreign = cluster("begin", url, "--from", stranger.data)
    assert foreign.returncode == 1 and "its history is not the log's" in foreign.stdout
    assert begin(url, str(tmp_path / "nothing")).returncode == 2
    with open(os.path.join(directory, "rejoin"), "w", encoding="ascii") as file:
        file.write("diverged-1\n")
    marked = begin(url, directory)
    assert marked.returncode == 2 and "join the log anew" in marked.stderr
    assert status(url, 1)[0] == tables


def test_a_server_that_takes_over_meanwhile_keeps_its_log(three):
    """The row of the writer is another one when the tables are to be changed."""
    servers, directory, _ = three
    url = url_of(servers[0])
    sql(servers[0], "CREATE TRIGGER tidings_meanwhile BEFORE DELETE ON tidings_log FOR EACH ROW SIGNAL SQLSTATE '45000'")
    before = status(url, 1)[0]
    done = begin(url, directory)
    assert done.returncode == 3
    assert status(url, 1)[0] == before
    sql(servers[0], "DROP TRIGGER tidings_meanwhile")
    assert begin(url, directory).returncode == 0
