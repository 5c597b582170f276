"""GET /openapi.json: an OpenAPI document of the routes, generated from the schemas of their requests and responses.

Paths, methods and summaries come from the routes themselves. The table below adds the rest, and a test compares it with
the routes.

    python -m app.openapi

prints the document, from which the page's types are generated.
"""

import asyncio
import inspect
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Final

from pydantic import TypeAdapter
from pydantic.json_schema import GenerateJsonSchema
from pydantic_core.core_schema import TypedDictSchema
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute, Route

from app.apis.anthropic.messages_schema import CountTokensRequest, MessagesRequest
from app.apis.ollama.chat_schema import OllamaChatRequest
from app.apis.ollama.embed_schema import OllamaEmbeddingsRequest, OllamaEmbedRequest
from app.apis.ollama.generate_schema import OllamaGenerateRequest
from app.apis.ollama.show_schema import OllamaShowRequest
from app.apis.openai.chat_schema import ChatCompletionRequest
from app.apis.openai.completions_schema import CompletionRequest
from app.apis.openai.embeddings_schema import EmbeddingsRequest
from app.apis.openai.tokens_schema import DetokenizeRequest, TokenizeRequest
from app.apis.responses.conversations_schema import ConversationUpdate, ItemsToAdd, NewConversation
from app.apis.responses.schema import CompactRequest, InputTokensRequest, ResponseRequest
from app.domain.bounds import MAX_ITEMS_PAGE, MAX_OFFSET, MAX_PAGE, MAX_QUERY_LENGTH, MAX_USE_DAYS
from app.http.error_formats import is_anthropic, is_ollama
from app.http.query_params import SOURCES
from app.routes.api import ROUTES
from app.schemas.admin import (
    CodeFields,
    LimitFields,
    LoginFields,
    LoginStartFields,
    NewKey,
    NewPerson,
    OwnKey,
    OwnPassword,
    PasswordFields,
    PasswordLoginFields,
    PersonFields,
)
from app.schemas.bulk import BulkFields, SelectedConversations
from app.schemas.conversations import (
    ConversationFields,
    DraftFields,
    EditedAnswer,
    MessageChoice,
    NewChat,
    NewMessage,
    PlacesWanted,
    RatingFields,
    RetryFields,
    SummaryWanted,
    UnsentMessage,
)
from app.schemas.folders import FolderFields
from app.schemas.imports import ImportFile
from app.schemas.kept_files import KeptFileFields
from app.schemas.parsing import CompatibleRequest, RequestModel
from app.schemas.presets import PresetFields
from app.schemas.response_bodies.account import (
    Account,
    AccountUsage,
    AdminPerson,
    AdminPersonPage,
    FormerChats,
    InitialPassword,
    NewAdminPerson,
    RecoveryCodes,
    SecondFactor,
    Sessions,
    TenantUsage,
)
from app.schemas.response_bodies.admin import (
    ApiKeyPage,
    ApiKeys,
    DeletedTenant,
    NewApiKey,
    TenantPage,
    TenantWithLimits,
)
from app.schemas.response_bodies.changes import ChangesOpening, ConversationChange, ConversationGone, ManyChanges
from app.schemas.response_bodies.conversations import (
    BulkResult,
    Conversation,
    ConversationPage,
    ConversationTree,
    ConversationWithMessages,
    DeletedConversationPage,
    DeletedMessagePage,
    NumDeleted,
)
from app.schemas.response_bodies.documents import DocumentText
from app.schemas.response_bodies.drafts import Draft
from app.schemas.response_bodies.errors import ErrorBody
from app.schemas.response_bodies.folders import Folder, Folders
from app.schemas.response_bodies.health import Health
from app.schemas.response_bodies.kept_files import KeptFile, KeptFiles, KeptFileText
from app.schemas.response_bodies.live import LiveSample
from app.schemas.response_bodies.login import Login, LoginStart
from app.schemas.response_bodies.messages import Message
from app.schemas.response_bodies.places import Places, Warming
from app.schemas.response_bodies.presets import Preset, Presets
from app.schemas.response_bodies.prompt_size import PromptSize, Summary, SummaryDelta, SummaryError
from app.schemas.response_bodies.reuse_report import ReuseReport
from app.schemas.response_bodies.run_events import (
    RunDelta,
    RunDone,
    RunError,
    RunOpening,
    RunProgress,
    RunSnapshot,
)
from app.schemas.response_bodies.saved_prompts import SavedPrompt, SavedPrompts
from app.schemas.response_bodies.search import Found, FoundInConversation
from app.schemas.response_bodies.shares import NewShare, Shares
from app.schemas.response_bodies.tokens import TokenCount
from app.schemas.response_bodies.transfer import Imported, ImportPreview
from app.schemas.saved_prompts import SavedPromptFields
from app.schemas.shares import ShareFields
from app.transport import frames
from app.version import VERSION

JSON, MARKDOWN, PLAIN, HTML = "application/json", "text/markdown", "text/plain", "text/html"
EVENTS, LINES = frames.EVENTS.media_type, frames.JSON_LINES.media_type

Schema = dict[str, Any]

_REF: Final = "#/components/schemas/{model}"
_TEXT: Final[Schema] = {"type": "string"}
_SOURCE: Final[Schema] = {"type": "string", "enum": list(SOURCES)}
_SWITCH: Final[Schema] = {"type": "string", "enum": ["true", "false"]}
_EVENT: Final[Schema] = {"type": "integer", "minimum": 0}
_DAYS: Final[dict[str, Schema]] = {"days": {"type": "integer", "minimum": 1, "maximum": MAX_USE_DAYS}}
_PAGED: Final[dict[str, Schema]] = {"limit": {"type": "integer", "minimum": 1, "maximum": MAX_PAGE}, "cursor": _TEXT}
_SEARCHED: Final[dict[str, Schema]] = {**_PAGED, "q": {"type": "string", "maxLength": MAX_QUERY_LENGTH}}
_ITEMS: Final[dict[str, Schema]] = {
    "limit": {"type": "integer", "minimum": 1, "maximum": MAX_ITEMS_PAGE},
    "order": {"type": "string", "enum": ["asc", "desc"]},
    "after": _TEXT,
}
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    """One operation of the API.

    body: schema of the request body; None without one.
    query, headers: optional parameters.
    answers: content types of the response, sent with `status`.
    answer: TypedDict of the JSON response; None leaves it undescribed.
    events: TypedDict of the data of each kind of event in a stream.
    """

    body: type[RequestModel] | None = None
    query: Mapping[str, Schema] = field(default_factory=dict)
    headers: tuple[str, ...] = ()
    answers: tuple[str, ...] = (JSON,)
    answer: type[Any] | None = None
    events: Mapping[str, type[Any]] = field(default_factory=dict)
    status: int = 200


_VERSIONED: Final = ("If-Match",)
_RUN: Final[Mapping[str, type[Any]]] = {
    "run": RunOpening,
    "snapshot": RunSnapshot,
    "progress": RunProgress,
    "delta": RunDelta,
    "done": RunDone,
    "error": RunError,
}

OPERATIONS: Final[Mapping[str, Operation]] = {
    "POST /v1/chat/completions": Operation(body=ChatCompletionRequest, answers=(JSON, EVENTS)),
    "POST /v1/completions": Operation(body=CompletionRequest, answers=(JSON, EVENTS)),
    "POST /v1/embeddings": Operation(body=EmbeddingsRequest),
    "POST /v1/messages": Operation(body=MessagesRequest, answers=(JSON, EVENTS)),
    "POST /v1/messages/count_tokens": Operation(body=CountTokensRequest),
    "POST /api/chat": Operation(body=OllamaChatRequest, answers=(JSON, LINES)),
    "POST /api/generate": Operation(body=OllamaGenerateRequest, answers=(JSON, LINES)),
    "POST /api/embed": Operation(body=OllamaEmbedRequest),
    "POST /api/embeddings": Operation(body=OllamaEmbeddingsRequest),
    "POST /api/show": Operation(body=OllamaShowRequest),
    "POST /v1/responses": Operation(body=ResponseRequest, answers=(JSON, EVENTS)),
    "POST /v1/responses/input_tokens": Operation(body=InputTokensRequest),
    "POST /v1/responses/compact": Operation(body=CompactRequest),
    "GET /v1/responses/{id}": Operation(
        query={"stream": _SWITCH, "starting_after": _EVENT}, headers=("Last-Event-ID",), answers=(JSON, EVENTS)
    ),
    "GET /v1/responses/{id}/input_items": Operation(query=_ITEMS),
    "POST /v1/conversations": Operation(body=NewConversation),
    "POST /v1/conversations/{id}": Operation(body=ConversationUpdate),
    "POST /v1/conversations/{id}/items": Operation(body=ItemsToAdd),
    "GET /v1/conversations/{id}/items": Operation(query=_ITEMS),
    "POST /tokenize": Operation(body=TokenizeRequest, answer=TokenCount),
    "POST /detokenize": Operation(body=DetokenizeRequest),
    "GET /health": Operation(answer=Health),
    "GET /ready": Operation(answer=Health),
    "GET /api/login": Operation(answer=Login),
    "POST /api/login": Operation(body=LoginFields, answer=Login),
    "POST /api/login/password": Operation(body=PasswordLoginFields, answer=Login),
    "POST /api/login/start": Operation(body=LoginStartFields, answer=LoginStart),
    "GET /login/callback": Operation(query={"code": _TEXT, "state": _TEXT, "iss": _TEXT}, answers=(), status=303),
    "GET /api/account": Operation(answer=Account),
    "GET /api/account/usage": Operation(query=_DAYS, answer=AccountUsage),
    "GET /api/account/former-chats": Operation(answer=FormerChats),
    "POST /api/account/former-chats": Operation(answer=FormerChats),
    "DELETE /api/account/former-chats": Operation(answers=(), status=204),
    "GET /api/account/keys": Operation(answer=ApiKeys),
    "POST /api/account/keys": Operation(body=OwnKey, answer=NewApiKey, status=201),
    "DELETE /api/account/keys/{id}": Operation(answers=(), status=204),
    "PUT /api/account/password": Operation(body=PasswordFields, answers=(), status=204),
    "POST /api/account/second-factor": Operation(body=OwnPassword, answer=SecondFactor, status=201),
    "PUT /api/account/second-factor": Operation(body=CodeFields, answer=RecoveryCodes),
    "POST /api/account/second-factor/removal": Operation(body=OwnPassword, answers=(), status=204),
    "GET /api/account/sessions": Operation(answer=Sessions),
    "DELETE /api/account/sessions/{id}": Operation(answers=(), status=204),
    "POST /api/logout": Operation(answers=(), status=204),
    "GET /api/conversations": Operation(
        query={
            "limit": {"type": "integer", "minimum": 1, "maximum": MAX_PAGE},
            "cursor": _TEXT,
            "offset": {"type": "integer", "minimum": 0, "maximum": MAX_OFFSET},
            "archived": _SWITCH,
            "pinned": _SWITCH,
            "source": _SOURCE,
            "shown_in": _TEXT,
            "folder_id": _TEXT,
            "tag": _TEXT,
        },
        answer=ConversationPage,
    ),
    "POST /api/conversations": Operation(body=NewChat, answer=Conversation, status=201),
    "GET /api/conversations/{id}": Operation(
        query={"limit": {"type": "integer", "minimum": 1, "maximum": MAX_PAGE}, "from": _TEXT, "to": _TEXT},
        answer=ConversationWithMessages,
    ),
    "PATCH /api/conversations/{id}": Operation(body=ConversationFields, headers=_VERSIONED, answer=Conversation),
    "DELETE /api/conversations/{id}": Operation(
        query={"permanently": _SWITCH}, headers=_VERSIONED, answers=(), status=204
    ),
    "POST /api/conversations/bulk": Operation(body=BulkFields, answer=BulkResult),
    "GET /api/folders": Operation(answer=Folders),
    "POST /api/folders": Operation(body=FolderFields, answer=Folder, status=201),
    "PUT /api/folders/{id}": Operation(body=FolderFields, answer=Folder),
    "DELETE /api/folders/{id}": Operation(answers=(), status=204),
    "DELETE /api/conversations": Operation(query={"source": _SOURCE}, answer=NumDeleted),
    "GET /api/deleted-conversations": Operation(query=_PAGED, answer=DeletedConversationPage),
    "DELETE /api/deleted-conversations": Operation(answer=NumDeleted),
    "GET /api/deleted-messages": Operation(query=_PAGED, answer=DeletedMessagePage),
    "POST /api/conversations/{id}/restore": Operation(answer=Conversation),
    "POST /api/conversations/{id}/seen": Operation(answers=(), status=204),
    "POST /api/conversations/{id}/messages": Operation(
        body=NewMessage, headers=_VERSIONED, answers=(EVENTS,), events=_RUN
    ),
    "PUT /api/messages/{id}/rating": Operation(body=RatingFields, headers=_VERSIONED, answer=Conversation),
    "POST /api/messages/{id}/edit": Operation(body=EditedAnswer, headers=_VERSIONED, answer=Conversation, status=201),
    "POST /api/messages/{id}/retry": Operation(body=RetryFields, headers=_VERSIONED, answers=(EVENTS,), events=_RUN),
    "POST /api/messages/{id}/continue": Operation(headers=_VERSIONED, answers=(EVENTS,), events=_RUN),
    "GET /api/conversations/{id}/tree": Operation(answer=ConversationTree),
    "PUT /api/conversations/{id}/head": Operation(body=MessageChoice, headers=_VERSIONED, answer=Conversation),
    "POST /api/conversations/{id}/summary": Operation(
        body=SummaryWanted,
        answers=(JSON, EVENTS),
        answer=Summary,
        events={"delta": SummaryDelta, "done": Summary, "error": SummaryError},
    ),
    "POST /api/conversations/{id}/fork": Operation(body=MessageChoice, answer=Conversation, status=201),
    "DELETE /api/messages/{id}": Operation(
        query={"alone": _SWITCH, "permanently": _SWITCH}, headers=_VERSIONED, answer=Conversation
    ),
    "POST /api/messages/{id}/restore": Operation(answer=Conversation),
    "POST /api/conversations/{id}/warm": Operation(answer=Warming, status=202),
    "DELETE /api/conversations/{id}/warm": Operation(answers=(), status=204),
    "POST /api/places": Operation(body=PlacesWanted, answer=Places),
    "POST /api/document-text": Operation(query={"html": _SWITCH}, answer=DocumentText),
    "POST /api/prompt-size": Operation(body=UnsentMessage, answer=PromptSize),
    "GET /api/draft": Operation(answer=Draft),
    "PUT /api/draft": Operation(body=DraftFields, answer=Draft),
    "GET /api/conversations/{id}/draft": Operation(answer=Draft),
    "PUT /api/conversations/{id}/draft": Operation(body=DraftFields, answer=Draft),
    "GET /api/presets": Operation(answer=Presets),
    "POST /api/presets": Operation(body=PresetFields, answer=Preset, status=201),
    "PUT /api/presets/{id}": Operation(body=PresetFields, answer=Preset),
    "DELETE /api/presets/{id}": Operation(answers=(), status=204),
    "GET /api/prompts": Operation(answer=SavedPrompts),
    "POST /api/prompts": Operation(body=SavedPromptFields, answer=SavedPrompt, status=201),
    "PUT /api/prompts/{id}": Operation(body=SavedPromptFields, answer=SavedPrompt),
    "DELETE /api/prompts/{id}": Operation(answers=(), status=204),
    "GET /api/files": Operation(answer=KeptFiles),
    "POST /api/files": Operation(body=KeptFileFields, answer=KeptFile, status=201),
    "GET /api/files/{id}": Operation(answer=KeptFileText),
    "DELETE /api/files/{id}": Operation(answers=(), status=204),
    "POST /api/conversations/{id}/shares": Operation(body=ShareFields, answer=NewShare, status=201),
    "GET /api/shares": Operation(answer=Shares),
    "DELETE /api/shares/{id}": Operation(answers=(), status=204),
    "GET /share/{secret}": Operation(answers=(HTML,)),
    "GET /api/conversations/{id}/find": Operation(
        query={"q": {"type": "string", "maxLength": MAX_QUERY_LENGTH}}, answer=FoundInConversation
    ),
    "GET /api/search": Operation(
        query={
            "q": {"type": "string", "maxLength": MAX_QUERY_LENGTH},
            "limit": {"type": "integer", "minimum": 1},
            "source": _SOURCE,
            "cursor": _TEXT,
            "role": {"type": "string", "enum": ["user", "assistant"]},
            "since": {"type": "number", "minimum": 0},
            "until": {"type": "number", "minimum": 0},
            "folder_id": _TEXT,
            "tag": _TEXT,
            "archived": _SWITCH,
        },
        answer=Found,
    ),
    "GET /api/conversations/{id}/export": Operation(
        query={"format": {"type": "string", "enum": ["json", "markdown", "text"]}}, answers=(JSON, MARKDOWN, PLAIN)
    ),
    "GET /api/export": Operation(query={"parts": _SWITCH, "cursor": _TEXT}, answers=(JSON,)),
    "POST /api/export": Operation(body=SelectedConversations, answers=(JSON,)),
    "POST /api/import": Operation(body=ImportFile, query={"duplicates": _SWITCH, "chosen": _TEXT}, answer=Imported),
    "POST /api/import/preview": Operation(body=ImportFile, answer=ImportPreview),
    "GET /api/runs/{id}/events": Operation(
        query={"starting_after": _EVENT}, headers=("Last-Event-ID",), answers=(EVENTS,), events=_RUN
    ),
    "POST /api/runs/{id}/cancel": Operation(answer=Message),
    "GET /api/runs/{id}/kv": Operation(answer=ReuseReport),
    "GET /api/admin/keys": Operation(query=_SEARCHED, answer=ApiKeyPage),
    "POST /api/admin/keys": Operation(body=NewKey, answer=NewApiKey, status=201),
    "DELETE /api/admin/keys/{id}": Operation(answers=(), status=204),
    "GET /api/admin/people": Operation(query=_SEARCHED, answer=AdminPersonPage),
    "POST /api/admin/people": Operation(body=NewPerson, answer=NewAdminPerson, status=201),
    "POST /api/admin/people/{id}/password": Operation(answer=InitialPassword),
    "PATCH /api/admin/people/{id}": Operation(body=PersonFields, answer=AdminPerson),
    "GET /api/admin/tenants/{tenant}/usage": Operation(query=_DAYS, answer=TenantUsage),
    "POST /api/admin/replicas/{id}/drain": Operation(answers=(), status=202),
    "GET /api/admin/tenants": Operation(query={**_DAYS, **_SEARCHED}, answer=TenantPage),
    "DELETE /api/admin/tenants/{tenant}": Operation(answer=DeletedTenant),
    "PUT /api/admin/tenants/{tenant}/limits": Operation(body=LimitFields, answer=TenantWithLimits),
    "GET /metrics": Operation(answers=(PLAIN,)),
    "GET /api/events": Operation(
        answers=(EVENTS,),
        events={
            "opened": ChangesOpening,
            "conversation": ConversationChange,
            "gone": ConversationGone,
            "reload": ManyChanges,
        },
    ),
    "GET /api/live": Operation(headers=("Last-Event-ID",), answers=(EVENTS,), events={"sample": LiveSample}),
}


@cache
def openapi_document() -> Schema:
    """Generate the OpenAPI 3.1 document."""
    endpoints = _endpoints(ROUTES)
    operations = {name: OPERATIONS.get(name, Operation()) for name in endpoints}
    models = {model for operation in operations.values() for model in _models(operation)}
    _, schemas = TypeAdapter.json_schemas(
        [(repr(model), "validation", TypeAdapter(model)) for model in sorted(models, key=repr)],
        ref_template=_REF,
        schema_generator=_ClosedObjects,
    )
    described = schemas.get("$defs", {})
    for name in _open_objects(operations.values()) & described.keys():
        described[name].pop("additionalProperties", None)
    paths: dict[str, Schema] = {}
    for name, (path, summary) in endpoints.items():
        method = name.partition(" ")[0].lower()
        paths.setdefault(path, {})[method] = {"summary": summary, **_described(path, operations[name])}
    return {
        "openapi": "3.1.0",
        "info": {"title": "Ebb", "version": VERSION},
        "paths": paths,
        "components": {"schemas": {**described, **_ERRORS}},
    }


def _open_objects(operations: Iterable[Operation]) -> set[str]:
    """Return the schemas of compatible routes, whose unknown fields are ignored."""
    bodies = {each.body for each in operations if each.body is not None and issubclass(each.body, CompatibleRequest)}
    return {name for body in bodies for name in (body.__name__, *body.model_json_schema().get("$defs", {}))}


class _ClosedObjects(GenerateJsonSchema):
    """Generator of schemas in which a TypedDict has no fields but its own, as mypy holds."""

    def typed_dict_schema(self, schema: TypedDictSchema) -> Schema:
        """Describe a TypedDict."""
        return {**super().typed_dict_schema(schema), "additionalProperties": False}


def _models(operation: Operation) -> Iterator[type[Any]]:
    yield from operation.events.values()
    for model in (operation.body, operation.answer):
        if model is not None:
            yield model


def _endpoints(routes: Sequence[BaseRoute]) -> dict[str, tuple[str, str]]:
    """Return path and summary by "METHOD /path". The path is in the document's notation, the key in the table's."""
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
    content: Schema = {kind: _content(operation, kind) for kind in operation.answers}
    answer = {"description": "Success", **({"content": content} if content else {})}
    failure = "AnthropicError" if is_anthropic(path) else "OllamaError" if is_ollama(path) else "Error"
    error = {"description": "Error", "content": {JSON: {"schema": {"$ref": _REF.format(model=failure)}}}}
    described: Schema = {"responses": {str(operation.status): answer, "default": error}}
    if parameters:
        described["parameters"] = parameters
    if operation.body is not None:
        described["requestBody"] = {"required": True, "content": {JSON: {"schema": _reference(operation.body)}}}
    return described


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


routes = [Route("/openapi.json", _openapi)]


if __name__ == "__main__":
    print(json.dumps(openapi_document()))
