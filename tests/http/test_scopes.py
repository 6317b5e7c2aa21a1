"""Tokens with less: what a route needs of a token's scope, generated from the table of routes."""
import re

import pytest

from support.client import Client, connect, new_user_id
from support.contract import load_document
from support.server import SECRET, routes, tidings
from support.tokens import token

# A session is asked for with whatever token there is.
ROUTES = [route for route in routes() if route["scope"]]
SCOPES = sorted({route["scope"] for route in ROUTES} | {route["scope"].replace("read", "write") for route in ROUTES})


def send(server, route, scope, path=None):
    path = path or re.sub(r"\{(\w+)\}", lambda m: "story:5" if m[1] == "tag" else "5", route["path"])
    bearer = token(SECRET, new_user_id(), "admin", scope=scope)
    with Client(server) as client:
        return client.request(route["method"], path, headers={"Authorization": "Bearer " + bearer})


@pytest.mark.parametrize("route", ROUTES, ids=lambda route: route["operation"])
def test_a_route_needs_its_scope(server, route):
    others = " ".join(scope for scope in SCOPES if scope != route["scope"])
    for scope in (others, "", " ", route["scope"].upper(), route["scope"] + ",", "openid profile"):
        answer = send(server, route, scope)
        assert answer.status == 403 and answer.json["code"] == "scope", scope
        assert answer.json["detail"] == f"scope: the token lacks {route['scope']}."
        assert answer.headers["www-authenticate"] == (
            f'Bearer realm="tidings", error="insufficient_scope", scope="{route["scope"]}"')
    if route["operation"] in ("stream", "verify"):
        return
    for scope in (route["scope"], f"openid  {route['scope']} email"):
        answer = send(server, route, scope)
        assert answer.status != 401 and not (answer.status == 403 and answer.json["code"] == "scope"), (scope, answer)


def test_reading_is_get_and_writing_the_rest():
    for route in ROUTES:
        assert route["scope"].endswith(":read" if route["method"] == "GET" else ":write")


def test_the_document_says_each_operations_scope():
    document = load_document()
    found = {operation["operationId"]: operation.get("x-scope", "") for path in document["paths"].values()
             for operation in path.values() if isinstance(operation, dict) and "operationId" in operation}
    assert found == {route["operation"]: route["scope"] for route in routes()}


@pytest.mark.parametrize("scope", [None, 5, ["inbox:read"], {"inbox:read": True}, True])
def test_a_scope_that_is_no_string(server, scope):
    answer = send(server, {"method": "GET"}, scope, "/v1/inbox/badge")
    assert answer.status == 401 and answer.json["code"] == "token_claims"
    assert answer.json["detail"] == "scope: must be a string of words, with spaces between."


def test_a_ticket_has_the_scope_of_its_token(server):
    def post(scope):
        return send(server, {"method": "POST"}, scope, "/v1/stream/ticket")

    assert post("notifications:read").status == 403
    ticket = post("notifications:write").json["ticket"]
    with Client(server) as client:
        answer = client.request("GET", f"/v1/stream?ticket={ticket}")
        assert answer.status == 403 and answer.json["detail"] == "scope: the token lacks notifications:read."
    ticket = post("notifications:write notifications:read").json["ticket"]
    with connect(server) as connection:
        connection.sendall(f"GET /v1/stream?ticket={ticket} HTTP/1.1\r\nHost: x\r\n\r\n".encode())
        assert connection.recv(65536).startswith(b"HTTP/1.1 200 ")


def test_the_command_limits_tokens(server):
    made = tidings("token", "--user", "5", "--scope", "inbox:read", TIDINGS_JWT_SECRET=SECRET).stdout.strip()
    with Client(server) as client:
        headers = {"Authorization": "Bearer " + made}
        assert client.request("GET", "/v1/inbox/badge", headers=headers).status == 200
        assert client.request("GET", "/v1/settings", headers=headers).status == 403
