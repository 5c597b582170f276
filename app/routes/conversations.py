"""/api/conversations: the list of chats, one chat with its messages, and new turns in it."""

from collections.abc import AsyncIterator
from functools import partial
from typing import Annotated

from starlette.requests import Request
from starlette.responses import Response

from app.domain import records
from app.domain.bounds import MAX_OFFSET, MAX_PAGE
from app.http.large_json import LargeJSONResponse, json_in_parts
from app.http.operation import Operation
from app.http.query_params import AnyText, Query, Source, Switch, whole_numbers
from app.routes.cursors import parse_position, position_cursor
from app.routes.pages_of_lists import DEFAULT_PAGE, cursor_of
from app.routes.rights import check_right
from app.routes.versioned import VERSIONED, changed, expected_versions, version_headers
from app.runs.run import Run
from app.schemas.conversations import ConversationFields, NewChat, NewMessage, RetryFields
from app.schemas.response_bodies.conversations import (
    Conversation,
    ConversationPage,
    ConversationWithMessages,
    conversation_body,
)
from app.schemas.response_bodies.messages import Message, message_body
from app.schemas.response_bodies.run_events import RUN_EVENTS
from app.services import Services, services_of
from app.storage.conversations import ListPosition
from app.storage.list_filter import ListFilter
from app.storage.rows import no_message
from app.transport.event_stream import EventStream
from engine.api.errors import InvalidRequestError


class ListedChats(Query):
    """A page of the list of conversations, which begins at a cursor or at an offset."""

    limit: Annotated[int, whole_numbers(1, MAX_PAGE)] = DEFAULT_PAGE
    cursor: Annotated[ListPosition, cursor_of(parse_position)] | None = None
    offset: Annotated[int, whole_numbers(0, MAX_OFFSET)] | None = None
    archived: Switch = False
    pinned: Switch | None = None
    source: Source = "chat"
    shown_in: AnyText | None = None
    folder_id: AnyText | None = None
    tag: AnyText | None = None

    def __post_init__(self) -> None:
        """Raise InvalidRequestError for a page with two beginnings."""
        if self.cursor is not None and self.offset is not None:
            raise InvalidRequestError("A page begins at a cursor or at an offset, not at both", param="offset")

    def wanted(self) -> ListFilter:
        """Return the conditions that the conversations meet."""
        return ListFilter(self.source, self.archived, self.pinned, self.shown_in, self.folder_id, self.tag)


class PageOfPath(Query):
    """Page of a conversation's path. Without any parameter, it is the whole path.

    limit: maximum number of messages.
    from_, to: first or last message of the page. Without either, the page has the end of the path.
    """

    limit: Annotated[int, whole_numbers(1, MAX_PAGE)] | None = None
    from_: AnyText | None = None
    to: AnyText | None = None

    def __post_init__(self) -> None:
        """Raise InvalidRequestError for a page with both ends."""
        if self.from_ is not None and self.to is not None:
            raise InvalidRequestError("A page has one of from and to, and limit messages", param="to")

    @property
    def is_end(self) -> bool:
        """Whether the page has the end of the path."""
        return self.from_ is None and self.to is None

    @property
    def is_whole(self) -> bool:
        """Whether the page is the whole path."""
        return self.is_end and self.limit is None

    async def parts(self, services: Services, conversation: records.Conversation) -> list[list[str]]:
        """Return the ids of the messages in parts, the oldest first. Raise NotFoundError."""
        if self.is_whole:
            return await services.store.messages.parts_of_path(conversation.head_id)
        named, most = self.from_ or self.to, self.limit or MAX_PAGE
        parts = await services.store.messages.parts_of_part(
            conversation.id, conversation.head_id, since=named, newest_first=self.from_ is None, most=most
        )
        if named is not None and not parts:
            raise no_message(named)
        return parts


class Deletion(Query):
    """A deletion. permanently: whether it can never be restored."""

    permanently: Switch = False


async def list_conversations(request: Request, asked: ListedChats) -> Response:
    """List a page of the conversations of one source: pinned ones first, then the most recent."""
    page = await services_of(request).store.conversations.page(
        asked.wanted(), limit=asked.limit, after=asked.cursor, offset=asked.offset
    )
    following = position_cursor(page.following) if page.following is not None else None
    body = ConversationPage(data=[conversation_body(one) for one in page.conversations], next_cursor=following)
    if page.total is not None:
        body["total"] = page.total
    return LargeJSONResponse(body)


async def create_conversation(request: Request, fields: NewChat) -> Response:
    """Create an empty conversation. Repeating the request with its own id changes nothing."""
    if fields.temporary:
        check_right(request, "temporary-chats")
    store = services_of(request).store
    made = await store.conversations.create(fields.changes(), fields.first_message, fields.id)
    return changed(request, made, 201)


async def get_conversation(request: Request, page: PageOfPath) -> Response:
    """Return a conversation with the messages on its current path, or a page of them.

    Each message has the ids of its siblings.
    """
    services = services_of(request)
    conversation = await services.store.conversations.get(request.path_params["id"])
    parts = await page.parts(services, conversation)

    async def messages() -> AsyncIterator[list[Message]]:
        async for part in services.turns.in_parts(parts):
            siblings = await services.store.tree.siblings(conversation.id, [each.parent_id for each in part])
            yield [_with_siblings(message, siblings[message.parent_id]) for message in part]

    body: ConversationWithMessages = {**conversation_body(conversation), "branches": None, "messages": []}
    if page.is_end and not page.is_whole:
        body["branches"] = await services.store.tree.branches(conversation.id)
    return await json_in_parts(body, messages(), version_headers(conversation.version))


async def change_conversation(request: Request, fields: ConversationFields) -> Response:
    """Change a conversation's title, system prompt or default parameters, or pin or archive it."""
    services = services_of(request)
    conversation = await services.store.conversations.change(
        request.path_params["id"], fields.changes(), expected_versions(request)
    )
    if fields.pinned is not None:
        services.model.pinned_kv.on_marked(services.store.tenant, [conversation.id], pinned=conversation.pinned)
    return changed(request, conversation)


async def delete_conversation(request: Request, asked: Deletion) -> Response:
    """Move a conversation to the recently deleted ones, or remove it at once. Answers being generated are stopped."""
    services, conversation_id = services_of(request), request.path_params["id"]
    versions = expected_versions(request)
    await services.deletions.delete_conversation(conversation_id, versions, permanently=asked.permanently)
    services.records.changes.announce(services.store.tenant, conversation_id)
    return Response(status_code=204)


async def restore_conversation(request: Request) -> Response:
    """Undo the deletion of a conversation."""
    return changed(request, await services_of(request).deletions.restore_conversation(request.path_params["id"]))


async def see_conversation(request: Request) -> Response:
    """Mark the answers of a conversation as seen. Repeating this changes nothing."""
    services, conversation_id = services_of(request), request.path_params["id"]
    if await services.store.conversations.see(conversation_id):
        services.records.changes.announce(services.store.tenant, conversation_id)
    return Response(status_code=204)


async def post_message(request: Request, fields: NewMessage) -> Response:
    """Post a message, and stream the events of the run that answers it."""
    services = services_of(request)
    return _followed(services, await services.turns.ask(request.path_params["id"], fields, expected_versions(request)))


async def retry_message(request: Request, fields: RetryFields) -> Response:
    """Generate another answer to a question, alongside the existing ones, and stream the run's events."""
    services = services_of(request)
    return _followed(
        services, await services.turns.retry(request.path_params["id"], fields, expected_versions(request))
    )


async def continue_message(request: Request) -> Response:
    """Continue an answer that was cut off, in the same message, and stream the run's events."""
    services = services_of(request)
    run = await services.continuation.resume(request.path_params["id"], expected_versions(request))
    return _followed(services, run)


def _with_siblings(message: records.Message, sibling_ids: list[str]) -> Message:
    # The message may have been deleted after the path was read and before its siblings were.
    ids = sibling_ids if message.id in sibling_ids else [message.id]
    return {**message_body(message), "sibling_ids": ids, "sibling_index": ids.index(message.id)}


def _followed(services: Services, run: Run) -> Response:
    if services.model.titles is not None:
        services.model.titles.after(run)
    services.model.next_prefixes.after(run)
    if services.access.ring.limits_of(run.tenant).kv_reserved:
        services.model.pinned_kv.after(run)
    return EventStream(partial(run.log.follow, 0), headers={"X-Run-Id": run.id})


operations = [
    Operation("GET", "/api/conversations", list_conversations, answer=ConversationPage),
    Operation("POST", "/api/conversations", create_conversation, answer=Conversation, status=201),
    Operation("GET", "/api/conversations/{id}", get_conversation, answer=ConversationWithMessages),
    Operation("PATCH", "/api/conversations/{id}", change_conversation, answer=Conversation, headers=VERSIONED),
    Operation("DELETE", "/api/conversations/{id}", delete_conversation, status=204, headers=VERSIONED),
    Operation("POST", "/api/conversations/{id}/restore", restore_conversation, answer=Conversation),
    Operation("POST", "/api/conversations/{id}/seen", see_conversation, status=204),
    Operation(
        "POST",
        "/api/conversations/{id}/messages",
        post_message,
        needs_model=True,
        events=RUN_EVENTS,
        headers=VERSIONED,
    ),
    Operation(
        "POST",
        "/api/messages/{id}/retry",
        retry_message,
        needs_model=True,
        events=RUN_EVENTS,
        headers=VERSIONED,
    ),
    Operation("POST", "/api/messages/{id}/continue", continue_message, events=RUN_EVENTS, headers=VERSIONED),
]
