"""GET /openapi.json describes exactly the fields that the routes accept."""

from typing import Any

import aiohttp
import jsonschema
import pytest

from app.http.error_formats import is_ollama
from app.routes.api import OPERATIONS
from bench.api.fuzz_requests import examples_of
from tests.integration.described import answer_schema, check_event, operation_of

UNKNOWN = "no_such_field"


def operations(document: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Return the operations of the document by "METHOD /path"."""
    return {
        f"{method.upper()} {path}": described
        for path, methods in document["paths"].items()
        for method, described in methods.items()
    }


async def document_of(http: aiohttp.ClientSession) -> dict[str, Any]:
    response = await http.get("/openapi.json")
    assert response.status == 200
    found: dict[str, Any] = await response.json()
    return found


async def test_body_is_described_exactly_where_it_is_validated(http: aiohttp.ClientSession) -> None:
    made = await (await http.post("/api/conversations", json={})).json()
    document = await document_of(http)
    for name, described in operations(document).items():
        method, _, path = name.partition(" ")
        if method not in ("POST", "PUT", "PATCH"):
            assert "requestBody" not in described, name
            continue
        schema = described.get("requestBody", {}).get("content", {}).get("application/json", {}).get("schema", {})
        right = dict(examples_of(document, described)[0]) if schema else {}
        path = path.replace("{id}", made["id"]).replace("{tenant}", "alice")
        response = await http.request(method, path, json={**right, UNKNOWN: 1})
        refused = f"Unknown field {UNKNOWN}" in await response.text()
        ignored = response.headers.get("X-Ebb-Ignored") == UNKNOWN
        assert (refused or ignored) == bool(schema), name
        if schema:
            fields = document["components"]["schemas"][schema["$ref"].rpartition("/")[2]]
            assert refused == (fields.get("additionalProperties") is False), name
            is_compatible = path.startswith(("/v1/", "/v2/")) or path in ("/tokenize", "/detokenize") or is_ollama(path)
            assert ignored == is_compatible, name


@pytest.mark.parametrize(
    ("method", "path", "name"),
    [
        ("POST", "/v1/messages", "AnthropicError"),
        ("POST", "/v1/messages/count_tokens", "AnthropicError"),
        ("POST", "/api/chat", "OllamaError"),
        ("POST", "/v1/chat/completions", "Error"),
        ("POST", "/api/places", "Error"),
    ],
)
async def test_errors_have_the_described_shape(http: aiohttp.ClientSession, method: str, path: str, name: str) -> None:
    document = await document_of(http)
    described = operations(document)[f"{method} {path}"]["responses"]["default"]
    assert described["content"]["application/json"]["schema"] == {"$ref": f"#/components/schemas/{name}"}
    error = await (await http.request(method, path, json={"model": 5, "messages": 5})).json()
    schema = {**document["components"]["schemas"][name], "components": document["components"]}
    jsonschema.validate(error, schema)
    assert set(error) == set(schema["properties"])


async def test_every_operation_is_described(http: aiohttp.ClientSession) -> None:
    described = operations(await document_of(http))
    assert described.keys() == {f"{each.method} {each.path.replace(':path}', '}')}" for each in OPERATIONS}
    assert all(each["summary"] for each in described.values())


def test_examples_of_every_body_are_valid() -> None:
    for operation in OPERATIONS:
        if operation.model is not None:
            assert operation.model.examples, operation.path
            for example in operation.model.examples:
                operation.model.model_validate(example)


async def test_ignored_and_restricted_fields_are_described(
    http: aiohttp.ClientSession,
) -> None:
    fields = (await document_of(http))["components"]["schemas"]["ChatCompletionRequest"]["properties"]
    assert fields["user"] == {"description": "No effect."}
    assert fields["modalities"] == {"enum": [None, ["text"]]}
    assert "messages" in fields


async def test_every_reference_resolves(http: aiohttp.ClientSession) -> None:
    document = await document_of(http)

    def references(value: Any) -> set[str]:
        if isinstance(value, dict):
            own = {value["$ref"]} if isinstance(value.get("$ref"), str) else set()
            return own.union(*(references(each) for each in value.values()))
        return set().union(*(references(each) for each in value)) if isinstance(value, list) else set()

    names = {f"#/components/schemas/{name}" for name in document["components"]["schemas"]}
    assert references(document) <= names


async def test_stored_json_of_a_message_is_described(http: aiohttp.ClientSession) -> None:
    fields = (await document_of(http))["components"]["schemas"]["Message"]["properties"]
    for name, model in (("error", "ErrorBody"), ("usage", "Usage"), ("params", "AnswerParams")):
        assert fields[name] == {"anyOf": [{"$ref": f"#/components/schemas/{model}"}, {"type": "null"}]}


async def test_response_that_breaks_its_schema_is_detected() -> None:
    operation = operation_of("GET", "/api/draft")
    assert operation is not None
    assert answer_schema(operation, 200) == {"$ref": "#/components/schemas/Draft"}
    check_event("GET", "/api/runs/run_1/events", "delta", {"sequence_number": 2, "run_id": "run_1", "text": "a"})
    for data in ({"run_id": "run_1", "text": "a"}, {"sequence_number": 2, "run_id": "run_1", "text": "a", "more": 1}):
        with pytest.raises(AssertionError, match="event delta"):
            check_event("GET", "/api/runs/run_1/events", "delta", data)
