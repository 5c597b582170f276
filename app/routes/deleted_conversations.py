"""/api/deleted-conversations, /api/deleted-messages: what was deleted and can still be restored."""

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from app.domain.bounds import MAX_PAGE
from app.http.large_json import LargeJSONResponse
from app.http.query_params import source_of, whole_number
from app.routes.cursors import TimePlace, parse_time_place, time_cursor
from app.schemas.response_bodies.conversations import (
    DeletedConversationPage,
    DeletedMessage,
    DeletedMessagePage,
    NumDeleted,
    deleted_conversation_body,
)
from app.services import services_of

DEFAULT_PAGE = 100


async def list_deleted(request: Request) -> Response:
    """List a page of the deleted conversations of all sources: the last deleted one first."""
    services = services_of(request)
    page = await services.store.recently_deleted.page(limit=_limit(request), after=_after(request))
    kept = services.deletions.seconds_kept
    body = DeletedConversationPage(
        data=[deleted_conversation_body(each.conversation, each.deleted_at, kept) for each in page.deleted],
        next_cursor=time_cursor(page.following),
    )
    if page.total is not None:
        body["total"] = page.total
    return LargeJSONResponse(body)


async def list_deleted_messages(request: Request) -> Response:
    """List a page of the messages that were deleted in conversations that are still there, the last one first."""
    services = services_of(request)
    page = await services.store.recently_deleted.messages(limit=_limit(request), after=_after(request))
    data: list[DeletedMessage] = [
        {
            "id": each.id,
            "role": each.role,
            "beginning": each.beginning,
            "conversation_id": each.conversation_id,
            "title": each.title,
            "deleted_at": each.deleted_at,
            "removed_at": each.deleted_at + services.deletions.seconds_kept,
        }
        for each in page.deleted
    ]
    return LargeJSONResponse(DeletedMessagePage(data=data, next_cursor=time_cursor(page.following)))


async def delete_all(request: Request) -> Response:
    """Move all conversations of one source to the recently deleted ones. Answers being generated are stopped."""
    services = services_of(request)
    deleted = await services.deletions.delete_all(source_of(request))
    services.records.changes.announce(services.store.tenant)
    return JSONResponse(NumDeleted(deleted=deleted))


async def remove_deleted(request: Request) -> Response:
    """Begin to remove all deleted conversations for good. From the response on, none of them can be restored."""
    return JSONResponse(NumDeleted(deleted=await services_of(request).deletions.remove_deleted()))


def _limit(request: Request) -> int:
    return whole_number(request, "limit", DEFAULT_PAGE, low=1, high=MAX_PAGE)


def _after(request: Request) -> TimePlace | None:
    """Return the place after which the page begins; None for the first page. Raise InvalidRequestError."""
    cursor = request.query_params.get("cursor")
    return parse_time_place(cursor) if cursor is not None else None


routes = [
    Route("/api/conversations", delete_all, methods=["DELETE"]),
    Route("/api/deleted-conversations", list_deleted),
    Route("/api/deleted-conversations", remove_deleted, methods=["DELETE"]),
    Route("/api/deleted-messages", list_deleted_messages),
]
