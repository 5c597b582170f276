"""GET /openapi.json: an OpenAPI document of the operations, with the schemas of their requests and responses.

    python -m app.openapi

prints the document, from which the page's types are generated.
"""

import asyncio
import inspect
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from typing import Any, Final

from pydantic import TypeAdapter
from pydantic.json_schema import GenerateJsonSchema
from pydantic_core.core_schema import TypedDictSchema
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from app.http.error_formats import is_anthropic, is_ollama
from app.http.media_types import EVENTS, JSON
from app.http.operation import Operation, RawBody
from app.http.query_params import Schema
from app.routes.api import OPERATIONS
from app.schemas.parsing import CompatibleRequest, RequestModel
from app.schemas.response_bodies.errors import ErrorBody
from app.version import VERSION

_REF: Final = "#/components/schemas/{model}"
_TEXT: Final[Schema] = {"type": "string"}
_ERROR: Final[Schema] = {"type": "object", "properties": {"error": {"$ref": _REF.format(model=ErrorBody.__name__)}}}
_OLLAMA_ERROR: Final[Schema] = {"type": "object", "properties": {"error": _TEXT}}
_ANTHROPIC_ERROR: Final[Schema] = {
    "type": "object",
    "properties": {
        "type": {"const": "error"},
        "error": {
            "type": "object",
            "properties": {
                "type": _TEXT,
                "message": _TEXT,
                "details": {"type": "object", "properties": {"error_code": {"type": ["string", "null"]}}},
            },
        },
        "request_id": _TEXT,
    },
}
_ERRORS: Final[Mapping[str, Schema]] = {
    "Error": _ERROR,
    "AnthropicError": _ANTHROPIC_ERROR,
    "OllamaError": _OLLAMA_ERROR,
}


@cache
def openapi_document() -> Schema:
    """Generate the OpenAPI 3.1 document."""
    models = {model for operation in OPERATIONS for model in _models(operation)}
    _, schemas = TypeAdapter.json_schemas(
        [(repr(model), "validation", TypeAdapter(model)) for model in sorted(models, key=repr)],
        ref_template=_REF,
        schema_generator=_ClosedObjects,
    )
    described = schemas.get("$defs", {})
    for name in _open_objects(OPERATIONS) & described.keys():
        described[name].pop("additionalProperties", None)
    paths: dict[str, Schema] = {}
    for operation in OPERATIONS:
        path = re.sub(r":\w+}", "}", operation.path)
        paths.setdefault(path, {})[operation.method.lower()] = _described(path, operation)
    return {
        "openapi": "3.1.0",
        "info": {"title": "Ebb", "version": VERSION},
        "paths": paths,
        "components": {"schemas": {**described, **_ERRORS}},
    }


def _open_objects(operations: Iterable[Operation]) -> set[str]:
    """Return the schemas of compatible routes, whose unknown fields are ignored."""
    bodies = {each.model for each in operations if each.model is not None and issubclass(each.model, CompatibleRequest)}
    return {name for body in bodies for name in (body.__name__, *body.model_json_schema().get("$defs", {}))}


class _ClosedObjects(GenerateJsonSchema):
    """Generator of schemas in which a TypedDict has no fields but its own, as mypy holds."""

    def typed_dict_schema(self, schema: TypedDictSchema) -> Schema:
        """Describe a TypedDict."""
        return {**super().typed_dict_schema(schema), "additionalProperties": False}


def _models(operation: Operation) -> Iterator[type[Any]]:
    yield from operation.events.values()
    for model in (operation.model, operation.answer):
        if model is not None:
            yield model


def _described(path: str, operation: Operation) -> Schema:
    declared = operation.query.declared.values()
    parameters = [
        *(_parameter(name, "path", _TEXT, required=True) for name in re.findall(r"{(\w+)}", path)),
        *(_parameter(name, "query", param.schema, required=needed) for name, param, needed in declared),
        *(_parameter(name, "header", _TEXT) for name in operation.headers),
    ]
    content: Schema = {kind: _content(operation, kind) for kind in operation.media}
    answer = {"description": "Success", **({"content": content} if content else {})}
    failure = "AnthropicError" if is_anthropic(path) else "OllamaError" if is_ollama(path) else "Error"
    error = {"description": "Error", "content": {JSON: {"schema": {"$ref": _REF.format(model=failure)}}}}
    described: Schema = {
        "summary": (inspect.getdoc(operation.endpoint) or "").partition("\n\n")[0],
        "responses": {str(operation.status): answer, "default": error},
    }
    if parameters:
        described["parameters"] = parameters
    if operation.body is not None:
        described["requestBody"] = {"required": True, "content": _body(operation.body)}
    return described


def _body(body: type[RequestModel] | RawBody) -> Schema:
    return {body.media_type: {}} if isinstance(body, RawBody) else {JSON: {"schema": _reference(body)}}


def _content(operation: Operation, kind: str) -> Schema:
    """Describe one content type. For a stream, describe each event as a client has parsed it."""
    if kind == EVENTS and operation.events:
        return {"schema": {"oneOf": [_event(name, data) for name, data in operation.events.items()]}}
    return {"schema": _reference(operation.answer)} if kind == JSON and operation.answer is not None else {}


def _event(name: str, data: type[Any]) -> Schema:
    return {
        "type": "object",
        "properties": {"event": {"const": name}, "data": _reference(data)},
        "required": ["event", "data"],
    }


def _reference(model: type[Any]) -> Schema:
    return {"$ref": _REF.format(model=model.__name__)}


def _parameter(name: str, place: str, schema: Schema, *, required: bool = False) -> Schema:
    return {"name": name, "in": place, "required": required, "schema": schema}


async def _openapi(request: Request) -> Response:  # noqa: ARG001
    """Return this document."""
    return JSONResponse(await asyncio.to_thread(openapi_document))


operations = [Operation("GET", "/openapi.json", _openapi, access="open")]


if __name__ == "__main__":
    print(json.dumps(openapi_document()))
