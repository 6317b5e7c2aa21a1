"""Tools that are downloaded once, by name and version, into the build directory; and how to run them."""
import os
import shutil
import subprocess

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
DOCUMENT = os.path.join(ROOT, "docs", "openapi.json")
CACHE = os.path.join(os.path.dirname(os.environ["TIDINGS_BIN"]), "clients")

GENERATOR = "7.25.0"
DEPENDENCY_PLUGIN = "org.apache.maven.plugins:maven-dependency-plugin:3.6.1"  # which the generated pom.xml has, too


def run(*command, cwd=None, **environment):
    """Runs a command; what it printed. It must succeed."""
    done = subprocess.run(command, cwd=cwd, env={**os.environ, **environment}, stdin=subprocess.DEVNULL,
                          capture_output=True, text=True, check=False, timeout=600)
    assert done.returncode == 0, f"{' '.join(command[:6])} ended with {done.returncode}:\n" \
                                 f"{done.stdout[-6000:]}\n{done.stderr[-6000:]}"
    return done.stdout


def fresh(name):
    """An empty directory for what is made."""
    made = os.path.join(CACHE, name)
    shutil.rmtree(made, ignore_errors=True)
    os.makedirs(made)
    return made


def fetched(name, version, fetch):
    """A directory that `fetch` filled, this time or, for the same version, an earlier one."""
    made, note = os.path.join(CACHE, name), os.path.join(CACHE, name + ".version")
    if not (os.path.isfile(note) and read(note) == version):
        fetch(fresh(name))
        with open(note, "w", encoding="utf-8") as file:
            file.write(version)
    return made


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def maven(goal, *arguments):
    run("mvn", "-q", "-B", f"-Dmaven.repo.local={os.path.join(CACHE, 'm2')}", f"{DEPENDENCY_PLUGIN}:{goal}", *arguments)


def generator():
    """The command of openapi-generator."""
    def fetch(directory):
        maven("copy", f"-Dartifact=org.openapitools:openapi-generator-cli:{GENERATOR}", f"-DoutputDirectory={directory}")
    made = fetched("generator", GENERATOR, fetch)
    return ["java", "-jar", os.path.join(made, f"openapi-generator-cli-{GENERATOR}.jar")]


def jars_of(pom):
    """A class path of what a generated client for Java needs."""
    def fetch(directory):
        maven("copy-dependencies", "-f", pom, "-DincludeScope=compile", f"-DoutputDirectory={directory}")
    return os.path.join(fetched("jars", read(pom), fetch), "*")


def npm_packages():
    """node_modules of package.json."""
    def fetch(directory):
        for name in ("package.json", "package-lock.json"):
            shutil.copy(os.path.join(HERE, name), directory)
        run("npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error", cwd=directory)
    return os.path.join(fetched("npm", read(os.path.join(HERE, "package-lock.json")), fetch), "node_modules")


def go_settings():
    """Go, with all it downloads and builds in the cache, and as it is installed."""
    return {"GOMODCACHE": os.path.join(CACHE, "go", "modules"), "GOCACHE": os.path.join(CACHE, "go", "built"),
            "GOFLAGS": "-modcacherw", "GOTOOLCHAIN": "local", "GOWORK": "off"}
