"""Schemathesis: requests made up from the document, right and wrong, against the program."""
import hypothesis
import pytest
import schemathesis

from support.contract import contract
from support.server import Server
from support.tokens import token

QUICK, LONG = 15, 400
schema = schemathesis.openapi.from_dict(contract.document)


@pytest.fixture(scope="module")
def target():
    server = Server(settings={"access_log": 0, "follow_burst": 1000000}).start()
    author = server.user()
    for other in range(1, 30):
        server.user(other).follow(author)
    author.publish()
    author.client.close()
    yield server
    server.close()


def examples(config):
    asked = config.getoption("--examples")
    return asked or (LONG if config.getoption("--long") else QUICK)


def bearer(server, operation):
    roles = [role for choice in operation["security"] for role in choice["bearerAuth"]]
    return token(server.secret, 7, roles[-1] if roles else "service")


OPERATIONS = [(method, path, operation) for method, path, operation in contract.operations()
              if operation["operationId"] != "stream"]  # it has no end; see test_stream.py


@pytest.mark.parametrize("method, path, operation", OPERATIONS, ids=[o["operationId"] for _, _, o in OPERATIONS])
@pytest.mark.parametrize("mode", ["positive", "negative"])
def test_operation(request, target, method, path, operation, mode):
    checks = schemathesis.checks
    wanted = [checks.not_a_server_error, checks.status_code_conformance, checks.content_type_conformance,
              checks.response_schema_conformance, checks.response_headers_conformance]
    generated = schemathesis.GenerationMode.POSITIVE if mode == "positive" else schemathesis.GenerationMode.NEGATIVE
    headers = {"Authorization": "Bearer " + bearer(target, operation)} if operation["security"] else {}
    parameters = {contract.resolve(p)["name"] for p in operation.get("parameters", [])}
    strategy = schema[path][method].as_strategy(generation_mode=generated)

    @hypothesis.given(case=strategy)
    @hypothesis.settings(max_examples=examples(request.config), deadline=None, database=None, derandomize=True,
                         suppress_health_check=list(hypothesis.HealthCheck))
    def run(case):
        response = case.call(base_url=f"http://127.0.0.1:{target.port}", headers=headers)
        # Parameters of the query that nobody knows are ignored, unlike fields of a body. A wrong token is not sent:
        # the headers above replace it. test_tokens.py has those.
        strict = (mode == "negative" and response.status_code < 400 and set(case.query or {}) <= parameters
                  and {mutation.parameter for mutation in case.meta.phase.data.mutations} != {"Authorization"})
        case.validate_response(response, checks=wanted + [checks.negative_data_rejection] * strict)

    try:
        run()
    except hypothesis.errors.Unsatisfiable:
        assert mode == "negative", "nothing about it can be wrong"
    assert target.process.poll() is None, "the server is gone"
