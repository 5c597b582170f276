"""Holds what the server answers against what GET /openapi.json says of it."""

import re
from collections.abc import Iterator
from functools import cache
from typing import Any

import aiohttp
from jsonschema import Draft202012Validator

from app.openapi import openapi_document

JSON, EVENTS = "application/json", "text/event-stream"


async def hold_to_description(
    request: aiohttp.ClientRequest, handler: aiohttp.ClientHandlerType
) -> aiohttp.ClientResponse:
    """Of a client: reads each answer whose JSON is described, and fails where it is another one."""
    response = await handler(request)
    operation = operation_of(request.method, request.url.path)
    if operation is None or response.content_type != JSON:
        return response
    schema = answer_schema(operation, response.status)
    if schema is not None:
        _check(await response.json(), schema, f"{request.method} {request.url.path}: {response.status}")
    return response


def check_event(method: str, path: str, event: str, data: Any) -> None:
    """Fails where an event is not as it is described; of a stream that is not described all are right."""
    operation = operation_of(method, path)
    schema = operation["responses"]["200"]["content"][EVENTS].get("schema") if operation is not None else None
    if schema is not None:
        kinds = {each["properties"]["event"]["const"]: each["properties"]["data"] for each in schema["oneOf"]}
        _check(data, kinds[event], f"{method} {path}: event {event}")


def operation_of(method: str, path: str) -> dict[str, Any] | None:
    """What the description says of it; None of a path that is none of the API's."""
    for pattern, methods in _patterns():
        if method.lower() in methods and pattern.fullmatch(path):
            operation: dict[str, Any] = methods[method.lower()]
            return operation
    return None


def answer_schema(operation: dict[str, Any], status: int) -> dict[str, Any] | None:
    """Of the JSON of a good answer; None where that is not described."""
    content = operation["responses"].get(str(status), {}).get("content", {})
    schema: dict[str, Any] | None = content.get(JSON, {}).get("schema")
    return schema


def _check(value: Any, schema: dict[str, Any], where: str) -> None:
    fault = next(_faults(value, schema), None)
    assert fault is None, f"{where}: {fault.json_path}: {fault.message}"


def _faults(value: Any, schema: dict[str, Any]) -> Iterator[Any]:
    whole = {**schema, "components": openapi_document()["components"]}
    return iter(Draft202012Validator(whole).iter_errors(value))


@cache
def _patterns() -> list[tuple[re.Pattern[str], dict[str, Any]]]:
    """Paths without names first, as the routes are looked for."""
    paths = openapi_document()["paths"]
    return [
        (re.compile(re.sub(r"\{\w+\}", "[^/]+", path)), paths[path])
        for path in sorted(paths, key=lambda path: path.count("{"))
    ]
