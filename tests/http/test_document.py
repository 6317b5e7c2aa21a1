"""The OpenAPI document and the program agree, in both directions."""
import html.parser
import itertools
import json
import re

from openapi_spec_validator import validate

from support.contract import contract
from support.server import routes

ACCESS = {
    "public": [],
    "user": [{"bearerAuth": []}],
    "service": [{"bearerAuth": ["service"]}, {"bearerAuth": ["admin"]}],
    "admin": [{"bearerAuth": ["admin"]}],
}


def table():
    return {(route["method"], route["path"]): route for route in routes()}


def described():
    return {(method, path): operation for method, path, operation in contract.operations()}


def test_document_is_valid_openapi(document):
    assert document["openapi"].startswith("3.1.")
    assert document["info"]["version"] == "0.1.0"
    validate(document)


def test_every_route_is_described_and_nothing_else_is():
    assert set(table()) == set(described())


def test_operation_ids_are_the_routes_names_and_unique():
    names = [operation["operationId"] for operation in described().values()]
    assert len(names) == len(set(names))
    for key, operation in described().items():
        assert operation["operationId"] == table()[key]["operation"], key


def test_aliases_are_the_routes():
    for key, operation in described().items():
        assert operation.get("x-alias", "") == table()[key]["alias"], key
    assert sum(bool(route["alias"]) for route in routes()) == 6


def test_security_is_the_routes_access():
    for key, operation in described().items():
        assert operation["security"] == ACCESS[table()[key]["access"]], key


def test_success_status_is_the_routes_and_the_only_one():
    for key, operation in described().items():
        good = [status for status in operation["responses"] if status.startswith("2")]
        assert good == [str(table()[key]["status"])], key


def test_path_parameters_are_those_of_the_pattern():
    for (method, path), operation in described().items():
        parameters = [contract.resolve(p) for p in operation.get("parameters", [])]
        named = {p["name"] for p in parameters if p["in"] == "path"}
        assert named == set(re.findall(r"\{(\w+)\}", path)), (method, path)
        assert all(p["required"] for p in parameters if p["in"] == "path")


def test_query_parameters_are_those_that_the_route_takes():
    for key, operation in described().items():
        parameters = [contract.resolve(p) for p in operation.get("parameters", [])]
        named = {p["name"] for p in parameters if p["in"] == "query"}
        if not key[1].startswith("/v1/"):
            continue  # pages that people open take any
        assert named == set(table()[key]["parameters"].split()), key


def test_headers_that_every_call_of_a_kind_takes():
    for (method, path), operation in described().items():
        names = {contract.resolve(p)["name"] for p in operation.get("parameters", [])}
        assert ("X-User-Id" in names) == bool(operation["security"]), (method, path)
        if method == "POST" and path not in ("/v1/admin/verify", "/v1/admin/backup", "/v1/inbox/badges", "/v1/stream/ticket", "/v1/session"):
            assert "Idempotency-Key" in names, path
        if "410" in operation["responses"]:
            assert "Accept-Language" in names, path


def test_request_bodies_allow_no_unknown_field():
    for key, operation in described().items():
        if "requestBody" in operation:
            schema = operation["requestBody"]["content"]["application/json"]["schema"]
            assert contract.resolve(schema)["additionalProperties"] is False, key


def schemas_of(node):
    """Every schema below a node of the document; what an example holds is none."""
    if isinstance(node, dict):
        yield node
    for key, value in node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ():
        if key not in ("example", "examples"):
            yield from schemas_of(value)


def test_integers_say_how_wide_they_are():
    """Without a format some generators take 32 bits, which no id fits into."""
    checked = 0
    for schema in schemas_of(contract.document):
        if "integer" in (schema.get("type") or []):
            small = "enum" in schema or schema.get("maximum", 2 ** 53) < 2 ** 31
            assert schema.get("format") == ("int32" if small else "int64"), schema
            checked += 1
    assert checked > 90


def test_every_problem_is_of_one_type_and_says_which_codes_it_may_have():
    """Generators make one class of `Problem`, and one more of every schema without a name."""
    checked = 0
    for key, operation in described().items():
        for status, response in operation["responses"].items():
            content = contract.resolve(response).get("content", {})
            if "application/problem+json" in content:
                schema = content["application/problem+json"]["schema"]
                assert schema["$ref"] == "#/components/schemas/Problem", (key, status)
                assert not {"properties", "allOf", "anyOf", "oneOf"} & set(schema), (key, status)
                assert schema["dependentSchemas"]["code"]["properties"]["code"]["enum"], (key, status)
                checked += 1
    assert checked > 500


def test_what_generators_make_types_of_has_a_name():
    for name, schema in contract.document["components"]["schemas"].items():
        for inner in schemas_of(list(schema.get("properties", {}).values()) + [schema.get("items", {})]):
            assert not ("properties" in inner and "type" in inner), f"an object without a name in {name}"
            several = [one for one in inner.get("oneOf", []) if one != {"type": "null"}]
            assert len(several) < 2, f"a choice without a name in {name}"
    for key, operation in described().items():
        content = [contract.resolve(answer).get("content", {}) for answer in operation["responses"].values()]
        content.append(operation.get("requestBody", {}).get("content", {}))
        for media in (media for one in content for media_type, media in one.items() if media_type.endswith("json")):
            assert "$ref" in media["schema"], f"a body without a name in {key}"


MISSING = object()


def bodies(**fields):
    """Every combination of these values of these fields."""
    for values in itertools.product(*fields.values()):
        yield {name: value for name, value in zip(fields, values) if value is not MISSING}


def agree(actor, method, path, schema, made):
    """The document allows exactly the bodies that the server takes."""
    validator = contract.validator(f"/components/schemas/{schema}")
    taken = 0
    for body in made:
        answer = actor.send(method, path, body)
        assert (answer.status == 200) == validator.is_valid(body), (schema, body, answer)
        assert answer.status in (200, 400), (schema, body, answer)
        taken += answer.status == 200
    assert taken, schema


def test_rules_between_fields_are_the_servers(server):
    fan, author = server.users(2)
    fan.follow(author)
    post, story = author.publish()["id"], author.story()
    fan.subscribe(story)
    scene = author.scene(story)
    inbox, told = fan.get("/inbox")["as_of"], fan.get("/notifications")
    none = (MISSING, None)
    agree(fan, "POST", "/v1/inbox/mark-read", "MarkReadRequest",
          bodies(post_ids=(*none, [post]), author_id=(*none, author.id), up_to=(*none, inbox)))
    agree(fan, "POST", "/v1/notifications/mark-read", "MarkNotificationsRequest",
          bodies(ids=(*none, [told["items"][0]["id"]]), up_to=(*none, told["as_of"])))
    agree(fan, "PUT", "/v1/users/me", "ProfileRequest", bodies(name=(*none, "Ann"), avatar=(*none, "", "https://a", "javascript:alert(1)", "a.png")))
    agree(author, "PATCH", f"/v1/posts/{post}", "EditRequest", bodies(title=(*none, "New"), body=(*none, "")))
    agree(author, "PATCH", f"/v1/scenes/{scene['id']}", "SceneEditRequest",
          bodies(title=(*none, "New"), messages=(*none, [], ["new"])))


def test_examples_fit_their_schemas():
    checked = 0
    for (method, path), operation in described().items():
        where = f"/paths/{contract.escape(path)}/{method.lower()}"
        for media in operation.get("requestBody", {}).get("content", {}).values():
            examples = [media["example"]] if "example" in media else [e["value"] for e in media["examples"].values()]
            for example in examples:
                contract.check_schema(where + "/requestBody/content/application~1json/schema", example, path)
                checked += 1
        for status, response in operation["responses"].items():
            for media_type, media in contract.resolve(response).get("content", {}).items():
                if media_type.endswith("json") and "example" in media:
                    pointer = contract.pointer_to(path, method, status, media_type)
                    contract.check_schema(pointer, media["example"], f"{path} {status}")
                    checked += 1
    assert checked > 200


def test_everything_is_explained():
    tags = set()
    for key, operation in described().items():
        assert operation["summary"], key
        tags.update(operation["tags"])
        for parameter in map(contract.resolve, operation.get("parameters", [])):
            assert parameter.get("description") or "enum" in parameter["schema"], (key, parameter["name"])
        assert all(contract.resolve(answer)["description"] for answer in operation["responses"].values())
    assert tags == {tag["name"] for tag in contract.document["tags"]}


def test_it_is_served_as_it_is(server):
    with server.client() as client:
        answer = client.request("GET", "/v1/openapi.json")
    assert answer.status == 200
    assert json.loads(answer.body) == contract.document


class Page(html.parser.HTMLParser):
    VOID = {"meta", "link", "img", "br", "hr", "input"}

    def __init__(self):
        super().__init__()
        self.tags, self.open, self.ids, self.links, self.loads = [], [], [], [], []

    def handle_starttag(self, tag, attrs):
        attrs = dict(attrs)
        self.tags.append(tag)
        if tag not in self.VOID:
            self.open.append(tag)
        if "id" in attrs:
            self.ids.append(attrs["id"])
        if tag == "a":
            self.links.append(attrs["href"])
        self.loads += [attrs[name] for name in ("src", "srcset", "data", "style") if name in attrs]
        assert not any(name.startswith("on") for name in attrs), "a script in an attribute"

    def handle_endtag(self, tag):
        assert self.open and self.open.pop() == tag, f"</{tag}>"


def test_docs_page_is_sound_and_has_every_operation(server):
    with server.client() as client:
        answer = client.request("GET", "/docs")
    text = answer.body.decode("utf-8")
    page = Page()
    page.feed(text)
    assert not page.open, "tags left open"
    (script,) = page.loads
    assert re.fullmatch(r"/assets/docs-[0-9a-f]{16}\.js", script) and page.tags.count("script") == 1
    assert not {"link", "iframe", "img", "form"} & set(page.tags)
    policy = dict(part.strip().partition(" ")[::2] for part in answer.headers["content-security-policy"].split(";"))
    assert policy["default-src"] == policy["form-action"] == policy["base-uri"] == policy["frame-ancestors"] == "'none'"
    assert policy["script-src"] == policy["connect-src"] == "'self'"
    assert "@import" not in text and "url(" not in text
    assert len(page.ids) == len(set(page.ids))
    assert {link[1:] for link in page.links if link.startswith("#")} <= set(page.ids)
    assert all(link.startswith("#") or link == "/v1/openapi.json" for link in page.links)
    assert page.tags.count("h1") == 1 and '<html lang="en">' in text
    for method, path, operation in contract.operations():
        assert operation["operationId"] in page.ids
        assert html.escape(path) in text
