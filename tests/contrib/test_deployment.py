"""The compose file and the manifests of Kubernetes: their linters find nothing, and what they run is run here, command by command
with its environment, on a throw-away database. Only addresses and paths are replaced."""
import base64
import json
import os
import re
import signal
import socket
import subprocess
import sys
import urllib.request
from pathlib import Path

import jsonschema
import pytest
import yaml
from support.server import BIN, PATIENCE_S, SECRET, routes, tidings, wait_until
from tools import CONTRIB, from_package, run

COMPOSE = CONTRIB / "compose" / "compose.yaml"
MANIFESTS = CONTRIB / "kubernetes" / "tidings.yaml"
DOCKERFILE = CONTRIB / "Dockerfile"
PASSWORD = "a password of the tests"  # of Redis, too: tests/meson.build
KAFKA_PASSWORD = "open sesame"  # tests/support/with-kafka
BEYOND_MS = 3000  # so long an answer may take beyond its deadline
SERVERS = ("server-1", "server-2", "server-3")
BIN_OF_VENV = Path(sys.executable).parent


def image_environment():
    """What every container of the image has."""
    line = re.search(r"^ENV (.*)$", DOCKERFILE.read_text(), re.MULTILINE).group(1)
    return dict(pair.split("=", 1) for pair in line.split())


def from_compose(name):
    service = yaml.safe_load(COMPOSE.read_text())["services"][name]
    secrets = {f"/run/secrets/{secret}" for secret in service["secrets"]}
    return service["command"], {**image_environment(), **service["environment"]}, secrets


def manifests():
    """By kind; the service by which pods find each other as Peers."""
    found = {}
    for document in yaml.safe_load_all(MANIFESTS.read_text()):
        is_headless = document["kind"] == "Service" and document["spec"].get("clusterIP") == "None"
        found["Peers" if is_headless else document["kind"]] = document
    return found


def from_manifests(number):
    """The pod of that number."""
    documents = manifests()
    spec = documents["StatefulSet"]["spec"]
    pod = spec["template"]["spec"]
    (container,) = pod["containers"]
    data, mount = container["volumeMounts"]
    (volume,) = pod["volumes"]
    (claim,) = spec["volumeClaimTemplates"]
    assert claim["metadata"]["name"] == data["name"] and data["mountPath"] == image_environment()["TIDINGS_DATA"]
    # As the command at the top of the file makes it.
    names = re.findall(r"--from-file=(\S+)", MANIFESTS.read_text())
    assert mount["name"] == volume["name"] and volume["secret"]["secretName"] == "tidings" and len(names) == 4
    assert container["envFrom"] == [{"configMapRef": {"name": "tidings"}}]
    secrets = {f"{mount['mountPath']}/{name}" for name in names}
    pod_name, address = container["env"]
    assert pod_name == {"name": "POD_NAME", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}
    own = {"POD_NAME": f"tidings-{number}", address["name"]: address["value"].replace("$(POD_NAME)", f"tidings-{number}")}
    return container["args"], {**image_environment(), **documents["ConfigMap"]["data"], **own}, secrets


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Here:
    """A container's command, for this machine: its secrets, its database, its directory, free ports."""

    def __init__(self, container, directory, database):
        self.command, environment, secrets = container
        self.used = set()
        replaced = {}
        for name, value in environment.items():
            if value in secrets:
                self.used.add(value)
                value = os.fspath(self.secret(directory, value))
            replaced[name] = value
        assert self.used == secrets, "a secret that nobody asks for"
        url = re.fullmatch(r"mysql://tidings@database:3306/tidings(\?tls=verify)?", replaced["TIDINGS_MYSQL"])
        assert url, replaced["TIDINGS_MYSQL"]
        replaced["TIDINGS_MYSQL"] = f"mysql://tidings@localhost/{database}?socket={socket_of()}"
        if url.group(1):
            replaced["TIDINGS_MYSQL"] += "&tls=verify&ca=" + os.environ["TIDINGS_TEST_MYSQL_CA"]
        self.put_redis(replaced)
        self.put_kafka(replaced)
        replaced["TIDINGS_LISTEN"] = re.sub(r"^0\.0\.0\.0:8080$", "127.0.0.1:0", replaced["TIDINGS_LISTEN"])
        self.name = self.put_peers(replaced)
        assert replaced["TIDINGS_DATA"] == "/var/lib/tidings"
        replaced["TIDINGS_DATA"] = os.fspath(directory / self.name)
        self.environment = replaced

    @staticmethod
    def put_peers(replaced):
        """Another port for each, since they are all on one machine; its name."""
        name = re.fullmatch(r"(server-\d|tidings-\d\.tidings-peers):7000", replaced["TIDINGS_PEER_ADDRESS"]).group(1)
        assert replaced["TIDINGS_PEER_LISTEN"] == "0.0.0.0:7000"
        port = free_port()
        replaced |= {"TIDINGS_PEER_LISTEN": f"0.0.0.0:{port}", "TIDINGS_PEER_ADDRESS": f"localhost:{port}"}
        return name

    @staticmethod
    def put_redis(replaced):
        """The test's has TLS for everybody."""
        assert re.fullmatch(r"redis(-0\.redis)?:6379(,redis-\d\.redis:6379)*", replaced["TIDINGS_REDIS"])
        assert replaced.pop("TIDINGS_REDIS_TLS", None) == ("verify" if "," in replaced["TIDINGS_REDIS"] else None)
        replaced |= {"TIDINGS_REDIS": os.environ["TIDINGS_TEST_REDIS"], "TIDINGS_REDIS_TLS": "verify",
                     "TIDINGS_REDIS_CA": os.environ["TIDINGS_TEST_REDIS_CA"]}

    @staticmethod
    def put_kafka(replaced):
        """As it is reached there: openly, or with TLS and a password."""
        open_one = {"kafka:9092": "", "kafka:9093": "_SASL_TLS"}[replaced["TIDINGS_KAFKA"]]
        replaced["TIDINGS_KAFKA"] = os.environ[f"TIDINGS_TEST_KAFKA{open_one}"]
        if open_one:
            replaced["TIDINGS_KAFKA_CA_FILE"] = os.environ["TIDINGS_TEST_KAFKA_CA"]

    @staticmethod
    def secret(directory, path):
        made = directory / Path(path).name
        keys = {"keys": [{"alg": "HS256", "secret": encoded(SECRET)}]}
        password = KAFKA_PASSWORD if "kafka" in made.name else PASSWORD
        made.write_text(json.dumps(keys) if made.suffix == ".json" else password + "\n")
        made.chmod(0o600)
        return made


def encoded(text):
    return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")


def socket_of():
    return re.search(r"socket=(.*)", os.environ["TIDINGS_TEST_MYSQL"]).group(1)


def sql(statement):
    run("mariadb", "--no-defaults", f"--socket={socket_of()}", "--user=root", "--execute", statement)


@pytest.fixture
def database(request):
    """One that its user may use, and no other."""
    name = re.sub(r"\W", "_", request.node.name)[:60]
    sql(f"CREATE DATABASE {name}; CREATE OR REPLACE USER tidings@localhost IDENTIFIED BY '{PASSWORD}'; "
        f"GRANT SELECT, INSERT, UPDATE, DELETE, CREATE ON {name}.* TO tidings@localhost")
    yield name
    sql(f"DROP DATABASE {name}; DROP USER tidings@localhost")


class Running:
    def __init__(self, here, log):
        self.container, self.log = here, log
        with log.open("wb") as err:
            self.process = subprocess.Popen([BIN, *here.command], env={**os.environ, **here.environment}, stdin=subprocess.DEVNULL,
                                            stdout=subprocess.DEVNULL, stderr=err)
        wait_until(lambda: self.process.poll() is not None or "listening on port" in log.read_text(), "listening")
        assert self.process.poll() is None, log.read_text()
        self.port = re.search(r"listening on port (\d+)", log.read_text()).group(1)

    def ask(self, path, role, body=None):
        """The answer to user 1, or to an admin; and its headers."""
        token = tidings("token", "--user", "1", "--role", role, TIDINGS_JWT_SECRET=SECRET).stdout.strip()
        request = urllib.request.Request(f"http://127.0.0.1:{self.port}/v1{path}", data=json.dumps(body).encode() if body else None,
                                         headers={"Authorization": f"Bearer {token}"})
        with urllib.request.urlopen(request, timeout=PATIENCE_S) as answer:
            return json.load(answer)

    def posts(self):
        """How many user 1 has published, by what this server shows."""
        return len(self.ask("/users/1/posts", "user")["items"])

    def status(self, path):
        with urllib.request.urlopen(f"http://127.0.0.1:{self.port}{path}", timeout=PATIENCE_S) as answer:
            return answer.status

    def metrics(self):
        with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/metrics", timeout=PATIENCE_S) as answer:
            return answer.read().decode()

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        assert self.process.wait(PATIENCE_S) == 0, self.log.read_text()


def compose_servers():
    return [from_compose(f"server-{number}") for number in (1, 2, 3)]


def pods():
    return [from_manifests(number) for number in range(manifests()["StatefulSet"]["spec"]["replicas"])]


@pytest.mark.parametrize("servers", [compose_servers, pods], ids=["compose", "kubernetes"])
def test_what_is_started_there_works_here(servers, tmp_path, database):
    started = []
    try:
        for number, container in enumerate(servers()):
            started.append(Running(Here(container, tmp_path, database), tmp_path / f"{number}.log"))
        assert {one.status(path) for one in started for path in ("/healthz", "/readyz", "/metrics")} == {200}
        for one in started:  # each takes a change, and all show it
            one.ask("/posts", "user", {"kind": "note", "title": "Hello"})
            assert len({one.posts() for one in started}) == 1
        assert started[0].posts() == len(started) == 3
        wait_until(lambda: all('\ntidings_consumer_failing{consumer="kafka"} 0\n' in one.metrics() for one in started), "Kafka is told")
        replicas = [one.ask("/admin/status", "admin")["replica"] for one in started]
        assert sorted(one["role"] for one in replicas) == ["follower", "follower", "writer"]
        (writer,) = (one for one, replica in zip(started, replicas) if replica["role"] == "writer")
        assert "\ntidings_replica_followers 2\n" in writer.metrics(), "they reach each other at the address that is told"
        again = writer.container  # as with a new version
        writer.stop()
        started.remove(writer)
        started.append(Running(again, tmp_path / "again.log"))
        assert {one.posts() for one in started} == {3}
    finally:
        for one in started:
            one.stop()


# ---- The front ----

class Front:
    """nginx with the configuration of the compose file, on a socket; only where it listens and whom it asks is replaced."""

    def __init__(self, directory, servers):
        self.socket = directory / "front"
        text = (COMPOSE.parent / "nginx.conf").read_text()
        for name, server in servers.items():
            assert f"server {name}:8080" in text
            text = text.replace(f"server {name}:8080", f"server 127.0.0.1:{server.port}")
        text = text.replace("listen 80;", f"listen unix:{self.socket};")
        paths = "".join(f"{kind}_temp_path {directory}/{kind};" for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
        (directory / "nginx.conf").write_text(f"daemon off; master_process off; pid {directory}/pid; error_log stderr; events {{}}\n"
                                              f"http {{ access_log off; {paths}\n{text}\n}}\n")
        program = from_package("nginx", "usr/sbin/nginx")
        with (directory / "front.log").open("wb") as log:
            self.process = subprocess.Popen([program, "-p", directory, "-c", directory / "nginx.conf", "-e", "stderr"],
                                            stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        wait_until(lambda: self.process.poll() is not None or self.socket.exists(), "listening")
        assert self.process.poll() is None, (directory / "front.log").read_text()

    def status(self, path):
        return int(run("curl", "--silent", "--output", "/dev/null", "--write-out", "%{http_code}", "--max-time", "30",
                       "--unix-socket", self.socket, f"http://front{path}"))

    def stop(self):
        self.process.terminate()
        self.process.wait(PATIENCE_S)


def test_the_front_hides_what_is_the_operators_and_goes_on_without_a_server(tmp_path, database):
    servers = {name: Running(Here(from_compose(name), tmp_path, database), tmp_path / f"{name}.log") for name in SERVERS}
    front = None
    try:
        front = Front(tmp_path, servers)
        assert [front.status(path) for path in ("/healthz", "/", "/metrics", "/v1/admin/status")] == [200, 200, 404, 404]
        gone = servers.pop("server-1")
        gone.process.kill()
        gone.process.wait(PATIENCE_S)
        assert {front.status("/readyz") for _ in range(6)} == {200}
    finally:
        for one in [*servers.values(), *([front] if front else [])]:
            one.stop()


# ---- What has to fit together ----

@pytest.mark.parametrize("container", [lambda: from_compose("server-1"), lambda: from_manifests(0)],
                         ids=["compose", "kubernetes"])
def test_variables_are_those_that_the_program_knows(container):
    """It does not notice any other."""
    flags = set(re.findall(r"--([a-z][a-z-]*)", tidings("serve", "--help").stdout))
    known = {"TIDINGS_" + flag.upper().replace("-", "_") for flag in flags} | {
        f"TIDINGS_{service}_PASSWORD_FILE" for service in ("MYSQL", "REDIS", "KAFKA")}
    _, environment, _ = container()
    assert set(environment) - {"POD_NAME"} <= known


def setting(name):
    """A setting's default, in ms."""
    return int(re.search(rf"--{name} N .*?\((\d+)\)", tidings("serve", "--help").stdout, re.DOTALL).group(1))


def test_a_server_has_the_time_to_stop_in_order():
    needed = (setting("stop-timeout-ms") + setting("deadline-ms") + BEYOND_MS) / 1000
    pod = manifests()["StatefulSet"]["spec"]["template"]["spec"]
    command, waits = pod["containers"][0]["lifecycle"]["preStop"]["exec"]["command"]
    assert command == "sleep" and pod["terminationGracePeriodSeconds"] >= int(waits) + needed
    for name in SERVERS:
        grace = yaml.safe_load(COMPOSE.read_text())["services"][name]["stop_grace_period"]
        assert int(grace.removesuffix("s")) >= needed


def test_a_pod_is_gone_from_the_service_before_its_port_is():
    """It is asked no more when it was not ready so often; preStop waits at least for a look."""
    container = manifests()["StatefulSet"]["spec"]["template"]["spec"]["containers"][0]
    assert int(container["lifecycle"]["preStop"]["exec"]["command"][1]) >= container["readinessProbe"]["periodSeconds"]


def test_probes_ask_for_what_there_is():
    container = manifests()["StatefulSet"]["spec"]["template"]["spec"]["containers"][0]
    paths = {route["path"] for route in routes() if route["access"] == "public" and route["method"] == "GET"}
    asked = {probe: container[probe]["httpGet"]["path"] for probe in ("startupProbe", "livenessProbe", "readinessProbe")}
    assert asked == {"startupProbe": "/healthz", "livenessProbe": "/healthz", "readinessProbe": "/readyz"}
    assert set(asked.values()) <= paths


def test_containers_may_do_nothing_that_they_need_not():
    pod = manifests()["StatefulSet"]["spec"]["template"]["spec"]
    (container,) = pod["containers"]
    user = int(re.search(r"^USER (\d+)", DOCKERFILE.read_text(), re.MULTILINE).group(1))
    assert pod["securityContext"]["runAsNonRoot"] and pod["securityContext"]["runAsUser"] == user
    assert not pod["automountServiceAccountToken"]
    security = container["securityContext"]
    assert security["readOnlyRootFilesystem"] and not security["allowPrivilegeEscalation"]
    assert security["capabilities"]["drop"] == ["ALL"] and container["resources"]["limits"]["memory"]


def test_what_selects_pods_selects_the_servers():
    documents = manifests()
    labels = documents["StatefulSet"]["spec"]["template"]["metadata"]["labels"]
    assert documents["StatefulSet"]["spec"]["selector"]["matchLabels"] == labels
    assert documents["Service"]["spec"]["selector"] == labels
    assert documents["PodDisruptionBudget"]["spec"]["selector"]["matchLabels"] == labels
    assert documents["NetworkPolicy"]["spec"]["podSelector"]["matchLabels"] == labels
    assert documents["Peers"]["spec"]["selector"] == labels and documents["Peers"]["spec"]["publishNotReadyAddresses"]
    assert documents["Peers"]["metadata"]["name"] == documents["StatefulSet"]["spec"]["serviceName"]
    of_http, of_peers = documents["NetworkPolicy"]["spec"]["ingress"]
    assert of_http["ports"] == [{"protocol": "TCP", "port": "http"}]
    assert of_peers == {"from": [{"podSelector": {"matchLabels": labels}}], "ports": [{"protocol": "TCP", "port": "peer"}]}
    assert 0 < documents["PodDisruptionBudget"]["spec"]["minAvailable"] < documents["StatefulSet"]["spec"]["replicas"]


def test_the_front_knows_the_servers_of_the_compose_file():
    services = yaml.safe_load(COMPOSE.read_text())["services"]
    servers = {name for name, service in services.items() if service.get("command", [""])[0] == "serve"}
    assert all(services[name]["volumes"] == [f"{name}:/var/lib/tidings"] for name in servers), "each has data of its own"
    named = re.findall(r"^\s*server ([\w-]+):8080", (COMPOSE.parent / "nginx.conf").read_text(), re.MULTILINE)
    assert set(named) == servers == set(services["proxy"]["depends_on"])


# ---- Linters ----

def test_yaml_is_written_properly():
    run(BIN_OF_VENV / "yamllint", "--strict", "--config-file", CONTRIB / ".yamllint", CONTRIB)


def test_compose_files_are_of_that_form():
    """By the schema of the specification, as Debian's docker-compose has it."""
    schema = from_package("docker-compose", "usr/lib/python3/dist-packages/compose/config/compose_spec.json")
    jsonschema.Draft7Validator(json.loads(schema.read_text())).validate(yaml.safe_load(COMPOSE.read_text()))


def test_manifests_are_of_their_kinds():
    run(BIN_OF_VENV / "kubernetes-validate", "--strict", MANIFESTS)
