"""The board of Grafana and the rules of Prometheus: they say nothing of a metric that no server has, and the rules fire when they
should. What fires when is told by contrib/prometheus/tidings.test.yaml."""
import json
import re
import subprocess
import urllib.request

import pytest
import yaml
from support.metrics import scrape
from support.server import routes, wait_until
from support.webhooks import put
from tools import CONTRIB, ROOT, from_package, promtool

BOARD = CONTRIB / "grafana" / "tidings.json"
RULES = CONTRIB / "prometheus" / "tidings.rules.yaml"
CASES = CONTRIB / "prometheus" / "tidings.test.yaml"

PROMETHEUS_OWN = {"job", "instance"}  # what it adds to every sample
WORD = re.compile(r"\b(?:tidings_\w+|up)\b(?:\{([^}]*)\})?")
MATCHER = re.compile(r'(\w+)\s*(=~|!~|!=|=)\s*"([^"]*)"')
GROUPED = re.compile(r"\b(?:by|on|without|ignoring)\s*\(([^)]*)\)")


def board():
    return json.loads(BOARD.read_text())


def rules():
    """(group, rule), of all."""
    return [(group["name"], rule) for group in yaml.safe_load(RULES.read_text())["groups"] for rule in group["rules"]]


def panels():
    """(title of its row, panel), without the rows."""
    found, row = [], None
    for panel in board()["panels"]:
        if panel["type"] == "row":
            row = panel["title"]
        else:
            found.append((row, panel))
    return found


def kinds_of(name):
    """By the name of a row or a group: which servers must have what it uses."""
    return ["replicas"] if "replicas" in name else ["lone", "replicas"]


def expressions():
    """(where, kinds, expression, text in which labels are named) of board and rules."""
    for row, panel in panels():
        for target in panel["targets"]:
            yield f"{row}: {panel['title']}", kinds_of(row), target["expr"], target["legendFormat"]
    for group, rule in rules():
        yield rule["alert"], kinds_of(group), rule["expr"], " ".join(rule["annotations"].values())


class Known:
    """The metrics of a server by name: the values of each of their labels."""

    def __init__(self, samples):
        self.labels = {"up": {}}
        for name, labels in samples:
            values = self.labels.setdefault(name, {})
            for label, value in labels:
                values.setdefault(label, set()).add(value)

    def values(self, name, label):
        if label == "operation":  # those that nobody has asked for are not there yet
            return {route["operation"] for route in routes()}
        if label == "status":
            return STATUSES
        if label == "reason":
            return REASONS
        return self.labels[name][label]


def statuses():
    document = json.loads((ROOT / "docs" / "openapi.json").read_text())
    return {status for path in document["paths"].values() for operation in path.values() if isinstance(operation, dict)
            for status in operation.get("responses", {})}


STATUSES = statuses()
# As the document lists them.
REASONS = set(re.findall(r"`(\w+)`", re.search(r"tokens refused: (.*?)\|", (ROOT / "docs/operations/monitoring.md").read_text()).group(1)))


@pytest.fixture(scope="session")
def known(servers):
    """After something of each kind has happened; of several servers what any of them has."""
    found = {}
    for kind, several in servers.items():
        first = several[0]
        ann = first.user()
        ann.publish()
        ann.get("/inbox/badge")
        for one in several:
            with one.client() as client:
                assert client.request("GET", "/v1/inbox/badge").status == 401
        put(first.admin(), "push", "https://push.example/", disabled=True)
        wait_until(lambda: "tidings_consumer_failing" in {name for name, _ in scrape(first).samples}, "Kafka is wanted")
        found[kind] = Known([sample for one in several for sample in scrape(one).samples])
    return found


def problems(expression, legend, known):
    """What a server's metrics do not have of it."""
    labels = set(PROMETHEUS_OWN)
    for found in WORD.finditer(expression):
        name = found.group(0).split("{")[0]
        if name not in known.labels:
            yield f"no metric {name}"
            continue
        own = PROMETHEUS_OWN | set(known.labels[name])
        labels |= own
        for label, how, value in MATCHER.findall(found.group(1) or ""):
            if label not in own:
                yield f"{name} has no label {label}"
            elif label not in PROMETHEUS_OWN:
                yield from unknown_values(name, label, how, value, known)
    named = {label.strip() for group in GROUPED.findall(expression) for label in group.split(",")}
    named |= set(re.findall(r"\{\{\s*(?:\$labels\.)?(\w+)\s*\}\}", legend))
    for label in named - labels:
        yield f"no label {label}"


def unknown_values(name, label, how, value, known):
    wanted = value.split("|") if "~" in how else [value]
    values = known.values(name, label)
    for one in wanted:
        if not any(re.fullmatch(one, there) for there in values):
            yield f"{name}: {label} is never {one}"


def test_nothing_is_used_that_no_server_has(known):
    wrong = [f"{where}, {kind}: {problem}" for where, kinds, expression, legend in expressions() for kind in kinds
             for problem in problems(expression, legend, known[kind])]
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("expression, legend, problem", [
    ("rate(tidings_request_total[5m])", "", "no metric tidings_request_total"),
    ('tidings_http_cut_total{reason="head"}', "", "tidings_http_cut_total has no label reason"),
    ('tidings_http_cut_total{what=~"head|heads"}', "", "tidings_http_cut_total: what is never heads"),
    ("sum by (queue) (tidings_write_queue)", "", "no label queue"),
    ("tidings_write_queue", "{{queue}}", "no label queue"),
])
def test_what_is_wrong_would_be_found(known, expression, legend, problem):
    assert list(problems(expression, legend, known["lone"])) == [problem]


def test_every_metric_that_documents_want_watched_is_on_the_board(known):
    text = BOARD.read_text()
    families = {re.sub(r"_(bucket|sum|count)$", "", name) for kind in known.values() for name in kind.labels}
    quiet = {"up", "tidings_http_requests_total", "tidings_http_responses_total", "tidings_http_wakeups_total"}
    assert {name for name in families - quiet if name not in text} == set()


def test_prometheus_finds_nothing_to_mend_in_the_metrics(known, servers):
    """Names, units, help, duplicates: promtool exits with 3 at a hint, too."""
    assert known
    for server in (one for several in servers.values() for one in several):
        with urllib.request.urlopen(f"http://127.0.0.1:{server.port}/metrics") as answer:
            text = answer.read()
        done = subprocess.run([from_package("prometheus", "usr/bin/promtool"), "check", "metrics"], input=text, capture_output=True,
                              check=False)
        assert done.returncode == 0, f"{server.arguments}: {done.stdout.decode()}{done.stderr.decode()}"


# ---- The board ----

def test_every_panel_says_what_it_shows():
    for row, panel in panels():
        where = f"{row}: {panel.get('title')}"
        assert row and panel["title"] and panel["description"].endswith("."), where
        assert panel["fieldConfig"]["defaults"]["unit"], where
        assert panel["datasource"]["uid"] == "${datasource}" and panel["targets"], where
        for target in panel["targets"]:
            for selector in WORD.finditer(target["expr"]):
                assert 'job=~"$job",instance=~"$instance"' in (selector.group(1) or ""), f"{where}: not only of the chosen servers"


def test_variables_choose_source_job_and_server():
    assert [variable["name"] for variable in board()["templating"]["list"]] == ["datasource", "job", "instance"]


def test_panels_have_ids_of_their_own_and_do_not_overlap():
    everything = board()["panels"]
    assert len({panel["id"] for panel in everything}) == len(everything)
    taken = set()
    for at in (panel["gridPos"] for panel in everything):
        cells = {(x, y) for x in range(at["x"], at["x"] + at["w"]) for y in range(at["y"], at["y"] + at["h"])}
        assert at["x"] + at["w"] <= 24 and not cells & taken, at
        taken |= cells


def test_prometheus_understands_the_board(tmp_path):
    """Its expressions, as rules."""
    replaced = [re.sub(r"\$__rate_interval", "5m", target["expr"]) for _, panel in panels() for target in panel["targets"]]
    made = tmp_path / "board.yaml"
    made.write_text(yaml.safe_dump({"groups": [{"name": "board", "rules": [
        {"record": f"board:{i}", "expr": expression} for i, expression in enumerate(replaced)]}]}))
    promtool("check", "rules", made)


# ---- The rules ----

def test_rules_are_right_and_fire_when_they_should():
    promtool("check", "rules", "--lint-fatal", RULES)
    promtool("check", "config", "--syntax-only", CONTRIB / "prometheus" / "prometheus.yaml")
    promtool("test", "rules", CASES, cwd=CASES.parent)


def test_every_rule_is_seen_to_fire_and_to_be_silent():
    cases = {}
    for test in yaml.safe_load(CASES.read_text())["tests"]:
        for case in test["alert_rule_test"]:
            cases.setdefault(case["alertname"], set()).add(bool(case["exp_alerts"]))
    assert cases == {rule["alert"]: {True, False} for _, rule in rules()}


def anchors(path):
    """Of its headings, as they are linked to."""
    headings = re.findall(r"^#+ (.+)$", path.read_text(), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def test_every_rule_says_how_bad_it_is_and_what_to_do():
    for _, rule in rules():
        assert rule["labels"]["severity"] in ("critical", "warning"), rule["alert"]
        assert {"summary", "description", "runbook"} == set(rule["annotations"]), rule["alert"]
        document, _, anchor = rule["annotations"]["runbook"].partition("#")
        assert anchor in anchors(ROOT / document), f"{rule['alert']}: no heading {anchor}"
