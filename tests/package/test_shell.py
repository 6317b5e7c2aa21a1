"""shellcheck finds nothing in the shell scripts of the tree."""
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def shell_scripts():
    named = subprocess.run(["git", "grep", "-lE", r"^#!.*(/| )(ba)?sh$"], cwd=ROOT, text=True, capture_output=True, check=True).stdout
    return [name for name in named.splitlines() if (ROOT / name).read_text(encoding="utf-8").startswith("#!")]


def test_shellcheck_finds_nothing():
    scripts = shell_scripts()
    assert {"scripts/setup", "contrib/deb/postinst", "tests/deb/run"} <= set(scripts)
    done = subprocess.run(["shellcheck", "--severity=style", *scripts], cwd=ROOT, text=True, capture_output=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
