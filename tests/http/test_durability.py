"""Durability as operators meet it: the setting, backups of a running server, restoring, the log."""
import os
import signal
import time

import pytest

from support.server import Server, tidings


@pytest.fixture
def backups(tmp_path):
    directory = tmp_path / "backups"
    directory.mkdir()
    return directory


def serve_from(data, make_server):
    return make_server(data=str(data))


def test_readiness_and_status_say_which_durability(make_server):
    for durability in ("commit", "second"):
        server = make_server(settings={"durability": durability})
        ready = server.user().send("GET", "/readyz").json
        assert ready == {"status": "ready", "durability": durability, "writable": True}
        status = server.admin().get("/admin/status")
        assert status["durability"] == durability and status["writable"] is True
        server.restart(signal.SIGKILL)


def test_another_durability_is_refused(tmp_path):
    done = tidings("serve", "--data", str(tmp_path), "--durability", "maybe",
                   TIDINGS_JWT_SECRET="0123456789abcdef0123456789abcdef")
    assert done.returncode != 0 and "durability must be commit or second" in done.stderr


def test_each_second_loses_nothing_to_kill_9(make_server):
    server = make_server(settings={"durability": "second"})
    ann, bob = server.users(2)
    ann.follow(bob)
    made = [bob.publish() for _ in range(50)]
    server.restart(signal.SIGKILL)
    assert ann.check_adds_up() == len(made)


def test_a_backup_of_a_running_server_holds_all_that_was_acknowledged(make_server, backups):
    server = make_server(settings={"backup_dir": backups})
    ann, bob = server.users(2)
    ann.follow(bob)
    made = [bob.publish()["id"] for _ in range(10)]
    answer = server.admin().post("/admin/backup", {"name": "first"}, status=201)
    assert answer["name"] == "first" and answer["bytes"] > 0 and answer["batch"] >= 11
    bob.publish()
    again = server.admin().send("POST", "/v1/admin/backup", {"name": "first"})
    assert again.status == 409 and again.json["code"] == "exists"
    copy = serve_from(backups / "first", make_server)
    reader = copy.user(ann.id)
    assert reader.check_adds_up() == 10
    assert [row["post_id"] for row in reader.inbox(limit=100)] == made[::-1]
    copy.stop()
    copy.verify()


def test_without_a_directory_for_them_there_are_no_backups(server):
    answer = server.admin().send("POST", "/v1/admin/backup", {"name": "x"})
    assert answer.status == 409 and answer.json["code"] == "no_backup_dir"


@pytest.mark.parametrize("name", ["", ".", "..", ".hidden", "a/b", "../up", "a b", "a\n", "x" * 65, "é", 5, None])
def test_bad_names_of_backups(make_server, backups, name):
    server = make_server(settings={"backup_dir": backups})
    answer = server.admin().send("POST", "/v1/admin/backup", {"name": name})
    assert answer.status == 400 and answer.json["field"] == "name"
    assert not os.listdir(backups)


def test_a_directory_that_cannot_be_written_is_503_and_no_detail(make_server, tmp_path):
    server = make_server(settings={"backup_dir": tmp_path / "missing" / "deep"})
    answer = server.admin().send("POST", "/v1/admin/backup", {"name": "x"})
    assert answer.status == 503 and str(tmp_path) not in answer.body.decode()


def test_only_admins_make_backups(server):
    for actor in (server.user(), server.service()):
        assert actor.send("POST", "/v1/admin/backup", {"name": "x"}).status == 403


def test_the_command_backs_up_a_running_server_and_restores_to_a_moment(make_server, tmp_path):
    server = make_server()
    ann, bob = server.users(2)
    ann.follow(bob)
    for _ in range(3):
        bob.publish()
    time.sleep(0.01)
    moment = int(time.time() * 1000)
    time.sleep(0.01)
    for _ in range(2):
        bob.publish()
    backup = tmp_path / "backup"
    done = tidings("backup", str(backup), "--data", server.data)
    assert done.returncode == 0 and "up to batch" in done.stdout, done.stderr
    again = tidings("backup", str(backup), "--data", server.data)
    assert again.returncode == 3 and "not empty" in again.stderr
    for until, expected in ((None, 5), (moment, 3)):
        data = tmp_path / f"restored-{expected}"
        flags = ["--until", str(until)] if until else []
        done = tidings("restore", str(backup), "--data", str(data), *flags)
        assert done.returncode == 0 and "restored up to batch" in done.stdout, done.stderr
        copy = serve_from(data, make_server)
        assert copy.user(ann.id).check_adds_up() == expected
        copy.stop()
        copy.verify()


def test_a_running_servers_directory_is_a_source_and_no_target(make_server, tmp_path):
    server, other = make_server(), make_server()
    ann, bob = server.users(2)
    ann.follow(bob)
    bob.publish()
    files = sorted(os.listdir(other.data))
    for arguments in (("backup", other.data, "--data", server.data), ("restore", server.data, "--data", other.data)):
        done = tidings(*arguments)
        assert done.returncode == 3 and done.stderr == "tidings: another process uses the target directory\n", done
    assert sorted(os.listdir(other.data)) == files
    assert other.user().badge() == 0
    data = tmp_path / "restored"
    done = tidings("restore", server.data, "--data", str(data))
    assert done.returncode == 0, done.stderr
    bob.publish()
    assert ann.check_adds_up() == 2, "the source goes on"
    assert serve_from(data, make_server).user(ann.id).check_adds_up() == 1


def test_a_backup_that_lost_its_end_is_refused_and_can_be_salvaged(make_server, tmp_path):
    server = make_server()
    ann, bob = server.users(2)
    ann.follow(bob)
    for _ in range(20):
        bob.publish()
    backup = tmp_path / "backup"
    assert tidings("backup", str(backup), "--data", server.data).returncode == 0
    segment, = (backup / "log").iterdir()
    os.truncate(segment, segment.stat().st_size // 2)
    for arguments in (("restore", backup, "--data", tmp_path / "r1"), ("verify", "--data", backup)):
        done = tidings(*map(str, arguments))
        assert done.returncode == 3 and f"{segment.name} of the backup has " in done.stderr, done
    with pytest.raises(AssertionError, match="of the backup has"):
        Server(data=str(backup)).start()
    done = tidings("restore", str(backup), "--data", str(tmp_path / "r2"), "--salvage")
    assert done.returncode == 1 and "what comes later is lost: the end of the log is missing" in done.stdout, done
    copy = serve_from(tmp_path / "r2", make_server)
    assert 1 <= copy.user(ann.id).check_adds_up() < 20


def test_a_flipped_bit_is_found_by_a_deep_verify_and_mended(make_server):
    server = make_server()
    post = server.user().publish(title="An unmistakable title")
    server.stop()
    path = os.path.join(server.data, "data.mdb")
    with open(path, "rb") as file:
        content = file.read()
    with open(path, "wb") as file:
        file.write(content.replace(b"unmistakable", b"unmistakabla"))
    assert tidings("verify", "--data", server.data).returncode == 0, "it makes sense"
    done = tidings("verify", "--data", server.data, "--deep")
    assert done.returncode == 1 and "of data.mdb is not what the log says" in done.stdout, done
    done = tidings("verify", "--data", server.data, "--deep", "--repair")
    assert done.returncode == 0 and "data.mdb is made anew" in done.stdout, done
    assert tidings("verify", "--data", server.data, "--deep").returncode == 0
    server.start()
    assert server.user().get(f"/posts/{post['id']}")["title"] == "An unmistakable title"


def test_a_data_file_that_was_cut_off_says_so_and_is_made_anew(make_server):
    server = make_server()
    post = server.user().publish()
    server.stop()
    path = os.path.join(server.data, "data.mdb")
    os.truncate(path, os.path.getsize(path) // 2)
    done = tidings("verify", "--data", server.data)
    assert done.returncode == 0 and "data.mdb is damaged and is made anew: it is shorter than it was" in done.stdout
    server.start()
    server.user().get(f"/posts/{post['id']}")


def test_readiness_says_when_there_is_no_room(make_server):
    server = make_server(settings={"map_mb": 16})
    user = server.user()
    for _ in range(2000):
        answer = user.send("POST", "/v1/posts", {"kind": "note", "title": "large", "body": "x" * 60000})
        if answer.status != 201:
            break
    assert answer.status == 503 and answer.json["code"] == "no_space"
    assert server.user().send("GET", "/readyz").json["writable"] is False
    assert server.admin().get("/admin/status")["writable"] is False
    server.restart()
    assert server.user().send("GET", "/readyz").json["writable"] is True


def test_the_log_in_words(make_server):
    server = make_server()
    ann, bob = server.users(2)
    ann.follow(bob)
    bob.publish()
    done = tidings("log", "--data", server.data)
    assert done.returncode == 0, done.stderr
    assert f"FollowCreated by {ann.id}: user {bob.id}" in done.stdout
    assert f"PostPublished by {bob.id}: post " in done.stdout
    rows = tidings("log", "--data", server.data, "--rows", "--after", "1")
    assert "FollowCreated" not in rows.stdout and "put post " in rows.stdout


@pytest.mark.parametrize("arguments", [
    ("backup",), ("backup", "x"), ("backup", "x", "y", "--data", "z"), ("restore", "x"),
    ("restore", "x", "--data", "y", "--until", "yesterday"), ("log",), ("log", "--data", "x", "--after", "-1"),
])
def test_wrong_usage_exits_2(arguments):
    done = tidings(*arguments)
    assert done.returncode == 2 and "usage: tidings " in done.stderr


@pytest.mark.parametrize("command", ["backup", "restore", "log"])
def test_help(command):
    done = tidings(command, "--help")
    assert done.returncode == 0 and done.stdout.startswith(f"usage: tidings {command}")


def test_what_is_not_a_data_directory_is_refused(tmp_path):
    for arguments in (("backup", tmp_path / "b", "--data", tmp_path), ("restore", tmp_path, "--data", tmp_path / "r"),
                      ("log", "--data", tmp_path)):
        done = tidings(*map(str, arguments))
        assert done.returncode == 3 and done.stderr.startswith("tidings: "), done
    assert os.listdir(tmp_path) == []


def test_a_second_server_on_the_directory_is_turned_away(make_server):
    server = make_server()
    second = Server(data=server.data)
    with pytest.raises(AssertionError, match="another process uses this data directory"):
        second.start()
