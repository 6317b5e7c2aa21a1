"""The OpenAPI document as a judge: every answer that the tests see is held against it."""
import copy
import functools
import json
import os
import re

from jsonschema import Draft202012Validator
from referencing import Registry, Resource
from referencing.jsonschema import DRAFT202012

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
REQUEST_ID = re.compile(r"[0-9a-f]{16}")

# What has no operation to be documented under.
NOWHERE = {404: {"not_found"}, 405: {"method_not_allowed"}}


def load_document():
    with open(os.path.join(ROOT, "docs", "openapi.json"), encoding="utf-8") as file:
        return json.load(file)


def close_objects(node):
    """Answers must have no member that the document does not know."""
    if isinstance(node, dict):
        if node.get("type") == "object" and "properties" in node:
            node.setdefault("additionalProperties", False)
        for value in node.values():
            close_objects(value)
    elif isinstance(node, list):
        for value in node:
            close_objects(value)


class Contract:
    def __init__(self, document):
        self.document = document
        self.seen = set()  # (operationId, status)
        strict = copy.deepcopy(document)
        close_objects(strict["components"]["schemas"])
        resource = Resource.from_contents(strict, default_specification=DRAFT202012)
        self.registry = Registry().with_resource("urn:tidings", resource)
        self.aliases = {operation["x-alias"]: path for _, path, operation in self.operations() if "x-alias" in operation}
        self.patterns = [(self.pattern_of(path), path) for path in document["paths"]]

    @staticmethod
    def pattern_of(path):
        return re.compile(re.sub(r"\{[^}]+\}", "[^/]+", re.escape(path).replace(r"\{", "{").replace(r"\}", "}")))

    def operations(self):
        for path, item in self.document["paths"].items():
            for method, operation in item.items():
                yield method.upper(), path, operation

    def find(self, method, path):
        """The path's template and the operation, None where there is none."""
        path = self.aliases.get(path.split("?")[0], path.split("?")[0])
        method = "GET" if method == "HEAD" else method
        fitting = [template for pattern, template in self.patterns if pattern.fullmatch(path)]
        for template in sorted(fitting, key=lambda t: "{" in t):
            if method.lower() in self.document["paths"][template]:
                return template, self.document["paths"][template][method.lower()]
        return (fitting[0] if fitting else None), None

    def resolve(self, node):
        while "$ref" in node:
            found = self.document
            for step in node["$ref"].removeprefix("#/").split("/"):
                found = found[step]
            node = found
        return node

    @functools.lru_cache(maxsize=None)
    def validator(self, pointer):
        return Draft202012Validator({"$ref": f"urn:tidings#{pointer}"}, registry=self.registry)

    def check_schema(self, pointer, value, what):
        errors = [f"{error.json_path}: {error.message}" for error in self.validator(pointer).iter_errors(value)]
        assert not errors, f"{what} does not fit the document: {errors[:5]} in {json.dumps(value)[:600]}"

    def check(self, method, path, answer):
        """An answer of the server to a request; asserts that the document has it so."""
        template, operation = self.find(method, path)
        what = f"{method} {path[:120]} -> {answer.status}"
        assert REQUEST_ID.fullmatch(answer.headers.get("x-request-id", "")), f"{what}: no request id"
        if operation is None:
            self.check_refusal(answer, what)
            return
        responses = operation["responses"]
        status = str(answer.status) if str(answer.status) in responses else "default"
        self.seen.add((operation["operationId"], answer.status if status != "default" else "default"))
        response = self.resolve(responses[status])
        self.check_headers(response, answer, what)
        if "content" not in response:
            assert not answer.body, f"{what}: a body where none is documented"
            return
        media_type = answer.headers.get("content-type", "").split(";")[0]
        assert media_type in response["content"], f"{what}: content type {media_type!r}"
        if method == "HEAD":
            assert not answer.body, f"{what}: a body in answer to HEAD"
            return
        if not media_type.endswith("json"):
            return
        pointer = self.pointer_to(template, method, status, media_type)
        self.check_schema(pointer, answer.json, what)
        if media_type == "application/problem+json":
            assert answer.json["status"] == answer.status, what

    def pointer_to(self, template, method, status, media_type):
        node = self.document["paths"][template][method.lower()]["responses"][status]
        base = f"/paths/{self.escape(template)}/{method.lower()}/responses/{status}"
        if "$ref" in node:
            base = node["$ref"].removeprefix("#")
        return f"{base}/content/{self.escape(media_type)}/schema"

    @staticmethod
    def escape(step):
        return step.replace("~", "~0").replace("/", "~1").replace("{", "%7B").replace("}", "%7D")

    def check_headers(self, response, answer, what):
        for name, header in response.get("headers", {}).items():
            header = self.resolve(header)
            value = answer.headers.get(name.lower())
            if value is None:
                assert not header.get("required"), f"{what}: no {name}"
                continue
            schema = self.resolve(header["schema"])
            if schema.get("type") == "integer":
                value = int(value)
            assert Draft202012Validator(schema).is_valid(value), f"{what}: {name}: {value}"

    def check_refusal(self, answer, what):
        """An answer from where no operation is: no such path, no such method, not HTTP."""
        if answer.headers.get("content-type") is None:
            assert not answer.body, what
            return
        assert answer.headers["content-type"] == "application/problem+json", what
        if not answer.body:
            return  # HEAD
        problem = answer.json
        self.check_schema("/components/schemas/Problem", problem, what)
        assert problem["status"] == answer.status, what
        if answer.status in NOWHERE:
            assert problem["code"] in NOWHERE[answer.status], what
        elif answer.status == 400:
            self.check_schema("/components/responses/Invalid/content/application~1problem+json/schema", problem, what)
        else:
            self.check_schema("/components/responses/Refused/content/application~1problem+json/schema", problem, what)

    def check_event(self, name, data):
        stream = self.document["paths"]["/v1/stream"]["get"]["responses"]["200"]["content"]["text/event-stream"]
        self.check_schema(stream["schema"]["contentSchema"]["properties"][name]["$ref"].removeprefix("#"),
                          data, f"event {name}")


contract = Contract(load_document())
