"""scripts/setup for somebody who may not install packages: one line that an admin can run."""
import os
import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
TOOLS = ["bash", "cat", "dirname", "env", "grep", "mkdir", "python3", "rm"]


def write_program(path, text):
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)


@pytest.fixture
def run_setup(tmp_path):
    """The script on a machine of a plain user, with a Node and without a single package."""
    for tool in TOOLS:
        (tmp_path / tool).symlink_to(subprocess.run(["which", tool], text=True, capture_output=True, check=True).stdout.strip())
    write_program(tmp_path / "id", "echo 1000")
    write_program(tmp_path / "dpkg-query", "exit 1")
    for tool in ("node", "npm"):
        write_program(tmp_path / tool, "exit 0")
    write_program(tmp_path / "apt-get", f"echo called >{tmp_path}/called; exit 1")

    def run(part, sudo=None):
        if sudo is not None:
            write_program(tmp_path / "sudo", sudo)
        done = subprocess.run([ROOT / "scripts" / "setup", part], env={"PATH": os.fspath(tmp_path)}, text=True,
                              capture_output=True, check=False)
        assert not (tmp_path / "called").exists()
        return done

    return run


@pytest.mark.parametrize("sudo, why", [(None, "there is no sudo"), ("exit 1", "sudo refuses")])
def test_without_rights_one_line_is_for_an_admin(run_setup, sudo, why):
    done = run_setup("run", sudo)
    assert done.returncode == 1 and not done.stdout
    assert why in done.stderr
    (line,) = re.findall(r"^ +(apt-get .*)$", done.stderr, re.MULTILINE)
    assert line.startswith("apt-get update && apt-get install -y --no-install-recommends gcc ")
    assert {"liblmdb-dev", "librdkafka-dev", "meson"} <= set(line.split()) and "chromium" not in line


def test_the_line_has_what_the_part_needs(run_setup):
    assert "debootstrap" in run_setup("deb").stderr
