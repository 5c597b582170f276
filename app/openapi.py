"""GET /openapi.json: what the routes take, as an OpenAPI document made of the schemas that check it.

Paths, methods and what they do come from the routes themselves; the table below says what no route tells of itself. A
test holds it against the routes.
"""

import asyncio
import inspect
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Final

from pydantic.json_schema import models_json_schema
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute, Route

from app.limits import MAX_ITEMS_PAGE, MAX_PAGE, MAX_QUERY_LENGTH
from app.schemas.chat_completions import ChatCompletionRequest
from app.schemas.completions import CompletionRequest
from app.schemas.conversations import (
    ConversationFields,
    DraftFields,
    MessageChoice,
    NewMessage,
    PlacesWanted,
    RetryFields,
)
from app.schemas.imports import ImportFile
from app.schemas.messages import CountTokensRequest, MessagesRequest
from app.schemas.openai_conversations import ConversationUpdate, ItemsToAdd, NewConversation
from app.schemas.parsing import RequestModel
from app.schemas.responses import ResponseRequest
from app.schemas.tokens import DetokenizeRequest, TokenizeRequest
from app.version import VERSION

JSON, EVENTS, MARKDOWN, PLAIN = "application/json", "text/event-stream", "text/markdown", "text/plain"

Schema = dict[str, Any]

_REF: Final = "#/components/schemas/{model}"
_TEXT: Final[Schema] = {"type": "string"}
_SWITCH: Final[Schema] = {"type": "string", "enum": ["true", "false"]}
_EVENT: Final[Schema] = {"type": "integer", "minimum": 0}
_ITEMS: Final[dict[str, Schema]] = {
    "limit": {"type": "integer", "minimum": 1, "maximum": MAX_ITEMS_PAGE},
    "order": {"type": "string", "enum": ["asc", "desc"]},
    "after": _TEXT,
}
_ERROR: Final[Schema] = {
    "type": "object",
    "properties": {
        "error": {
            "type": "object",
            "properties": {
                "message": {"type": "string"},
                "type": {"type": "string"},
                "param": {"type": ["string", "null"]},
                "code": {"type": ["string", "null"]},
            },
        }
    },
}


@dataclass(frozen=True, slots=True)
class Operation:
    """body: its schema, if any. query, headers: optional parameters. answers: kinds of content, sent with `status`."""

    body: type[RequestModel] | None = None
    query: Mapping[str, Schema] = field(default_factory=dict)
    headers: tuple[str, ...] = ()
    answers: tuple[str, ...] = (JSON,)
    status: int = 200


_VERSIONED: Final = ("If-Match",)

OPERATIONS: Final[Mapping[str, Operation]] = {
    "POST /v1/chat/completions": Operation(ChatCompletionRequest, answers=(JSON, EVENTS)),
    "POST /v1/completions": Operation(CompletionRequest, answers=(JSON, EVENTS)),
    "POST /v1/messages": Operation(MessagesRequest, answers=(JSON, EVENTS)),
    "POST /v1/messages/count_tokens": Operation(CountTokensRequest),
    "POST /v1/responses": Operation(ResponseRequest, answers=(JSON, EVENTS)),
    "GET /v1/responses/{id}": Operation(query={"stream": _SWITCH, "starting_after": _EVENT}, answers=(JSON, EVENTS)),
    "GET /v1/responses/{id}/input_items": Operation(query=_ITEMS),
    "POST /v1/conversations": Operation(NewConversation),
    "POST /v1/conversations/{id}": Operation(ConversationUpdate),
    "POST /v1/conversations/{id}/items": Operation(ItemsToAdd),
    "GET /v1/conversations/{id}/items": Operation(query=_ITEMS),
    "POST /tokenize": Operation(TokenizeRequest),
    "POST /detokenize": Operation(DetokenizeRequest),
    "GET /api/conversations": Operation(
        query={"limit": {"type": "integer", "minimum": 1, "maximum": MAX_PAGE}, "cursor": _TEXT, "archived": _SWITCH}
    ),
    "POST /api/conversations": Operation(ConversationFields, status=201),
    "PATCH /api/conversations/{id}": Operation(ConversationFields, headers=_VERSIONED),
    "DELETE /api/conversations/{id}": Operation(
        query={"permanently": _SWITCH}, headers=_VERSIONED, answers=(), status=204
    ),
    "POST /api/conversations/{id}/messages": Operation(NewMessage, headers=_VERSIONED, answers=(EVENTS,)),
    "POST /api/messages/{id}/retry": Operation(RetryFields, headers=_VERSIONED, answers=(EVENTS,)),
    "POST /api/messages/{id}/continue": Operation(headers=_VERSIONED, answers=(EVENTS,)),
    "PUT /api/conversations/{id}/head": Operation(MessageChoice, headers=_VERSIONED),
    "POST /api/conversations/{id}/fork": Operation(MessageChoice, status=201),
    "DELETE /api/messages/{id}": Operation(headers=_VERSIONED),
    "POST /api/conversations/{id}/warm": Operation(status=202),
    "DELETE /api/conversations/{id}/warm": Operation(answers=(), status=204),
    "POST /api/places": Operation(PlacesWanted),
    "PUT /api/draft": Operation(DraftFields),
    "PUT /api/conversations/{id}/draft": Operation(DraftFields),
    "GET /api/search": Operation(
        query={
            "q": {"type": "string", "maxLength": MAX_QUERY_LENGTH},
            "limit": {"type": "integer", "minimum": 1},
            "cursor": _TEXT,
        }
    ),
    "GET /api/conversations/{id}/export": Operation(
        query={"format": {"type": "string", "enum": ["json", "markdown"]}}, answers=(JSON, MARKDOWN)
    ),
    "POST /api/import": Operation(ImportFile, query={"duplicates": _SWITCH}),
    "GET /api/runs/{id}/events": Operation(
        query={"starting_after": _EVENT}, headers=("Last-Event-ID",), answers=(EVENTS,)
    ),
    "GET /metrics": Operation(answers=(PLAIN,)),
    "GET /api/live": Operation(headers=("Last-Event-ID",), answers=(EVENTS,)),
}


def openapi_route(described: Sequence[BaseRoute]) -> Route:
    """Serves the document of `described`."""

    @cache
    def document() -> Schema:
        return openapi_document(described)

    async def openapi(request: Request) -> Response:  # noqa: ARG001
        """This document."""
        return JSONResponse(await asyncio.to_thread(document))

    return Route("/openapi.json", openapi)


def openapi_document(routes: Sequence[BaseRoute]) -> Schema:
    """OpenAPI 3.1."""
    operations = {name: OPERATIONS.get(name, Operation()) for name in _endpoints(routes)}
    bodies = {operation.body for operation in operations.values() if operation.body is not None}
    _, schemas = models_json_schema(
        [(body, "validation") for body in sorted(bodies, key=lambda body: body.__name__)], ref_template=_REF
    )
    paths: dict[str, Schema] = {}
    for name, (path, summary) in _endpoints(routes).items():
        method = name.partition(" ")[0].lower()
        paths.setdefault(path, {})[method] = {"summary": summary, **_described(path, operations[name])}
    return {
        "openapi": "3.1.0",
        "info": {"title": "Ebb", "version": VERSION},
        "paths": paths,
        "components": {"schemas": {**schemas.get("$defs", {}), "Error": _ERROR}},
    }


def _endpoints(routes: Sequence[BaseRoute]) -> dict[str, tuple[str, str]]:
    """The path, as the document writes it, and the summary of every "METHOD /path", as the table writes it."""
    found = {}
    for route in routes:
        if not isinstance(route, Route):
            continue
        path = re.sub(r":\w+}", "}", route.path)
        for method in sorted((route.methods or set()) - {"HEAD"}):
            found[f"{method} {path}"] = (path, (inspect.getdoc(route.endpoint) or "").partition("\n\n")[0])
    return found


def _described(path: str, operation: Operation) -> Schema:
    parameters = [
        *(_parameter(name, "path", _TEXT, required=True) for name in re.findall(r"{(\w+)}", path)),
        *(_parameter(name, "query", schema) for name, schema in operation.query.items()),
        *(_parameter(name, "header", _TEXT) for name in operation.headers),
    ]
    content: Schema = {kind: {} for kind in operation.answers}
    answer = {"description": "What was asked for", **({"content": content} if content else {})}
    error = {"description": "An error", "content": {JSON: {"schema": {"$ref": _REF.format(model="Error")}}}}
    described: Schema = {"responses": {str(operation.status): answer, "default": error}}
    if parameters:
        described["parameters"] = parameters
    if operation.body is not None:
        schema = {"$ref": _REF.format(model=operation.body.__name__)}
        described["requestBody"] = {"required": True, "content": {JSON: {"schema": schema}}}
    return described


def _parameter(name: str, place: str, schema: Schema, *, required: bool = False) -> Schema:
    return {"name": name, "in": place, "required": required, "schema": schema}
