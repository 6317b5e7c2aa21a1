"""The manual page and the completion have every command and option, and their readers find nothing wrong with them."""
import os
import re
import subprocess

import pytest
from support.server import BIN, tidings
from tables import commands, every_option, options

MADE = os.path.join(os.path.dirname(os.path.abspath(BIN)), "contrib")


@pytest.fixture(scope="module")
def page():
    return os.path.join(MADE, "tidings.1")


@pytest.fixture(scope="module")
def script():
    return os.path.join(MADE, "tidings")


def test_what_was_built_is_what_the_program_says(page, script):
    with open(script, encoding="utf-8") as file:
        assert file.read() == tidings("help", "--completion").stdout
    with open(page, encoding="utf-8") as file:
        built = file.read()
    assert built.splitlines()[1:] == tidings("help", "--man").stdout.splitlines()[1:], "but for the date"
    assert tidings("help", "--man", SOURCE_DATE_EPOCH="86400").stdout.startswith(".TH TIDINGS 1 1970-01-02 ")


# ---- The manual page ----

def test_the_page_is_without_fault(page):
    for reader in (["groff", "-man", "-Tutf8", "-ww", "-z", page], ["mandoc", "-T", "lint", "-W", "warning", page]):
        done = subprocess.run(reader, capture_output=True, text=True, check=False)
        assert done.returncode == 0 and not done.stdout and not done.stderr, done


def test_the_page_has_every_command_and_option(page):
    read = subprocess.run(["mandoc", "-T", "utf8", "-O", "width=200", page], capture_output=True, text=True,
                          check=True).stdout
    text = re.sub(r".\x08", "", read)  # letters printed twice are bold ones
    parts = re.split(r"^   (?=\S)", text.split("\nCOMMANDS\n")[1].split("\nENVIRONMENT\n")[0], flags=re.M)[1:]
    told = {part.split("\n", 1)[0]: part for part in parts}
    assert list(told) == commands()
    for command, flag, value in every_option():
        found = re.search(rf"^     +{re.escape((flag + ' ' + value).strip())}(\s|$)", told[command], re.M)
        assert found, (command, flag, value)
    for command, part in told.items():
        assert f"tidings {command}" in part and "Exit status: 0" in part
    assert "(127.0.0.1:8080)" in told["serve"] and "TIDINGS_JWT_SECRET" in told["serve"]


# ---- Completion ----

ASK = r"""
source "$1"
shift
COMP_WORDS=("$@")
COMP_CWORD=$(($# - 1))
_tidings
printf '%s\n' "${COMPREPLY[@]}"
"""


def offered(script, *words, cwd=None):
    """What bash offers for the last of the words."""
    done = subprocess.run(["bash", "--norc", "-uc", ASK, "ask", script, "tidings", *words], capture_output=True,
                          text=True, check=True, cwd=cwd)
    assert not done.stderr
    return done.stdout.split("\n")[:-1] if done.stdout.strip() else []


def test_every_command_is_offered(script):
    assert set(offered(script, "")) == {*commands(), "--help", "--version"}
    assert offered(script, "re") == ["restore"]
    assert offered(script, "help", "") == commands()
    registered = subprocess.run(["bash", "--norc", "-c", 'source "$1"; complete -p tidings', "ask", script],
                                capture_output=True, text=True, check=True)
    assert registered.stdout == "complete -F _tidings tidings\n"


def test_every_option_is_offered(script):
    for command in commands():
        assert offered(script, command, "--") == list(options(command)), command
    assert offered(script, "serve", "--dev", "--lis") == ["--listen"]
    assert offered(script, "verify", "") == list(options("verify"))


def test_values_are_offered_where_they_are_known(script, tmp_path):
    (tmp_path / "a dir").mkdir()
    (tmp_path / "a file").touch()
    for command, flag, value in every_option():
        words = offered(script, command, flag, "", cwd=tmp_path)
        if value == "DIR":
            assert words == ["a dir"], (command, flag)
        elif value == "FILE":
            assert sorted(words) == ["a dir", "a file"], (command, flag)
        elif "|" in value:
            assert words == value.strip("[]").split("|"), (command, flag)
        elif value:
            assert not words, (command, flag)
    assert offered(script, "serve", "--durability", "=", "se") == ["second"]
    assert offered(script, "serve", "--durability", "=") == ["commit", "second"]
    assert offered(script, "backup", "a", cwd=tmp_path) == ["a dir"]
    assert offered(script, "restore", "", cwd=tmp_path) == ["a dir"]
    assert offered(script, "cluster", "") == ["init", "status", "begin", "targets", "dead", "retry", "replay", "rebuild", "reconcile"]
    assert not offered(script, "cluster", "replay", "")
    assert offered(script, "cluster", "status", "--j") == ["--json"]
    assert offered(script, "serve", "--freshness", "") == ["exact", "bounded"]


# ---- The file with settings ----

CONF = os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir, os.pardir, "contrib", "tidings.conf")


def test_the_file_with_settings_has_each_with_its_default():
    """`take_back` and `old_refill` are none: they are for once."""
    with open(CONF, encoding="utf-8") as file:
        lines = dict(re.findall(r"(?m)^#?([a-z_]+) = (.*)$", file.read()))
    told = {flag[2:].replace("-", "_") for flag in options("serve")} - {"help", "config", "dev", "old_refill", "take_back"}
    assert set(lines) == told
    text = re.sub(r"\s+", " ", tidings("serve", "--help").stdout)
    numbers = {name: default for name, default in re.findall(r"--([a-z-]+) (?:N|\[0\|1\]|\S+\|\S+) (?:(?! --[a-z]).)*?\(([\w.]+)\)(?= --| Example)", text)}
    assert len(numbers) > 60
    wrong = {name: (lines[name.replace("-", "_")], default) for name, default in numbers.items() if lines[name.replace("-", "_")] != default}
    assert not wrong
