"""GET /api/events: changes of the tenant's chats, for pages in other browsers."""

from collections.abc import AsyncGenerator, Mapping
from contextlib import ExitStack
from typing import Any, Final

from starlette.requests import Request
from starlette.responses import Response

from app.http.operation import Operation
from app.runs.changes import Follower
from app.schemas.response_bodies.changes import ChangesOpening, ConversationChange, ConversationGone, ManyChanges
from app.schemas.response_bodies.conversations import conversation_body
from app.services import Services, services_of
from app.transport.event_stream import SILENCE_SECONDS, EventStream
from app.transport.sse import encode_json, farewell_frame
from engine.api.errors import NotFoundError

PING_SECONDS: Final = SILENCE_SECONDS / 2
"""The longest interval, since each open page has such a stream."""


async def follow_changes(request: Request) -> Response:
    """Stream changes of the caller's chats: created, changed, answered and deleted ones. Nothing is sent twice."""
    services = services_of(request)
    changes, tenant = services.records.changes, services.store.tenant
    changes.check_room(tenant)
    # Before the headers: a page that has them reads the chats once and misses no later change.
    following = ExitStack()
    follower = following.enter_context(changes.followed(tenant))
    return EventStream(
        lambda _: _frames(services, follower), headers={}, ping_seconds=PING_SECONDS, on_close=following.close
    )


async def _frames(services: Services, follower: Follower) -> AsyncGenerator[bytes, None]:
    answering = await services.records.runs.answering(services.store.tenant)
    yield _frame("opened", ChangesOpening(answering=sorted(answering)))
    while await follower.wait():
        changed = follower.take()
        if changed is None:
            yield _frame("reload", ManyChanges())
        for conversation_id, answered in (changed or {}).items():
            if (frame := await _change(services, conversation_id, answered)) is not None:
                yield frame
    yield farewell_frame()


async def _change(services: Services, conversation_id: str, answered: bool) -> bytes | None:
    """Return the frame of a change; None for a conversation that is no chat of the page."""
    try:
        conversation = await services.store.conversations.get(conversation_id)
    except NotFoundError:
        return _frame("gone", ConversationGone(conversation_id=conversation_id))
    if conversation.source != "chat":
        return None
    answering = conversation_id in await services.records.runs.answering(services.store.tenant)
    change = ConversationChange(conversation=conversation_body(conversation), answering=answering, answered=answered)
    return _frame("conversation", change)


def _frame(kind: str, data: Mapping[str, Any]) -> bytes:
    return f"event: {kind}\ndata: {encode_json(data)}\n\n".encode()


operations = [
    Operation(
        "GET",
        "/api/events",
        follow_changes,
        events={
            "opened": ChangesOpening,
            "conversation": ConversationChange,
            "gone": ConversationGone,
            "reload": ManyChanges,
        },
        counts=False,
    ),
]
