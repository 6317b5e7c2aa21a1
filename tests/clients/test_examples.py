"""The examples are one program in five languages, without a client, and each does what it says."""
import os
import sys

import pytest

import tools

EXPECTED = """\
following: true
unread: 3
list: Note 3, Note 2, Note 1
opened Note 3: 2 left
marked 2: 0 left
404 not_found: There is no such thing.
"""

COMMANDS = {
    "tour.py": [sys.executable],
    "tour.mjs": ["node"],
    "tour.go": ["go", "run"],
    "Tour.java": ["java"],
    "tour.sh": ["sh"],
}


def test_none_is_left_out():
    assert {name for name in os.listdir(os.path.join(tools.ROOT, "examples")) if "our." in name} == set(COMMANDS)


@pytest.mark.parametrize("name", COMMANDS)
def test_example(settings, name):
    program = os.path.join(tools.ROOT, "examples", name)
    for _ in range(2):  # and again, where everything has been read
        assert tools.run(*COMMANDS[name], program, **tools.go_settings(), **settings) == EXPECTED
