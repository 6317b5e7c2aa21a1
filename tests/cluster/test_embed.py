"""examples/embed.c on the cluster engine: the same program says the same. tests/local has it on a directory."""
import os
import subprocess

import database
from support.server import tidings

EMBED = os.environ["EMBED_PROGRAM"]
SAYS = 'Bob has 1 unread\nBob reads "Hello": First post!\nBob has 0 unread\n'


def embed(url):
    return subprocess.run([EMBED, url], capture_output=True, text=True, timeout=60, check=False)


def test_the_example_says_what_its_text_promises():
    url = f"mysql://root@localhost/embed?socket={database.SOCKET}"
    done = embed(url)
    assert done.returncode == 1 and "cannot open mysql://" in done.stderr, "without tables"
    assert tidings("cluster", "init", "--mysql", url).returncode == 0
    done = embed(url)
    assert (done.returncode, done.stdout, done.stderr) == (0, SAYS, "")
