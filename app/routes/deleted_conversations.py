"""/api/deleted-conversations, /api/deleted-messages: what was deleted and can still be restored."""

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from app.http.large_json import LargeJSONResponse
from app.http.operation import Operation
from app.http.query_params import Query, Source
from app.routes.cursors import time_cursor
from app.routes.pages_of_lists import PageByTime
from app.schemas.response_bodies.conversations import (
    DeletedConversationPage,
    DeletedMessage,
    DeletedMessagePage,
    NumDeleted,
    deleted_conversation_body,
)
from app.services import services_of


class OfSource(Query):
    """The kind of conversations to delete."""

    source: Source = "chat"


async def list_deleted(request: Request, asked: PageByTime) -> Response:
    """List a page of the deleted conversations of all sources: the last deleted one first."""
    services = services_of(request)
    page = await services.store.recently_deleted.page(limit=asked.limit, after=asked.cursor)
    kept = services.deletions.seconds_kept
    body = DeletedConversationPage(
        data=[deleted_conversation_body(each.conversation, each.deleted_at, kept) for each in page.deleted],
        next_cursor=time_cursor(page.following),
    )
    if page.total is not None:
        body["total"] = page.total
    return LargeJSONResponse(body)


async def list_deleted_messages(request: Request, asked: PageByTime) -> Response:
    """List a page of the messages that were deleted in conversations that are still there, the last one first."""
    services = services_of(request)
    page = await services.store.recently_deleted.messages(limit=asked.limit, after=asked.cursor)
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


async def delete_all(request: Request, asked: OfSource) -> Response:
    """Move all conversations of one source to the recently deleted ones. Answers being generated are stopped."""
    services = services_of(request)
    deleted = await services.deletions.delete_all(asked.source)
    services.records.changes.announce(services.store.tenant)
    return JSONResponse(NumDeleted(deleted=deleted))


async def remove_deleted(request: Request) -> Response:
    """Begin to remove all deleted conversations for good. From the response on, none of them can be restored."""
    return JSONResponse(NumDeleted(deleted=await services_of(request).deletions.remove_deleted()))


operations = [
    Operation("DELETE", "/api/conversations", delete_all, answer=NumDeleted),
    Operation("GET", "/api/deleted-conversations", list_deleted, answer=DeletedConversationPage),
    Operation("DELETE", "/api/deleted-conversations", remove_deleted, answer=NumDeleted),
    Operation("GET", "/api/deleted-messages", list_deleted_messages, answer=DeletedMessagePage),
]
