"""Validation of the server's responses against GET /openapi.json.

mypy compares the bodies with their types. Open are the route that sends a body, stored JSON, the deltas of a run, and
fields that may be missing.
"""

import re
from functools import cache, lru_cache
from typing import Any

import aiohttp
from jsonschema import Draft202012Validator

from app.openapi import openapi_document

JSON, EVENTS = "application/json", "text/event-stream"


async def hold_to_description(
    request: aiohttp.ClientRequest, handler: aiohttp.ClientHandlerType
) -> aiohttp.ClientResponse:
    """Validate each JSON response whose schema is described: a middleware of aiohttp's client.

    Raise AssertionError for a response that does not match its schema.
    """
    response = await handler(request)
    operation = operation_of(request.method, request.url.path)
    if operation is None or response.content_type != JSON:
        return response
    schema = answer_schema(operation, response.status)
    if schema is not None:
        _check(await response.json(), _validator(schema), f"{request.method} {request.url.path}: {response.status}")
    return response


def check_event(method: str, path: str, event: str, data: Any) -> None:
    """Assert that an event of a stream matches its schema. A stream without a schema passes."""
    if (kinds := _event_validators(method, path)) is not None:
        _check(data, kinds[event], f"{method} {path}: event {event}")


@lru_cache(maxsize=4096)
def _event_validators(method: str, path: str) -> dict[str, Draft202012Validator] | None:
    """Return the validator of each kind of event, or None for a stream without a schema.

    A hundred clients read thousands of events a second, on the cores of the servers under test. So the operation is
    looked up once for each stream.
    """
    operation = operation_of(method, path)
    schema = operation["responses"]["200"]["content"][EVENTS].get("schema") if operation is not None else None
    if schema is None:
        return None
    return {each["properties"]["event"]["const"]: _validator(each["properties"]["data"]) for each in schema["oneOf"]}


def operation_of(method: str, path: str) -> dict[str, Any] | None:
    """Return the described operation for a method and a path, or None if the path is not part of the API."""
    for pattern, methods in _patterns():
        if method.lower() in methods and pattern.fullmatch(path):
            operation: dict[str, Any] = methods[method.lower()]
            return operation
    return None


def answer_schema(operation: dict[str, Any], status: int) -> dict[str, Any] | None:
    """Return the schema of the JSON that a response with `status` holds, or None if the JSON is not described."""
    content = operation["responses"].get(str(status), {}).get("content", {})
    schema: dict[str, Any] | None = content.get(JSON, {}).get("schema")
    return schema


def _check(value: Any, validator: Draft202012Validator, where: str) -> None:
    fault = next(iter(validator.iter_errors(value)), None)
    assert fault is None, f"{where}: {fault.json_path}: {fault.message}"


def _validator(schema: dict[str, Any]) -> Draft202012Validator:
    components = openapi_document()["components"]
    if (name := schema.get("$ref")) is not None:
        # Resolved once, since the validator would do so for each value.
        schema = components["schemas"][name.removeprefix("#/components/schemas/")]
    return Draft202012Validator({**schema, "components": components})


@cache
def _patterns() -> list[tuple[re.Pattern[str], dict[str, Any]]]:
    """Compile the described paths. Paths without parameters come first, as in the order of route matching."""
    paths = openapi_document()["paths"]
    return [
        (re.compile(re.sub(r"\{\w+\}", "[^/]+", path)), paths[path])
        for path in sorted(paths, key=lambda path: path.count("{"))
    ]
