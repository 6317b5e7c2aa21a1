"""A program that links the shared library needs tidings.pc, and none of what the library is made of."""
import os
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ["TIDINGS_BIN"]).resolve().parent
PARTS = ["lmdb", "mariadb", "ssl", "crypto"]
OF_THE_SERVER = ["hiredis", "rdkafka"]  # alone


@pytest.fixture
def pkg_config(tmp_path):
    """pkg-config in a root where tidings.pc is the only file of its kind."""
    shutil.copy(BUILD / "meson-private" / "tidings.pc", tmp_path)
    environment = {**os.environ, "PKG_CONFIG_LIBDIR": str(tmp_path)}
    environment.pop("PKG_CONFIG_PATH", None)

    def ask(*arguments):
        done = subprocess.run(["pkg-config", *arguments, "tidings"], env=environment, text=True, capture_output=True,
                              check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout.split()

    return ask


def test_flags_need_no_other_package(pkg_config):
    flags = pkg_config("--cflags", "--libs")
    assert "-ltidings" in flags
    assert not {f"-l{part}" for part in PARTS + OF_THE_SERVER} & set(flags)


def test_a_static_program_is_told_every_library(pkg_config):
    flags = set(pkg_config("--static", "--libs"))
    assert {f"-l{part}" for part in PARTS} | {"-ltidings"} <= flags
    assert not {f"-l{part}" for part in OF_THE_SERVER} & flags


def test_the_library_needs_nothing_of_the_server():
    needed = subprocess.run(["readelf", "-d", BUILD / "libtidings.so.0"], text=True, capture_output=True, check=True).stdout
    assert "liblmdb" in needed and not any(f"lib{part}" in needed for part in OF_THE_SERVER)


def build_embed(output, *flags):
    return subprocess.run(["cc", "-I", ROOT / "include", "-o", output, ROOT / "examples" / "embed.c", "-L", BUILD, *flags],
                          text=True, capture_output=True, check=False)


def libraries_here(flags):
    """Without where the library is going to be installed: the build directory has it now."""
    return [flag for flag in flags if flag.startswith("-l")]


def test_a_program_links_and_runs(pkg_config, tmp_path):
    done = build_embed(tmp_path / "embed", *libraries_here(pkg_config("--libs")))
    assert done.returncode == 0, done.stderr
    needed = subprocess.run(["readelf", "-d", tmp_path / "embed"], text=True, capture_output=True, check=True).stdout
    assert "libtidings.so.0" in needed and not any(f"lib{part}" in needed for part in PARTS)
    ran = subprocess.run([tmp_path / "embed", tmp_path / "data"], env={**os.environ, "LD_LIBRARY_PATH": str(BUILD)}, text=True,
                         capture_output=True, check=False)
    assert ran.returncode == 0 and "Bob has 0 unread" in ran.stdout, ran.stderr


def test_a_static_program_links(pkg_config, tmp_path):
    libraries = libraries_here(pkg_config("--static", "--libs"))
    libraries[libraries.index("-ltidings")] = "-l:libtidings.a"
    done = build_embed(tmp_path / "embed", *libraries)
    assert done.returncode == 0, done.stderr
