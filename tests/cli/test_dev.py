"""`serve --dev`: what it prints is all one needs, backup and webhooks included."""
import json
import os
import re
import signal
import subprocess
import urllib.error
import urllib.request

import pytest
from support.receiver import SECRET, Receiver
from support.server import BIN, clean_environment, tidings, wait_until


class Demo:
    def __init__(self, tmp_path, *arguments):
        self.data, self.out, self.log = (tmp_path / name for name in ("data", "out", "log"))
        with open(self.out, "w", encoding="utf-8") as out, open(self.log, "w", encoding="utf-8") as log:
            self.process = subprocess.Popen([BIN, "serve", "--dev", "--data", str(self.data), "--listen",
                                             "127.0.0.1:0", *arguments], stdout=out, stderr=log,
                                            env=clean_environment())
        wait_until(lambda: "Ctrl-C" in self.out.read_text() or self.process.poll() is not None, "the words of welcome")
        self.said = self.out.read_text()
        self.url, self.service, self.admin = re.search(r"(http://127\S+?)/#dev=([^&]+)&admin=([^&]+)&",
                                                       self.said).groups()

    def ask(self, method, path, body=None, token=None, **headers):
        request = urllib.request.Request(self.url + path, method=method, data=json.dumps(body).encode() if body else None,
                                         headers={"Authorization": "Bearer " + (token or self.admin), **headers})
        with urllib.request.urlopen(request, timeout=60) as answer:
            return json.loads(answer.read() or "null")

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        assert self.process.wait(60) == 0


@pytest.fixture
def demo(tmp_path):
    made = []

    def make(*arguments):
        made.append(Demo(tmp_path, *arguments))
        return made[-1]

    yield make
    for one in made:
        one.stop()


def test_requests_are_not_logged_unless_asked_for(demo, tmp_path):
    (tmp_path / "loud").mkdir()
    quiet, loud = demo(), Demo(tmp_path / "loud", "--access-log")
    for one in (quiet, loud):
        one.ask("GET", "/v1/admin/status")
    loud.stop()
    wait_until(lambda: "/v1/admin/status" in loud.log.read_text(), "the line of the request")
    assert "/v1/admin/status" not in quiet.log.read_text()
    assert "--access-log" in quiet.said and "--access-log" not in loud.said


def test_a_backup_can_be_made_and_restored(demo, tmp_path):
    one = demo()
    assert f"{one.data}/backups" in one.said
    one.ask("POST", "/v1/admin/backup", {"name": "first"})
    done = tidings("restore", f"{one.data}/backups/first", "--data", str(tmp_path / "again"))
    assert done.returncode == 0, done
    done = tidings("verify", "--data", str(tmp_path / "again"))
    assert done.returncode == 0 and " 0 differences" in done.stdout


def test_a_webhook_on_this_machine_is_called(demo):
    one, receiver = demo(), Receiver()
    assert "127.0.0.0/8" in one.said
    try:
        for number, host in enumerate(("127.0.0.1", "localhost")):
            one.ask("PUT", f"/v1/admin/webhooks/w{number}", {"url": f"http://{host}:{receiver.port}/{host}", "secret": SECRET})
        story = one.ask("GET", "/v1/hot?kind=story", token=one.service)["items"][0]
        one.ask("POST", f"/v1/stories/{story['post_id']}/scenes", {"title": "Told", "messages": ["Hello"]},
                token=one.service, **{"X-User-Id": str(story["author_id"])})
        wait_until(lambda: {call.path for call in receiver.calls} == {"/127.0.0.1", "/localhost"}, "both calls")
    finally:
        receiver.die()
    with pytest.raises(urllib.error.HTTPError) as refused:
        one.ask("PUT", "/v1/admin/webhooks/out", {"url": "http://10.1.2.3/", "secret": SECRET})
    assert refused.value.code == 400


def test_what_dev_sets_can_be_set_otherwise(demo, tmp_path):
    (tmp_path / "elsewhere").mkdir()
    one = demo("--backup-dir", str(tmp_path / "elsewhere"), "--webhook-allow", "10.0.0.0/8")
    assert str(tmp_path / "elsewhere") in one.said and "10.0.0.0/8" in one.said
    assert not (one.data / "backups").exists()
    one.ask("PUT", "/v1/admin/webhooks/in", {"url": "http://10.1.2.3/", "secret": SECRET})


# ---- Where the data is when no directory is named ----

class Unnamed:
    """`serve --dev` of a user whose temporary directory is a path."""

    def __init__(self, tmp, name):
        self.out, self.log = tmp.parent / f"{name}.out", tmp.parent / f"{name}.log"
        with open(self.out, "w", encoding="utf-8") as out, open(self.log, "w", encoding="utf-8") as log:
            self.process = subprocess.Popen([BIN, "serve", "--dev", "--listen", "127.0.0.1:0"], stdout=out, stderr=log,
                                            env={**clean_environment(), "TMPDIR": str(tmp)})
        wait_until(lambda: "Ctrl-C" in self.out.read_text() or self.process.poll() is not None, "the words of welcome")

    @property
    def said(self):
        return self.out.read_text()

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        assert self.process.wait(60) == 0


@pytest.fixture
def unnamed(tmp_path):
    made = []
    tmp = tmp_path / "tmp"
    tmp.mkdir()

    def make():
        made.append(Unnamed(tmp, len(made)))
        return made[-1]

    yield tmp, make
    for one in made:
        if one.process.poll() is None:
            one.stop()


def test_the_demo_of_last_time_goes_on(unnamed):
    tmp, start = unnamed
    first = start()
    own = tmp / f"tidings-dev-{os.geteuid()}"
    assert f"Data is in {own}" in first.said and f"rm -r {own}" in first.said
    first.stop()
    second = start()
    assert f"The demo of last time goes on, with its data in {own}." in second.said
    second.stop()
    assert list(tmp.iterdir()) == [own]


def test_a_second_demo_has_a_directory_of_its_own(unnamed):
    tmp, start = unnamed
    start()
    other = start()
    assert other.process.poll() is None and "Data is in" in other.said
    assert len(list(tmp.iterdir())) == 2


@pytest.mark.parametrize("mode", [0o755, None], ids=["others may read it", "a link"])
def test_a_directory_that_somebody_else_may_have_made_is_not_used(unnamed, mode):
    tmp, start = unnamed
    own = tmp / f"tidings-dev-{os.geteuid()}"
    if mode:
        own.mkdir()
        own.chmod(mode)
    else:
        (tmp.parent / "elsewhere").mkdir(mode=0o700)
        own.symlink_to(tmp.parent / "elsewhere")
    one = start()
    assert one.process.poll() is None and "Data is in" in one.said and f"Data is in {own} " not in one.said
    assert not list(own.iterdir())


def test_a_demo_that_cannot_be_opened_says_how_to_begin_anew(unnamed):
    tmp, start = unnamed
    own = tmp / f"tidings-dev-{os.geteuid()}"
    own.mkdir(mode=0o700)
    (own / "data.mdb").write_bytes(b"damaged" * 4096)
    one = start()
    assert one.process.wait(60) != 0
    assert f"to begin the demo anew: rm -r {own}" in one.log.read_text()
