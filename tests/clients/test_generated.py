"""Clients made with the commands of docs/API.md compile, and do with the real server what integrators do first."""
import glob
import os
import re
import shlex
import shutil
import sys

import tools
from tools import CACHE, HERE, run

PROGRAMS = os.path.join(HERE, "programs")

# What each program in programs/ prints, whatever its language.
EXPECTED = """\
follow: true true
profile: Ann
published: 5, the last with 5 and https://example.org/5.png
badge: 5
open: Post 1, 4 left
mark: 1, 3 left
pages: 3 with 5 items, 3 unread
mark all: 3, 0 left
edit: Edited
scene: kept, new
reading: 1, more false
liked: Post 3
get: 404 not_found
get: 410 deleted
notice: This post was deleted by its author.
"""


def commands():
    """The guide's commands by their generator, as lists of words."""
    guide = tools.read(os.path.join(tools.ROOT, "docs", "API.md"))
    found = [shlex.split(line) for line in re.findall(r"^    openapi-generator (generate .+)$", guide, re.MULTILINE)]
    return {words[words.index("-g") + 1]: words for words in found}


def generate(name):
    """Makes a client; where it is."""
    words = commands()[name]
    made = tools.fresh("client-" + name)
    words[words.index("-i") + 1] = tools.DOCUMENT
    words[words.index("-o") + 1] = made
    # Only what is compiled: no pages, no tests that are empty.
    run(*tools.generator(), *words, "--global-property", "apiTests=false,modelTests=false,apiDocs=false,modelDocs=false")
    return made


def test_the_guide_has_the_four_languages():
    assert set(commands()) == {"python", "typescript-fetch", "go", "java"}


def test_no_schema_is_left_without_a_name():
    """What has none becomes InlineObject17, or ListReading200Response."""
    made = generate("python")
    models = {os.path.basename(path) for path in glob.glob(os.path.join(made, "tidings_client", "models", "*.py"))}
    assert len(models) > 80
    assert not [name for name in models if re.search(r"inline|_inner|_one_of|_any_of|_all_of|200_response", name)]
    assert {"badge_event.py", "post_event.py", "notification_event.py", "unread_event.py"} <= models


def test_python(settings):
    made = generate("python")
    program = os.path.join(PROGRAMS, "client.py")
    run(sys.executable, "-m", "compileall", "-q", made)
    run(sys.executable, "-m", "mypy", "--strict", "--follow-imports=silent", f"--cache-dir={CACHE}/mypy", program,
        MYPYPATH=made)
    assert run(sys.executable, program, PYTHONPATH=made, **settings) == EXPECTED


def test_typescript(settings, npm):
    made = tools.fresh("typescript")
    shutil.copytree(generate("typescript-fetch"), os.path.join(made, "tidings"))
    shutil.copy(os.path.join(PROGRAMS, "client.ts"), made)
    shutil.copy(os.path.join(HERE, "package.json"), made)  # which says that files are modules
    os.symlink(npm, os.path.join(made, "node_modules"))
    run(os.path.join(npm, ".bin", "tsc"), "--strict", "--noUncheckedIndexedAccess", "--target", "es2022", "--module",
        "nodenext", "--lib", "es2022,dom", "--types", "node", "--outDir", "out", "client.ts", cwd=made)
    assert run("node", os.path.join(made, "out", "client.js"), **settings) == EXPECTED


def test_go(settings):
    made = generate("go")
    os.makedirs(os.path.join(made, "cmd", "client"))
    shutil.copy(os.path.join(PROGRAMS, "client.go"), os.path.join(made, "cmd", "client"))
    run("go", "vet", "./...", cwd=made, **tools.go_settings())
    run("go", "build", "-o", "client", "./cmd/client", cwd=made, **tools.go_settings())
    assert run(os.path.join(made, "client"), **settings) == EXPECTED


def test_java(settings):
    made = generate("java")
    classes, jars = tools.fresh("classes"), tools.jars_of(os.path.join(made, "pom.xml"))
    sources = glob.glob(os.path.join(made, "src", "main", "**", "*.java"), recursive=True)
    run("javac", "-nowarn", "-encoding", "UTF-8", "-d", classes, "-cp", jars, *sources, os.path.join(PROGRAMS, "Client.java"))
    assert run("java", "-cp", f"{classes}:{jars}", "Client", **settings) == EXPECTED
