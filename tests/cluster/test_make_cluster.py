"""What `make cluster` starts: three services, and three servers that answer alike; Ctrl-C leaves nothing behind."""
import json
import os
import re
import signal
import subprocess
import urllib.request
from pathlib import Path

from support.server import BIN, PATIENCE_S, clean_environment, wait_until

ROOT = Path(__file__).resolve().parents[2]
START_S = 180


def descendants(pid):
    """Pids of all that a process has started, theirs too."""
    found = []
    for children in Path(f"/proc/{pid}/task").glob("*/children"):
        for child in map(int, children.read_text().split()):
            found += [child, *descendants(child)]
    return found


def runs(pid):
    """A zombie does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


class Cluster:
    def __init__(self, tmp_path):
        self.out = tmp_path / "out"
        with open(self.out, "wb") as out:
            self.process = subprocess.Popen([ROOT / "scripts/cluster", BIN], env=clean_environment(TMPDIR=os.fspath(tmp_path)), stdin=subprocess.DEVNULL,
                                            stdout=out, stderr=subprocess.STDOUT, start_new_session=True)
        wait_until(lambda: "Ctrl-C" in self.out.read_text() or self.process.poll() is not None, "the words of welcome", START_S)
        said = self.out.read_text()
        assert self.process.poll() is None, said
        self.ports = re.findall(r"http://127\.0\.0\.1:(\d+)/#dev=", said)
        self.variables = re.search(r"^  \. (\S+/env)$", said, re.MULTILINE).group(1)
        self.token = re.search(r"TOKEN=(\S+)", said).group(1)

    def ask(self, port, method, path):
        request = urllib.request.Request(f"http://127.0.0.1:{port}/v1{path}", method=method,
                                         headers={"Authorization": "Bearer " + self.token})
        with urllib.request.urlopen(request, timeout=PATIENCE_S) as answer:
            return json.loads(answer.read())

    def interrupt(self):
        """As a terminal does: everybody in the foreground is told."""
        os.killpg(self.process.pid, signal.SIGINT)
        return self.process.wait(START_S)

    def shell(self, commands):
        """In a shell that has read the variables; what it printed."""
        done = subprocess.run(["bash", "-ec", f". {self.variables}\n{commands}"], env=clean_environment(), capture_output=True,
                              text=True, stdin=subprocess.DEVNULL, timeout=START_S, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def look(self, program, more):
        """What one of the command lines that it printed says."""
        line = re.search(rf"^  ({program} .*)$", self.out.read_text(), re.MULTILINE).group(1)
        return self.shell(f"{line} {more}")


def test_three_servers_answer_alike_and_nothing_is_left_of_them(tmp_path):
    cluster = Cluster(tmp_path)
    started = descendants(cluster.process.pid)
    try:
        assert len(set(cluster.ports)) == 3 and len(started) >= 14, "a database, six nodes, a broker, three servers, and who started them"
        unread = [cluster.ask(port, "GET", "/inbox/badge")["total"] for port in cluster.ports]
        assert len(set(unread)) == 1 and unread[0] > 0
        post = cluster.ask(cluster.ports[0], "GET", "/inbox?filter=unread&limit=1")["items"][0]["post_id"]
        cluster.ask(cluster.ports[1], "POST", f"/posts/{post}/open")
        assert [cluster.ask(port, "GET", "/inbox/badge")["total"] for port in cluster.ports] == [unread[0] - 1] * 3
        assert int(cluster.look("mariadb", "--skip-column-names -e 'SELECT COUNT(*) FROM post'")) > 0
        assert cluster.look("redis-cli", "cluster info").startswith("cluster_state:ok")
        assert json.loads(cluster.look("kcat", "-c 1 -q"))["event_id"] > 0, "Kafka was told of the demo"
    finally:
        code = cluster.interrupt()
    assert code == 0, cluster.out.read_text()[-4000:]
    assert not [pid for pid in started if runs(pid)]
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def tour():
    """The commands of the tour, as the document has them."""
    text = (ROOT / "docs" / "operations" / "cluster.md").read_text()
    commands = re.search(r"^### A tour\n(?:\S*[^\n]*\n|\n)*?((?:    [^\n]*\n)+)", text, re.MULTILINE).group(1)
    first, _, rest = commands.partition("\n")
    assert first.strip().startswith(". ") and "env" in first
    return rest


def test_the_tour_is_as_the_document_says(tmp_path):
    cluster = Cluster(tmp_path)
    try:
        said = cluster.shell(tour())
        badges = re.findall(r'\{"total":(\d+)\}', said)
        assert len(badges) == 10 and len(set(badges)) == 1, said
        assert said.count("mysql ") == 2 and len(re.findall(r"^server \d+", said, re.MULTILINE)) >= 6
        assert said.count("kafka ") == 2
        for port in cluster.ports:
            assert cluster.ask(port, "GET", "/inbox/badge")["total"] == int(badges[0])
        assert cluster.process.poll() is None
        cluster.shell("cluster kill server 2")  # which is what the status calls it

        def running():
            return {row["slot"] for row in json.loads(cluster.shell("tidings cluster status --json"))["servers"] if row["running"]}

        wait_until(lambda: 2 not in running(), "server 2 is silent")
        assert 0 in running() and len(running()) == 2
        assert "ValueError" in cluster.shell("! cluster kill server 3 2>&1; ! cluster kill server -1 2>&1")
    finally:
        code = cluster.interrupt()
    assert code == 0, cluster.out.read_text()[-4000:]


def test_a_part_that_is_not_there_is_refused_with_a_word(tmp_path):
    """And a shell that has read no variables has none."""
    done = subprocess.run([ROOT / "scripts/cluster", "kill", "server", "1"], env=clean_environment(), capture_output=True, text=True,
                          cwd=tmp_path, stdin=subprocess.DEVNULL, timeout=START_S, check=False)
    assert done.returncode == 1 and "there is no server here" in done.stderr
