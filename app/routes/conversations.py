"""/api/conversations: the list of chats, one chat with its messages, and new turns in it."""

from collections.abc import AsyncIterator
from dataclasses import dataclass
from functools import partial
from typing import Self

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from app.domain import records
from app.domain.bounds import MAX_OFFSET, MAX_PAGE
from app.http.large_json import LargeJSONResponse, json_in_parts
from app.http.query_params import flag, source_of, whole_number
from app.http.request_body import read_body
from app.routes.cursors import parse_position, position_cursor
from app.routes.rights import check_right
from app.routes.versioned import changed, expected_versions, version_headers
from app.runs.run import Run
from app.schemas.conversations import ConversationFields, NewChat, NewMessage, RetryFields
from app.schemas.response_bodies.conversations import ConversationPage, ConversationWithMessages, conversation_body
from app.schemas.response_bodies.messages import Message, message_body
from app.services import Services, services_of
from app.storage.list_filter import ListFilter
from app.storage.rows import no_message
from app.transport.event_stream import EventStream
from engine.api.errors import InvalidRequestError

DEFAULT_PAGE = 100


@dataclass(frozen=True, slots=True)
class PageOfPath:
    """Page of a conversation's path that a request asks for.

    limit: maximum number of messages.
    begins, ends: first or last message of the page. Without either, the page has the end of the path.
    """

    limit: int
    begins: str | None
    ends: str | None

    @classmethod
    def parse(cls, request: Request) -> Self | None:
        """Read the page from the query; None if the request asks for the whole path. Raise InvalidRequestError."""
        given = request.query_params
        if given.keys().isdisjoint(("limit", "from", "to")):
            return None
        if "from" in given and "to" in given:
            raise InvalidRequestError("A page has one of from and to, and limit messages", param="to")
        limit = whole_number(request, "limit", MAX_PAGE, low=1, high=MAX_PAGE)
        return cls(limit, begins=given.get("from"), ends=given.get("to"))

    @property
    def is_end(self) -> bool:
        """Whether the page has the end of the path."""
        return self.begins is None and self.ends is None

    async def parts(self, services: Services, conversation: records.Conversation) -> list[list[str]]:
        """Return the ids of the messages in parts, the oldest first. Raise NotFoundError."""
        named = self.begins or self.ends
        parts = await services.store.messages.parts_of_part(
            conversation.id, conversation.head_id, since=named, newest_first=self.begins is None, most=self.limit
        )
        if named is not None and not parts:
            raise no_message(named)
        return parts


async def list_conversations(request: Request) -> Response:
    """List a page of the conversations of one source: pinned ones first, then the most recent."""
    given = request.query_params
    cursor, has_offset = given.get("cursor"), "offset" in given
    if cursor is not None and has_offset:
        raise InvalidRequestError("A page begins at a cursor or at an offset, not at both", param="offset")
    wanted = ListFilter(
        source=source_of(request),
        archived=flag(request, "archived"),
        pinned=flag(request, "pinned") if "pinned" in given else None,
        shown_in=given.get("shown_in"),
        folder_id=given.get("folder_id"),
        tag=given.get("tag"),
    )
    page = await services_of(request).store.conversations.page(
        wanted,
        limit=whole_number(request, "limit", DEFAULT_PAGE, low=1, high=MAX_PAGE),
        after=parse_position(cursor) if cursor is not None else None,
        offset=whole_number(request, "offset", 0, low=0, high=MAX_OFFSET) if has_offset else None,
    )
    following = position_cursor(page.following) if page.following is not None else None
    body = ConversationPage(data=[conversation_body(one) for one in page.conversations], next_cursor=following)
    if page.total is not None:
        body["total"] = page.total
    return LargeJSONResponse(body)


async def create_conversation(request: Request) -> Response:
    """Create an empty conversation. Repeating the request with its own id changes nothing."""
    fields = await read_body(request, NewChat)
    if fields.temporary:
        check_right(request, "temporary-chats")
    store = services_of(request).store
    made = await store.conversations.create(fields.changes(), fields.first_message, fields.id)
    return changed(request, made, 201)


async def get_conversation(request: Request) -> Response:
    """Return a conversation with the messages on its current path, or a page of them.

    Each message has the ids of its siblings.
    """
    services = services_of(request)
    conversation = await services.store.conversations.get(request.path_params["id"])
    page = PageOfPath.parse(request)
    parts = (
        await page.parts(services, conversation)
        if page is not None
        else await services.store.messages.parts_of_path(conversation.head_id)
    )

    async def messages() -> AsyncIterator[list[Message]]:
        async for part in services.turns.in_parts(parts):
            siblings = await services.store.tree.siblings(conversation.id, [each.parent_id for each in part])
            yield [_beside(message, siblings[message.parent_id]) for message in part]

    body: ConversationWithMessages = {**conversation_body(conversation), "branches": None, "messages": []}
    if page is not None and page.is_end:
        body["branches"] = await services.store.tree.branches(conversation.id)
    return await json_in_parts(body, messages(), version_headers(conversation.version))


async def change_conversation(request: Request) -> Response:
    """Change a conversation's title, system prompt or default parameters, or pin or archive it."""
    fields = await read_body(request, ConversationFields)
    return changed(
        request,
        await services_of(request).store.conversations.change(
            request.path_params["id"], fields.changes(), expected_versions(request)
        ),
    )


async def delete_conversation(request: Request) -> Response:
    """Move a conversation to the recently deleted ones, or remove it at once. Answers being generated are stopped."""
    services, conversation_id = services_of(request), request.path_params["id"]
    await services.deletions.delete_conversation(
        conversation_id, expected_versions(request), permanently=flag(request, "permanently")
    )
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


async def post_message(request: Request) -> Response:
    """Post a message, and stream the events of the run that answers it."""
    services = services_of(request)
    services.model.host.require()
    fields = await read_body(request, NewMessage)
    return _followed(services, await services.turns.ask(request.path_params["id"], fields, expected_versions(request)))


async def retry_message(request: Request) -> Response:
    """Generate another answer to a question, alongside the existing ones, and stream the run's events."""
    services = services_of(request)
    services.model.host.require()
    fields = await read_body(request, RetryFields)
    return _followed(
        services, await services.turns.retry(request.path_params["id"], fields, expected_versions(request))
    )


async def continue_message(request: Request) -> Response:
    """Continue an answer that was cut off, in the same message, and stream the run's events."""
    services = services_of(request)
    run = await services.continuation.go_on(request.path_params["id"], expected_versions(request))
    return _followed(services, run)


def _beside(message: records.Message, sibling_ids: list[str]) -> Message:
    # The message may have been deleted after the path was read and before its siblings were.
    ids = sibling_ids if message.id in sibling_ids else [message.id]
    return {**message_body(message), "sibling_ids": ids, "sibling_index": ids.index(message.id)}


def _followed(services: Services, run: Run) -> Response:
    if services.model.titles is not None:
        services.model.titles.after(run)
    services.model.next_prefixes.after(run)
    return EventStream(partial(run.log.follow, 0), headers={"X-Run-Id": run.id})


routes = [
    Route("/api/conversations", list_conversations),
    Route("/api/conversations", create_conversation, methods=["POST"]),
    Route("/api/conversations/{id}", get_conversation),
    Route("/api/conversations/{id}", change_conversation, methods=["PATCH"]),
    Route("/api/conversations/{id}", delete_conversation, methods=["DELETE"]),
    Route("/api/conversations/{id}/restore", restore_conversation, methods=["POST"]),
    Route("/api/conversations/{id}/seen", see_conversation, methods=["POST"]),
    Route("/api/conversations/{id}/messages", post_message, methods=["POST"]),
    Route("/api/messages/{id}/retry", retry_message, methods=["POST"]),
    Route("/api/messages/{id}/continue", continue_message, methods=["POST"]),
]
