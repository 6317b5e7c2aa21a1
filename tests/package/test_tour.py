"""docs/TOUR.md in both languages is run as it stands: every command, and what it is said to answer."""
import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, os.fspath(ROOT / "tests" / "http"))

from support.server import BIN, clean_environment, wait_until  # noqa: E402

TOURS = ["docs/TOUR.md", "docs/TOUR.zh-CN.md"]
# Made by the server, or of the moment: only what kind of thing they are is compared.
OF_THE_MOMENT = re.compile(r"(.*_)?id|.*_at|as_of|next_cursor|version")
END = "---- end ----"


class Demo:
    def __init__(self, directory):
        with open(directory / "log", "wb") as log:
            self.process = subprocess.Popen([BIN, "serve", "--dev", "--data", directory / "data", "--listen", "127.0.0.1:0"],
                                            stdout=subprocess.PIPE, stderr=log, text=True, env=clean_environment())
        said = ""
        for line in self.process.stdout:
            said += line
            if "Ctrl-C" in line:
                break
        self.variables = "\n".join(re.findall(r"^ *((?:TOKEN|SERVICE)=\S+)$", said, re.MULTILINE))
        self.url = re.search(r"http://127\.0\.0\.1:\d+", said).group(0)

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        self.process.communicate()
        assert self.process.returncode == 0


class Shell:
    """One shell, as somebody has it open."""

    def __init__(self, variables):
        self.process = subprocess.Popen(["bash", "--norc"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.run(variables)

    def run(self, commands):
        self.process.stdin.write(f"{commands}\necho\necho '{END}'\n")
        self.process.stdin.flush()
        lines = []
        for line in self.process.stdout:
            if line.strip() == END:
                return "".join(lines)
            lines.append(line)
        raise AssertionError(f"the shell ended: {commands}")

    def close(self):
        self.process.communicate()


def blocks(text):
    """(commands, answer or None), in the order of the page: an answer is a block of its own behind its commands."""
    found = []
    for block in re.findall(r"(?:^    .*\n)+", text, re.MULTILINE):
        lines = "\n".join(line[4:] for line in block.rstrip("\n").split("\n"))
        if lines.startswith(("{", "event:")):
            found[-1] = (found[-1][0], lines)
        elif lines != "make run":
            found.append((lines, None))
    return found


def documents(text):
    """The JSON documents in a text, one behind the other."""
    text = text.replace("[…,", '["…",').strip()
    found, decoder = [], json.JSONDecoder()
    while text:
        value, end = decoder.raw_decode(text)
        found.append(value)
        text = text[end:].lstrip()
    return found


def differences(said, answered, where="", name=""):
    """Where an answer is other than the page says. `…` stands for anything, at the head of a list for what comes before."""
    if said == "…":
        return
    if isinstance(said, dict) and isinstance(answered, dict):
        if said.keys() != answered.keys():
            yield f"{where}: {sorted(said.keys() ^ answered.keys())}"
        for member in said.keys() & answered.keys():
            yield from differences(said[member], answered[member], f"{where}.{member}", member)
    elif isinstance(said, list) and isinstance(answered, list):
        if said[:1] == ["…"]:
            said, answered = said[1:], answered[-(len(said) - 1):]
        if len(said) != len(answered):
            yield f"{where}: {len(answered)} instead of {len(said)}"
        for i, (one, other) in enumerate(zip(said, answered)):
            yield from differences(one, other, f"{where}[{i}]")
    elif OF_THE_MOMENT.fullmatch(name) and name not in ("user_id", "author_id"):
        if type(said) is not type(answered):
            yield f"{where}: {answered!r} is not like {said!r}"
    elif said != answered:
        yield f"{where}: {answered!r} instead of {said!r}"


@pytest.mark.parametrize("page", TOURS)
def test_the_tour_is_as_the_page_says(page, tmp_path):
    demo = Demo(tmp_path)
    shell, stream = Shell(demo.variables), None
    heard = tmp_path / "stream"
    heard.touch()
    compared = 0
    try:
        for commands, said in blocks((ROOT / page).read_text(encoding="utf-8")):
            commands = commands.replace("http://127.0.0.1:8080", demo.url)
            if "/v1/stream" in commands:
                shell.run(f"{commands} >{heard} 2>&1 & STREAM=$!")
                stream = True
                wait_until(lambda: '{"total":7}' in heard.read_text(), "the first badge")
                assert said.startswith("event: badge\nid: ")
                continue
            answered = shell.run(commands)
            if said:
                compared += 1
                for one, other in zip(documents(said), documents(answered), strict=True):
                    assert not list(differences(one, other)), commands
            if "/open" in commands:
                wait_until(lambda: '{"total":6}' in heard.read_text(), "the badge after opening")
            if "New from Ann" in commands:
                wait_until(lambda: heard.read_text().count('{"total":7}') == 2, "the badge after Ann's post")
        assert compared >= 10 and stream
    finally:
        shell.run("kill $STREAM 2>/dev/null; wait")
        shell.close()
        demo.stop()


@pytest.mark.parametrize("page", ["README.md", "README.zh-CN.md"])
def test_the_lines_of_the_readme_work(page, tmp_path):
    text = (ROOT / page).read_text(encoding="utf-8")
    (commands,) = (lines for lines, _ in blocks(text) if lines.startswith("API="))
    demo = Demo(tmp_path)
    shell = Shell(demo.variables)
    try:
        for command in commands.replace("http://127.0.0.1:8080", demo.url).splitlines():
            if "/v1/stream" in command:
                heard = tmp_path / "stream"
                heard.touch()
                shell.run(f"{command.partition(' #')[0]} >{heard} & STREAM=$!")
                wait_until(lambda: "event: badge" in heard.read_text(), "the first badge")
            elif command.startswith("curl"):
                (answer,) = documents(shell.run(command))
                assert "code" not in answer and ("badge" not in command or answer == {"total": 7}), command
            else:
                shell.run(command)
    finally:
        shell.run("kill $STREAM 2>/dev/null; wait")
        shell.close()
        demo.stop()


@pytest.mark.parametrize("said, answered, same", [
    ({"total": 7}, {"total": 7}, True), ({"total": 7}, {"total": 6}, False), ({"total": 7}, {"total": 7, "more": 1}, False),
    ({"post_id": 1}, {"post_id": 2}, True), ({"post_id": 1}, {"post_id": "2"}, False), ({"author_id": 1}, {"author_id": 2}, False),
    ({"items": ["…", 3]}, {"items": [1, 2, 3]}, True), ({"items": ["…", 3]}, {"items": [1, 2]}, False)])
def test_what_is_wrong_would_be_found(said, answered, same):
    assert bool(list(differences(said, answered))) is not same
