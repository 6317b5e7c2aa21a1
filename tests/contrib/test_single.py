"""The lone server's compose file and image: what they run is run here with its environment, and somebody signs in."""
import base64
import json
import re
import urllib.request

import jsonschema
import pytest
import yaml
from support.server import PATIENCE_S, SECRET, tidings
from test_deployment import BEYOND_MS, BIN_OF_VENV, Running, setting
from tools import CONTRIB, from_package, run

COMPOSE = CONTRIB / "single" / "compose.yaml"
DOCKERFILE = CONTRIB / "single" / "Dockerfile"


class Container:
    """The service's command, for this machine: only its paths and its address are replaced."""

    def __init__(self, directory):
        service = yaml.safe_load(COMPOSE.read_text())["services"]["tidings"]
        image = dict(pair.split("=", 1) for pair in re.search(r"^ENV (.*)$", DOCKERFILE.read_text(), re.MULTILINE).group(1).split())
        self.command, self.environment = service["command"], {**image, **service["environment"]}
        assert service["volumes"] == [f"data:{self.environment['TIDINGS_DATA']}"]
        assert self.environment["TIDINGS_JWT_KEYS_FILE"] == f"/run/secrets/{service['secrets'][0]}"
        assert self.environment["TIDINGS_LISTEN"] == "0.0.0.0:8080" and service["ports"] == ["127.0.0.1:8080:8080"]
        keys = directory / "keys.json"
        keys.write_text(json.dumps({"keys": [{"alg": "HS256", "secret":
                                              base64.urlsafe_b64encode(SECRET.encode()).decode().rstrip("=")}]}))
        keys.chmod(0o600)
        self.environment |= {"TIDINGS_DATA": str(directory / "data"), "TIDINGS_JWT_KEYS_FILE": str(keys), "TIDINGS_LISTEN": "127.0.0.1:0"}


def test_the_server_of_the_compose_file_takes_a_token_of_its_key(tmp_path):
    running = Running(Container(tmp_path), tmp_path / "log")
    try:
        assert {running.status(path) for path in ("/healthz", "/readyz", "/")} == {200}
        token = tidings("token", "--user", "1", "--role", "admin", TIDINGS_JWT_SECRET=SECRET).stdout.strip()
        request = urllib.request.Request(f"http://127.0.0.1:{running.port}/v1/inbox/badge", headers={"Authorization": f"Bearer {token}"})
        with urllib.request.urlopen(request, timeout=PATIENCE_S) as answer:
            assert json.load(answer) == {"total": 0}
    finally:
        running.stop()


def test_the_compose_file_is_one():
    schema = from_package("docker-compose", "usr/lib/python3/dist-packages/compose/config/compose_spec.json")
    jsonschema.Draft7Validator(json.loads(schema.read_text())).validate(yaml.safe_load(COMPOSE.read_text()))


def test_the_container_has_the_time_to_stop_and_no_rights():
    service = yaml.safe_load(COMPOSE.read_text())["services"]["tidings"]
    assert int(service["stop_grace_period"].removesuffix("s")) >= (setting("stop-timeout-ms") + BEYOND_MS) / 1000
    assert service["read_only"] and service["cap_drop"] == ["ALL"] and "no-new-privileges:true" in service["security_opt"]


def test_the_image_runs_as_a_user_and_holds_no_key():
    text = DOCKERFILE.read_text()
    user = re.search(r"^USER (\d+):(\d+)$", text, re.MULTILINE)
    assert user and f"--uid {user.group(1)} --gid {user.group(2)}" in text
    assert re.search(r"rm -rf .*/etc/tidings/keys\.json", text), "the package makes a key when it is installed"
    assert "!build-deb/tidings_*.deb" in (DOCKERFILE.parent / "Dockerfile.dockerignore").read_text()


@pytest.mark.parametrize("name", ["Dockerfile", "single/Dockerfile"])
def test_hadolint_finds_nothing(name):
    """But that versions of packages are not pinned: Debian 12 replaces them with mended ones, and the old are gone then."""
    run(BIN_OF_VENV / "hadolint", "--ignore", "DL3008", CONTRIB / name)
