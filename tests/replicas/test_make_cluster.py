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
            self.process = subprocess.Popen([ROOT / "scripts/cluster", BIN], env=clean_environment(TMPDIR=os.fspath(tmp_path)),
                                            stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT, start_new_session=True)
        wait_until(lambda: "Ctrl-C" in self.out.read_text() or self.process.poll() is not None, "the words of welcome", START_S)
        said = self.out.read_text()
        assert self.process.poll() is None, said
        self.ports = re.findall(r"http://127\.0\.0\.1:(\d+)/#dev=", said)
        self.variables = re.search(r"^  \. (\S+/env)$", said, re.MULTILINE).group(1)
        self.token = re.search(r"TOKEN=(\S+)", said).group(1)
        self.admin = re.search(r"&admin=([^&]+)&", said).group(1)

    def ask(self, port, method, path, token=None):
        request = urllib.request.Request(f"http://127.0.0.1:{port}/v1{path}", method=method,
                                         headers={"Authorization": "Bearer " + (token or self.token)})
        with urllib.request.urlopen(request, timeout=PATIENCE_S) as answer:
            return json.loads(answer.read())

    def status(self, port):
        return self.ask(port, "GET", "/admin/status", self.admin)

    def place(self, port):
        replica = self.status(port)["replica"]
        return replica["position"], replica["chain"]

    def wait_for_kafka(self, port):
        def told():
            return [one for one in self.status(port)["consumers"] if one["name"] == "kafka" and one["told"] and not one["waiting_since"]]

        wait_until(told, "Kafka is told", START_S)

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
        posts = [row["post_id"] for row in cluster.ask(cluster.ports[0], "GET", "/inbox?limit=100")["items"]]
        titles = [row["title"] for row in cluster.ask(cluster.ports[2], "GET", "/inbox?limit=100")["items"]]
        assert len(titles) == len(posts) and len(set(titles)) == len(titles), "the demo was made once"
        post = cluster.ask(cluster.ports[0], "GET", "/inbox?filter=unread&limit=1")["items"][0]["post_id"]
        cluster.ask(cluster.ports[1], "POST", f"/posts/{post}/open")
        assert [cluster.ask(port, "GET", "/inbox/badge")["total"] for port in cluster.ports] == [unread[0] - 1] * 3
        records = int(cluster.look("mariadb", "--skip-column-names -e 'SELECT COUNT(*) FROM tidings_log'"))
        assert records >= max(cluster.status(port)["replica"]["position"] for port in cluster.ports) > 0
        assert cluster.look("redis-cli", "cluster info").startswith("cluster_state:ok")
        cluster.wait_for_kafka(cluster.ports[0])
        assert json.loads(cluster.look("kcat", "-c 1 -q"))["event_id"] > 0, "Kafka was told of the demo"
        directories = cluster.shell("for d in $DATA_0 $DATA_1 $DATA_2; do test -f $d/data.mdb; echo $d; done").split()
        assert len(set(directories)) == 3, "each has a directory of its own"
    finally:
        code = cluster.interrupt()
    assert code == 0, cluster.out.read_text()[-4000:]
    assert not [pid for pid in started if runs(pid)]
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def tour():
    """The commands of the tour, as the document has them."""
    text = (ROOT / "docs" / "operations" / "replicas.md").read_text()
    commands = re.search(r"^## A tour\n(?:\S*[^\n]*\n|\n)*?((?:    [^\n]*\n)+)", text, re.MULTILINE).group(1)
    first, _, rest = commands.partition("\n")
    assert first.strip().startswith(". ") and "env" in first
    return rest


def test_the_tour_is_as_the_document_says(tmp_path):
    cluster = Cluster(tmp_path)
    try:
        said = cluster.shell(tour())
        badges = list(map(int, re.findall(r'\{"total":(\d+)\}', said)))
        first = badges[0]
        assert badges == [first] * 3 + [first + 1] * 3 + [first + 1] * 2 + [first + 2] * 3 + [first + 3] * 3 + [first + 4], said
        assert re.findall(r"HTTP/1.1 (\d+)", said) == ["200"] * len(badges)
        assert re.findall(r"published: (\d+)", said) == ["201"] * 4
        before, after = re.findall(r"(?:^server \d .*\n){3}", said, re.MULTILINE)
        assert "server 0  writer" in before and before.count("writer") == 1
        assert "server 0  does not answer" in after and len(re.findall(r"^server [12]  writer", after, re.MULTILINE)) == 1
        ages = [int(age or 0) for age in re.findall(r'HTTP/1.1 200 OK\s+(?:Tidings-Age: (\d+)\s+)?\{"total"', said)]
        assert len(ages) == len(badges) and min(ages[9:11]) > 2000 > max(ages[:9]), "of the two reads while MySQL stood still\n" + said
        for port in cluster.ports:
            assert cluster.ask(port, "GET", "/inbox/badge")["total"] == badges[-1]
        assert cluster.process.poll() is None
        cluster.wait_for_kafka(cluster.ports[0])
        wait_until(lambda: len({cluster.place(port) for port in cluster.ports}) == 1, "all have the same history")
        assert "ValueError" in cluster.shell("! cluster kill server 3 2>&1; ! cluster kill server -1 2>&1")
    finally:
        code = cluster.interrupt()
    assert code == 0, cluster.out.read_text()[-4000:]


def test_a_part_that_is_not_there_is_refused_with_a_word(tmp_path):
    """And a shell that has read no variables has none."""
    for words in (["kill", "server", "1"], ["status"]):
        done = subprocess.run([ROOT / "scripts/cluster", *words], env=clean_environment(), capture_output=True, text=True,
                              cwd=tmp_path, stdin=subprocess.DEVNULL, timeout=START_S, check=False)
        assert done.returncode == 1 and "there is no server here" in done.stderr
