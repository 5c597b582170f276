"""Export and import of conversations as files."""

import asyncio
from collections import deque
from collections.abc import AsyncIterable, AsyncIterator, Callable, Container, Sequence, Set
from functools import partial
from typing import Annotated, Final, Literal, TypeVar

from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from app.conversations.export import (
    conversation_beginning,
    conversation_end,
    file_beginning,
    file_end,
    markdown_beginning,
    markdown_messages,
    messages_text,
    text_beginning,
    text_messages,
)
from app.conversations.imported_files import ReadChat, ReadFile, read_any
from app.domain.bounds import MAX_IMPORT_BYTES, MAX_IMPORTED
from app.domain.folder import FolderLevel, FolderTree
from app.domain.records import Conversation, Message
from app.http.attachment import attachment
from app.http.client_presence import stop_if_left, while_present
from app.http.large_json import LargeJSONResponse, json_in_parts
from app.http.media_types import JSON, MARKDOWN, PLAIN
from app.http.operation import Operation
from app.http.query_params import AnyText, Positions, Query, Switch, one_of
from app.http.request_body import read_bytes
from app.schemas.imports import ImportFile
from app.schemas.response_bodies.transfer import (
    Imported,
    ImportPreview,
    LeftOut,
    PreviewedConversation,
    UnreadableConversation,
    num_branches,
)
from app.services import Services, services_of
from app.storage.imports import Imported as ImportedConversation
from engine.api.errors import InvalidRequestError

T = TypeVar("T")

PREVIEWED_AT_ONCE: Final = 500
PART_BYTES = 32 << 20
PART_MESSAGES = MAX_IMPORTED // 2
"""A part of an export ends after the conversation that reaches either limit. An import accepts twice as much."""


class ExportFormat(Query):
    """Format of an exported conversation."""

    format: Annotated[
        Literal["json", "markdown", "text"], one_of(("json", "markdown", "text"), "json, markdown or text")
    ] = "json"


class ExportPart(Query):
    """Part of an export. parts: whether the file has no more than an import accepts. cursor: where the part begins."""

    parts: Switch = False
    cursor: AnyText = ""

    def __post_init__(self) -> None:
        """Raise InvalidRequestError for a cursor without parts."""
        if self.cursor and not self.parts:
            raise InvalidRequestError("cursor needs parts=true", param="cursor")


class ImportChoice(Query):
    """The conversations of a file to import.

    duplicates: whether conversations that exist already are imported again.
    chosen: positions of the conversations in the file; None for all.
    """

    duplicates: Switch = False
    chosen: Positions | None = None


async def export_conversation(request: Request, asked: ExportFormat) -> Response:
    """Export a conversation: all of it as JSON, or the shown path as Markdown or plain text."""
    services, conversation_id = services_of(request), request.path_params["id"]
    conversation = await services.store.conversations.get(conversation_id)
    match asked.format:
        case "json":
            export_id = await services.store.conversations.export_id(conversation_id)
            file = exported_file(services, _alone(conversation, export_id))
            headers = attachment(conversation.title, "json")
            return StreamingResponse(file, media_type="application/json", headers=headers)
        case "markdown":
            file = _written(services, conversation, markdown_beginning, markdown_messages)
            headers = attachment(conversation.title, "md")
            return StreamingResponse(file, media_type="text/markdown", headers=headers)
        case "text":
            file = _written(services, conversation, text_beginning, text_messages)
            headers = attachment(conversation.title, "txt")
            return StreamingResponse(file, media_type="text/plain", headers=headers)


async def export_all(request: Request, asked: ExportPart) -> Response:
    """Export all conversations as one JSON file or, with `parts`, a part that is small enough to import."""
    headers = attachment("conversations", "json")
    services = services_of(request)
    file = exported_file(services, services.store.conversations.each(asked.cursor), in_parts=asked.parts)
    return StreamingResponse(file, media_type="application/json", headers=headers)


async def preview_import(request: Request) -> Response:
    """Say what a file contains, and what an import would leave out, without importing it."""
    preview, chats = await _read(request, _previewed)
    here = await services_of(request).store.imports.are_here([source for source, _ in chats])
    return await json_in_parts(preview, _previews(chats, here), {})


async def import_file(request: Request, asked: ImportChoice) -> Response:
    """Import an exported file, skipping conversations that exist already. If one of Ebb's own is invalid, none is.

    The client's departure ends the import, which then leaves nothing.
    """
    services = services_of(request)
    given, unreadable = await _read(request, partial(_chosen, chosen=asked.chosen))
    try:
        added = await while_present(request, services.store.imports.add(given, duplicates=asked.duplicates))
        skipped = [one.source for one in given if one.source not in added]
    finally:
        await asyncio.to_thread(_free, given)
    services.records.changes.announce(services.store.tenant)
    return LargeJSONResponse(Imported(imported=list(added.values()), skipped=skipped, unreadable=unreadable))


async def _read(request: Request, make: Callable[[ReadFile], T]) -> T:
    """Return what `make` makes of the file that a request imports. The reading ends when the client leaves.

    `make` runs in the reading thread, and frees there what it does not return.
    """
    body = await read_bytes(request, MAX_IMPORT_BYTES)
    services = services_of(request)
    stop = partial(stop_if_left, request.scope)

    def read() -> T:
        # The client may have left while the request waited for its turn.
        stop()
        return make(read_any(body, stop))

    return await services.tenant_threads.run(services.store.tenant, read)


def _previewed(file: ReadFile) -> tuple[ImportPreview, deque[tuple[str, PreviewedConversation]]]:
    """Return a preview without conversations, and its conversations, each with its source and not known to be here.

    The file loses its conversations one by one.
    """
    chats = deque[tuple[str, PreviewedConversation]]()
    file.chats.reverse()
    while file.chats:
        chat = file.chats.pop()
        chats.append((chat.imported.source, _previewed_chat(chat)))
    return ImportPreview(format=file.format, unreadable=_unreadable(file), conversations=[]), chats


def _previewed_chat(chat: ReadChat) -> PreviewedConversation:
    conversation, messages = chat.imported.conversation, chat.imported.messages
    return {
        "index": chat.index,
        "title": conversation.title,
        "updated_at": conversation.updated_at,
        "archived": conversation.archived,
        "num_messages": len(messages),
        "num_branches": num_branches((each.id, each.parent_id) for each in messages),
        "left_out": [LeftOut(kind=kind, count=count) for kind, count in chat.left_out.items()],
        "is_here": False,
    }


async def _previews(
    chats: deque[tuple[str, PreviewedConversation]], here: Set[str]
) -> AsyncIterator[list[PreviewedConversation]]:
    """Yield conversations in parts, and say which ones are here.

    chats: each with its source. Loses the parts.
    """
    while chats:
        # A client that takes all at once would hold the event loop.
        await asyncio.sleep(0)
        part = [chats.popleft() for _ in range(min(PREVIEWED_AT_ONCE, len(chats)))]
        yield [{**chat, "is_here": source in here} for source, chat in part]


def _chosen(
    file: ReadFile, chosen: Container[int] | None
) -> tuple[list[ImportedConversation], list[UnreadableConversation]]:
    """Return the conversations with a chosen position, or all if it is None, and those that cannot be read."""
    return [chat.imported for chat in file.chats if chosen is None or chat.index in chosen], _unreadable(file)


def _free(given: list[T]) -> None:
    """Empty a list, element by element. No other thread could run while Python frees all of them at once."""
    while given:
        given.pop()


def _unreadable(file: ReadFile) -> list[UnreadableConversation]:
    return [{"index": each.index, "title": each.title, "problem": each.problem} for each in file.unreadable]


async def exported_file(
    services: Services, conversations: AsyncIterable[tuple[Conversation, str]], *, in_parts: bool = False
) -> AsyncIterator[str]:
    """Write conversations as a JSON file or, with `in_parts`, as many of them as a part may have.

    conversations: each with its export id.
    """
    folders = await _folders(services)
    yield file_beginning()
    separator, last, num_bytes, num_messages, paths = "\n", "", 0, 0, set[tuple[FolderLevel, ...]]()
    async for conversation, export_id in conversations:
        if in_parts and (num_bytes >= PART_BYTES or num_messages >= PART_MESSAGES):
            yield await asyncio.to_thread(file_end, paths, last)
            return
        folder = folders.path(conversation.folder_id)
        if folder not in paths:
            paths.add(folder)
            num_bytes += sum(len((level.system_prompt or "").encode()) for level in folder)
        yield separator
        num_messages += 1
        async for text, count in _conversation(services, conversation, export_id, folder):
            yield text
            num_bytes += len(text.encode())
            num_messages += count
        separator, last = ",\n", conversation.id
    yield await asyncio.to_thread(file_end, paths)


async def _conversation(
    services: Services, conversation: Conversation, export_id: str, folder: Sequence[FolderLevel]
) -> AsyncIterator[tuple[str, int]]:
    """Write a conversation in parts, each with its number of messages. The client's departure ends it after a part."""
    yield conversation_beginning(conversation, export_id, folder), 0
    responses = await services.store.responses.all_of(conversation.id)
    written, comma = list[str](), ""
    async for messages in services.turns.all_parts(conversation):
        write = partial(messages_text, messages, responses, export_id)
        text = await services.tenant_threads.run(services.store.tenant, write)
        written += [message.id for message in messages]
        if text:
            yield comma + text, len(messages)
            comma = ", "
    yield conversation_end(conversation, set(written), written[-1] if written else None), 0


async def _written(
    services: Services,
    conversation: Conversation,
    beginning: Callable[[Conversation], str],
    text_of: Callable[[Sequence[Message]], str],
) -> AsyncIterator[str]:
    """Write the shown path of a conversation in parts."""
    yield beginning(conversation)
    async for messages in services.turns.shown_path(conversation):
        yield text_of(messages)
    yield "\n"


async def _alone(conversation: Conversation, export_id: str) -> AsyncIterator[tuple[Conversation, str]]:
    yield conversation, export_id


async def _folders(services: Services) -> FolderTree:
    return FolderTree(await services.store.folders.all())


operations = [
    Operation(
        "GET", "/api/conversations/{id}/export", export_conversation, media=(JSON, MARKDOWN, PLAIN), right="export"
    ),
    Operation("GET", "/api/export", export_all, right="export"),
    Operation("POST", "/api/import", import_file, answer=Imported, body=ImportFile, right="import"),
    Operation("POST", "/api/import/preview", preview_import, answer=ImportPreview, body=ImportFile, right="import"),
]
