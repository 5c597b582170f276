"""Conversations as files, out and in."""

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response, StreamingResponse
from starlette.routing import Route

from app.export import exported, file_head, markdown
from app.importing import conversations_of
from app.limits import MAX_IMPORT_BYTES
from app.query_params import flag
from app.records import Conversation
from app.request_body import read_bytes
from app.schemas.imports import ImportFile
from app.schemas.parsing import parse_body
from app.services import Services, services_of
from engine.errors import InvalidRequestError


async def export_conversation(request: Request) -> Response:
    """One: all of it as JSON, or what is shown as Markdown."""
    services, conversation_id = services_of(request), request.path_params["id"]
    conversation = await services.store.conversations.get(conversation_id)
    match request.query_params.get("format", "json"):
        case "json":
            export_id = await services.store.conversations.export_id(conversation_id)
            whole = {**file_head(), "conversations": [await _exported(services, conversation, export_id)]}
            return JSONResponse(whole, headers=_attachment(f"{conversation_id}.json"))
        case "markdown":
            text = markdown(conversation, await services.turns.shown_path(conversation))
            headers = _attachment(f"{conversation_id}.md")
            return PlainTextResponse(text, media_type="text/markdown", headers=headers)
        case _:
            raise InvalidRequestError("format must be json or markdown", param="format")


async def export_all(request: Request) -> Response:
    """All of them as one JSON file, written while it is read."""
    headers = _attachment("conversations.json")
    return StreamingResponse(_file(services_of(request)), media_type="application/json", headers=headers)


async def import_file(request: Request) -> Response:
    """Take the conversations of an exported file that are not here yet; all of them, or none if one is wrong."""
    store, duplicates = services_of(request).store, flag(request, "duplicates")
    body = await read_bytes(request, MAX_IMPORT_BYTES)
    given = await asyncio.to_thread(lambda: conversations_of(parse_body(ImportFile, body)))
    taken = await store.imports.add(given, duplicates=duplicates)
    names = {one.source for one in taken}
    skipped = [one.source for one in given if one.source not in names]
    return JSONResponse({"imported": [one.conversation.id for one in taken], "skipped": skipped})


async def _file(services: Services) -> AsyncIterator[str]:
    head = json.dumps(file_head())
    yield head[:-1] + ', "conversations": ['
    separator = "\n"
    async for conversation, export_id in services.store.conversations.each():
        yield separator + json.dumps(await _exported(services, conversation, export_id), ensure_ascii=False)
        separator = ",\n"
    yield "\n]}\n"


async def _exported(services: Services, conversation: Conversation, export_id: str) -> dict[str, Any]:
    stored = await services.store.messages.all_of(conversation.id)
    return exported(conversation, export_id, services.turns.as_they_are(stored))


def _attachment(name: str) -> dict[str, str]:
    return {"Content-Disposition": f'attachment; filename="{name}"', "Cache-Control": "no-store"}


routes = [
    Route("/api/conversations/{id}/export", export_conversation),
    Route("/api/export", export_all),
    Route("/api/import", import_file, methods=["POST"]),
]
