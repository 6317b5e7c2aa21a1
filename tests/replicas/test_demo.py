"""`serve --dev` on a log in MySQL: the demo community is there once, whoever comes first."""
import json
import os
import re
import subprocess
import urllib.request

import pytest
from conftest import numbers
from support.server import BIN, clean_environment, make_database, tidings, wait_until


class Demo:
    def __init__(self, directory, url, *arguments):
        self.out, self.log = directory.with_suffix(".out"), directory.with_suffix(".log")
        with open(self.out, "w", encoding="utf-8") as out, open(self.log, "w", encoding="utf-8") as log:
            self.process = subprocess.Popen([BIN, "serve", "--data", os.fspath(directory), "--mysql", url, "--listen", "127.0.0.1:0",
                                             *arguments], stdout=out, stderr=log, env=clean_environment())

    def wait(self):
        wait_until(lambda: "Ctrl-C" in self.out.read_text() or self.process.poll() is not None, "the words of welcome")
        assert self.process.poll() is None, self.log.read_text()
        self.url, self.service = re.search(r"(http://127\S+?)/#dev=([^&]+)&", self.out.read_text()).groups()
        return self

    def titles(self):
        request = urllib.request.Request(self.url + "/v1/inbox?limit=100", headers={"Authorization": "Bearer " + self.service, "X-User-Id": "1"})
        with urllib.request.urlopen(request, timeout=60) as answer:
            return [row["title"] for row in json.loads(answer.read())["items"]]

    def stop(self):
        self.process.terminate()
        return self.process.wait(60)


@pytest.fixture
def url():
    return make_database(f"demo_{os.getpid()}_{next(numbers)}")


@pytest.fixture
def make_demo(tmp_path, url):
    made = []

    def make(name):
        made.append(Demo(tmp_path / name, url, "--dev"))
        return made[-1]

    yield make
    for one in made:
        one.stop()


def test_a_server_that_joins_makes_no_demo_of_its_own(make_demo):
    first = make_demo("first").wait()
    titles = first.titles()
    assert titles and len(set(titles)) == len(titles)
    second = make_demo("second").wait()
    assert second.titles() == titles and first.titles() == titles


@pytest.mark.parametrize("attempt", range(3))
@pytest.mark.parametrize("begun", [True, False])
def test_of_servers_that_start_together_one_makes_it(make_demo, make_server, url, begun, attempt):
    """On a log that has no writer; or where there is no log, and one of them begins it."""
    if begun:
        make_server(arguments=["--mysql", url]).start().stop()
    together = [make_demo(name) for name in "abc"]
    found = [one.wait() for one in together]  # the one that makes it says so when it is done
    titles = found[0].titles()
    assert titles and len(set(titles)) == len(titles)
    assert [one.titles() for one in found] == [titles] * 3


def test_a_directory_is_named():
    done = tidings("serve", "--dev", "--mysql", "mysql://root@localhost/none")
    assert done.returncode == 2 and "--data is missing" in done.stderr
