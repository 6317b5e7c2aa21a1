"""Every directory, log, backup and export that was kept of a release opens in this version, with the same answers."""
import json
import os
import subprocess

import keeping
import pytest
from keeping import HERE, answers_of, is_within, must, tidings

ARCHIVES = sorted(HERE.glob("*.tar.zst"))


def test_something_is_kept():
    assert ARCHIVES


@pytest.fixture(params=ARCHIVES, ids=lambda archive: archive.name.removesuffix(".tar.zst"))
def kept(request, tmp_path):
    subprocess.run(["tar", "--extract", "--use-compress-program", "zstd --long=24", "--file", request.param, "--directory", tmp_path],
                   check=True)
    return tmp_path


def compare(kept, directory):
    wanted, found = json.loads((kept / "answers.json").read_text()), answers_of(directory)
    assert {request for request, answer in wanted.items() if not is_within(answer, found.get(request))} == set()
    must(tidings("verify", "--data", os.fspath(directory)))


@pytest.mark.parametrize("name", ["closed", "killed", "backup"])
def test_a_server_starts_on_it_and_answers_as_then(kept, name):
    compare(kept, kept / name)


@pytest.mark.parametrize("name", ["closed", "killed", "backup"])
def test_it_is_restored(kept, name):
    must(tidings("restore", os.fspath(kept / name), "--data", os.fspath(kept / "restored")))
    compare(kept, kept / "restored")


@pytest.mark.parametrize("name", ["closed", "killed"])
def test_its_log_is_read(kept, name):
    assert must(tidings("log", "--data", os.fspath(kept / name))).stdout


def test_its_facts_are_imported(kept):
    must(tidings("import", os.fspath(kept / "facts.jsonl"), "--data", os.fspath(kept / "imported")))
    wanted, found = json.loads((kept / "answers.json").read_text()), answers_of(kept / "imported")
    assert {name for name in wanted if "/inbox" in name and not is_within(wanted[name], found.get(name))} == set()


def test_a_difference_would_be_found():
    assert is_within({"a": [1]}, {"a": [1], "b": 2})
    assert not is_within({"a": [1]}, {"a": [1, 2]}) and not is_within({"a": 1}, {}) and not is_within([{"a": 1}], [{"a": 2}])
    assert keeping.lasting({"as_of": 1, "items": [{"next_cursor": 2, "id": 3}]}) == {"items": [{"id": 3}]}
