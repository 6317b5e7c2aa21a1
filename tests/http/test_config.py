"""Settings: flag > environment > file > default; what is wrong is refused with a clear message."""
import http.client
import os
import re
import signal
import subprocess

import pytest

from support.client import Client
from support.server import BIN, SECRET, clean_environment, tidings, wait_until


def bursts(server):
    """How many follows go through at once: shows the setting follow_burst."""
    ann = server.user()
    n = 0
    while ann.send("POST", "/v1/relation/follow", {"user_id": 5}).status == 200:
        n += 1
    return n


SLOW = {"TIDINGS_FOLLOW_REFILL_MS": "3600000"}


def test_precedence(make_server, tmp_path):
    config = tmp_path / "tidings.conf"
    config.write_text("# a comment\nfollow_burst = 3\nfollow_refill_ms = 3600000\n")
    from_file = ["--config", str(config)]
    assert bursts(make_server(arguments=from_file)) == 3
    assert bursts(make_server(arguments=from_file, environment={"TIDINGS_FOLLOW_BURST": "4"})) == 4
    assert bursts(make_server(arguments=[*from_file, "--follow-burst", "5"],
                              environment={"TIDINGS_FOLLOW_BURST": "4"})) == 5
    assert bursts(make_server(arguments=["--follow-burst=6", *from_file])) == 6, "wherever the flag stands"
    assert bursts(make_server(environment=SLOW)) == 100, "the default"


def test_texts_come_from_file_and_environment_too(make_server, tmp_path):
    data = tmp_path / "data"
    config = tmp_path / "tidings.conf"
    config.write_text(f"data = {data}\nlisten = 127.0.0.1:0\n")
    process = subprocess.Popen([BIN, "serve", "--config", str(config)], stderr=subprocess.PIPE, text=True,
                               env=clean_environment(TIDINGS_JWT_SECRET=SECRET))
    try:
        assert "listening on port" in process.stderr.readline()
        assert data.is_dir()
    finally:
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=60)
    assert process.returncode == 0


@pytest.mark.parametrize("arguments, environment, words", [
    (["--folow-burst", "5"], {}, ["--folow-burst", "not known"]),
    (["--follow-burst"], {}, ["--follow-burst", "value"]),
    (["--follow-burst", "0"], {}, ["follow_burst", "1 to 1000000"]),
    (["--follow-burst", "1000001"], {}, ["follow_burst", "1 to 1000000"]),
    (["--follow-burst", "-5"], {}, ["follow_burst"]),
    (["--follow-burst", "5x"], {}, ["follow_burst"]),
    (["--follow-burst", ""], {}, ["follow_burst"]),
    (["--follow-burst", " 5"], {}, ["follow_burst"]),
    (["--follow-burst", "99999999999999999999999"], {}, ["follow_burst"]),
    (["follow"], {}, ["follow", "not a flag"]),
    (["-x"], {}, ["-x"]),
    ([], {"TIDINGS_FOLLOW_BURST": "many"}, ["TIDINGS_FOLLOW_BURST", "follow_burst"]),
    ([], {"TIDINGS_MAP_MB": "1"}, ["TIDINGS_MAP_MB"]),
    (["--config", "/nonexistent/file"], {}, ["/nonexistent/file"]),
    (["--jwt-secret", "x" * 40], {}, ["--jwt-secret", "not known"]),
])
def test_wrong_settings_are_refused_before_anything_starts(tmp_path, arguments, environment, words):
    done = tidings("serve", "--data", str(tmp_path / "data"), "--listen", "127.0.0.1:0", *arguments,
                   TIDINGS_JWT_SECRET=SECRET, **environment)
    assert done.returncode == 2
    assert all(word in done.stderr for word in words), done.stderr
    assert not (tmp_path / "data").exists(), "nothing was made"


@pytest.mark.parametrize("text, word", [("folow_burst = 5\n", "folow_burst"), ("follow_burst = 0\n", "follow_burst"),
                                        ("follow_burst = x\n", "follow_burst"), ("[section]\nfollow_burst = 5\n", "follow_burst"),
                                        ("follow_burst\n", "line 1"), ("data = /x\njunk\n", "line 2")])
def test_wrong_files(tmp_path, text, word):
    config = tmp_path / "tidings.conf"
    config.write_text(text)
    done = tidings("serve", "--data", str(tmp_path / "data"), "--config", str(config), TIDINGS_JWT_SECRET=SECRET)
    assert done.returncode == 2 and word in done.stderr, done.stderr


def test_data_is_needed():
    done = tidings("serve", TIDINGS_JWT_SECRET=SECRET)
    assert done.returncode == 2 and "--data" in done.stderr


@pytest.mark.parametrize("secret", [None, "", "short", "x" * 31, "x" * 32 + "\nshort"])
def test_a_good_secret_is_needed(tmp_path, secret):
    done = tidings("serve", "--data", str(tmp_path / "data"), "--listen", "127.0.0.1:0", TIDINGS_JWT_SECRET=secret)
    assert done.returncode not in (0, 2)
    assert "TIDINGS_JWT_SECRET" in done.stderr or "32 bytes" in done.stderr, done.stderr
    if secret and len(secret) > 5:
        assert secret.split("\n")[0] not in done.stderr, "the secret is not repeated"


def test_a_missing_keys_file(tmp_path):
    done = tidings("serve", "--data", str(tmp_path / "data"), "--listen", "127.0.0.1:0",
                   TIDINGS_JWT_KEYS_FILE=str(tmp_path / "none.json"))
    assert done.returncode not in (0, 2) and "cannot be read" in done.stderr


@pytest.mark.parametrize("listen", ["nonsense", "127.0.0.1", "127.0.0.1:99999", "127.0.0.1:65536", "256.0.0.1:80", ":"])
def test_a_wrong_address(tmp_path, listen):
    done = tidings("serve", "--data", str(tmp_path / "data"), "--listen", listen, timeout=10,
                   TIDINGS_JWT_SECRET=SECRET)
    assert done.returncode == 2 and listen in done.stderr, done.stderr


def test_an_address_in_use(server, tmp_path):
    done = tidings("serve", "--data", str(tmp_path / "data"), "--listen", f"127.0.0.1:{server.port}",
                   TIDINGS_JWT_SECRET=SECRET)
    assert done.returncode == 3 and "in use" in done.stderr, done.stderr


def test_a_data_directory_in_use(server):
    done = tidings("serve", "--data", server.data, "--listen", "127.0.0.1:0", TIDINGS_JWT_SECRET=SECRET)
    assert done.returncode not in (0, 2) and server.data in done.stderr, done.stderr
    assert server.user().badge() == 0, "and the first goes on"
    assert tidings("verify", "--data", server.data).returncode == 3


def test_ipv6(make_server):
    server = make_server(listen="[::1]:0")
    connection = http.client.HTTPConnection("::1", server.port, timeout=60)
    connection.request("GET", "/healthz")
    assert connection.getresponse().status == 200
    connection.close()


def test_help_lists_every_setting():
    done = tidings("serve", "--help")
    assert done.returncode == 0
    for name in ("--data", "--listen", "--follow-burst", "--threads", "--http-body-max", "--once-hours", "--access-log"):
        assert re.search(rf"^\s+{name}\s", done.stdout, re.M), name


def test_unknown_commands():
    for arguments in ([], ["what"], ["--version-x"]):
        done = tidings(*arguments)
        assert done.returncode == 2 and "usage" in done.stderr
    assert tidings("--help").returncode == 0


# ---- --dev --------------------------------------------------------------------------------------

@pytest.mark.parametrize("listen", ["0.0.0.0:0", "[::]:0", "192.0.2.1:0", "example.org:80", ":8080"])
def test_dev_refuses_all_but_loopback(tmp_path, listen):
    done = tidings("serve", "--dev", "--data", str(tmp_path / "data"), "--listen", listen)
    assert done.returncode == 2 and "loopback" in done.stderr
    assert not (tmp_path / "data").exists()


def test_dev_has_a_community_and_prints_a_token(tmp_path):
    data = tmp_path / "data"
    out = tmp_path / "out"
    with open(out, "w", encoding="utf-8") as stdout:
        process = subprocess.Popen([BIN, "serve", "--dev", "--data", str(data), "--listen", "127.0.0.1:0"],
                                   stdout=stdout, stderr=subprocess.DEVNULL, env=clean_environment())
    try:
        wait_until(lambda: "/v1/stream" in out.read_text(), "the words of welcome")
        text = out.read_text()
        bearer = re.search(r"TOKEN=(\S+)", text).group(1)
        port = int(re.search(r"http://127\.0\.0\.1:(\d+)/", text).group(1))

        class Where:
            pass

        where = Where()
        where.port = port
        with Client(where) as client:
            headers = {"Authorization": "Bearer " + bearer, "Accept-Language": "en"}
            inbox = client.request("GET", "/v1/inbox?limit=100", headers=headers).json
            unread = client.request("GET", "/v1/inbox/unread", headers=headers).json
            assert len(inbox["items"]) >= 8 and 0 < unread["total"] < len(inbox["items"])
            assert any(row["is_deleted"] for row in inbox["items"]) and any(row["is_read"] for row in inbox["items"])
            assert {row["kind"] for row in inbox["items"]} == {"note", "activity", "story"}
            assert all(row["author_name"] for row in inbox["items"])
            hot = client.request("GET", "/v1/hot", headers=headers).json["items"]
            assert hot[0]["stats"]["hot_score"] > hot[-1]["stats"]["hot_score"]
            path = f"/v1/posts/{hot[0]['post_id']}/comments"
            rows = client.request("GET", path, headers=headers).json["items"]
            assert {row["status"] for row in rows} == {"visible", "hidden"} and rows[0]["stats"]["reply_count"]
            assert all(row["created_at"] < inbox["items"][0]["created_at"] for row in rows), "at their time"
            reading = client.request("GET", "/v1/reading", headers=headers).json["items"]
            scene = client.request("GET", f"/v1/scenes/{reading[0]['scene_id']}", headers=headers).json
            assert reading[0]["message_id"] in [message["id"] for message in scene["messages"]]
            told = client.request("GET", "/v1/notifications", headers=headers).json
            assert 0 < told["unread"] < len(told["items"])
            assert client.request("GET", "/v1/subscriptions", headers=headers).json["items"]
            admin = client.request("GET", "/v1/admin/status", headers=headers)
            assert admin.status == 403, "a user, no more"
    finally:
        process.send_signal(signal.SIGTERM)
        assert process.wait(60) == 0
    done = tidings("verify", "--data", str(data))
    assert done.returncode == 0 and " 0 differences" in done.stdout


def test_secrets_of_the_directory_are_private(server):
    mode = os.stat(os.path.join(server.data, "seal.key")).st_mode & 0o777
    assert mode == 0o600
