"""Tools that are downloaded once, into the build directory; nothing is installed."""
import os
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
CONTRIB = ROOT / "contrib"
CACHE = Path(os.environ["TIDINGS_BIN"]).resolve().parent / "contrib-tools"


def run(*command, **how):
    """Runs a command that must succeed; what it printed."""
    done = subprocess.run([os.fspath(part) for part in command], stdin=subprocess.DEVNULL, capture_output=True, text=True,
                          check=False, timeout=300, **how)
    assert done.returncode == 0, f"{command[0]} ended with {done.returncode}:\n{done.stdout[-4000:]}\n{done.stderr[-4000:]}"
    return done.stdout


def from_package(package, path):
    """A file of a Debian package."""
    run(ROOT / "scripts" / "fetch-package", package, CACHE / package)
    return CACHE / package / path


def promtool(*arguments, **how):
    return run(from_package("prometheus", "usr/bin/promtool"), *arguments, **how)
