"""/v1/conversations: the page's conversations in OpenAI's format. Their items are the messages on the current path."""

from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from app.apis.responses.conversations_schema import ConversationUpdate, ItemsToAdd, NewConversation
from app.apis.responses.include import IncludeQuery
from app.apis.responses.input_items import Item, said_in
from app.apis.responses.listing import Listing, list_json
from app.apis.responses.serializer import conversation_json, items_json
from app.domain.response_record import message_id_of_item
from app.http.operation import Operation
from app.services import Services, services_of
from app.storage.items import NewItem
from engine.api.errors import NotFoundError


async def create_conversation(request: Request, fields: NewConversation) -> Response:
    """Create a conversation, optionally with earlier items."""
    services = services_of(request)
    new = _new_items(fields.items or [])
    conversation = await services.store.conversations.create({"source": "api", "metadata": fields.metadata or {}})
    if new:
        await _add(services, conversation.id, new)
    return JSONResponse(conversation_json(conversation))


async def get_conversation(request: Request) -> Response:
    """Return a conversation without its items."""
    conversation = await services_of(request).store.conversations.get(request.path_params["id"])
    return JSONResponse(conversation_json(conversation))


async def update_conversation(request: Request, fields: ConversationUpdate) -> Response:
    """Replace a conversation's metadata."""
    changes = {"metadata": fields.metadata or {}}
    conversation = await services_of(request).store.conversations.change(request.path_params["id"], changes)
    return JSONResponse(conversation_json(conversation))


async def delete_conversation(request: Request) -> Response:
    """Remove a conversation and its items. Answers being generated in it are stopped."""
    conversation_id = request.path_params["id"]
    await services_of(request).deletions.delete_conversation(conversation_id, permanently=True)
    return JSONResponse({"id": conversation_id, "object": "conversation.deleted", "deleted": True})


async def create_items(request: Request, fields: ItemsToAdd) -> Response:
    """Add items to a conversation without generating an answer."""
    added = await _add(services_of(request), request.path_params["id"], _new_items(fields.items))
    return JSONResponse(list_json(added))


async def list_items(request: Request, listing: Listing) -> Response:
    """List a page of a conversation's items."""
    services = services_of(request)
    conversation = await services.store.conversations.get(request.path_params["id"])
    part = await services.store.messages.path_part(
        conversation.id,
        conversation.head_id,
        since=listing.since,
        newest_first=listing.newest_first,
        most=listing.num_messages,
    )
    shown = await services.turns.as_they_are(part)
    return JSONResponse(listing.page([item for message in shown for item in items_json(message)]))


async def get_item(request: Request) -> Response:
    """Return one item of a conversation."""
    services = services_of(request)
    conversation = await services.store.conversations.get(request.path_params["id"])
    item_id = request.path_params["item_id"]
    found = await services.store.messages.on_path(conversation.head_id, message_id_of_item(item_id))
    for message in await services.turns.as_they_are([found] if found is not None else []):
        for item in items_json(message):
            if item["id"] == item_id:
                return JSONResponse(item)
    raise NotFoundError(f"There is no item {item_id} in this conversation", code="item_not_found")


async def delete_item(request: Request) -> Response:
    """Remove an item from a conversation and return the conversation."""
    services = services_of(request)
    conversation_id = request.path_params["id"]
    # An answer and its tool calls are one message, and are removed together.
    message_id = message_id_of_item(request.path_params["item_id"])
    await services.store.items.remove(conversation_id, message_id, services.model.erasure.leaving)
    services.records.runs.forget_prefixes(services.store.tenant)
    return JSONResponse(conversation_json(await services.store.conversations.get(conversation_id)))


def _new_items(items: list[Item]) -> list[NewItem]:
    """Convert the request's items to stored ones."""
    messages = said_in(items, "items").values()
    return [NewItem(item.stored_role, item.text, item.tool_use) for item in messages]


async def _add(services: Services, conversation_id: str, items: list[NewItem]) -> list[dict[str, Any]]:
    await services.records.runs.settle()
    added = await services.store.items.add(conversation_id, items)
    return [item for message in added for item in items_json(message)]


operations = [
    Operation("POST", "/v1/conversations", create_conversation),
    Operation("GET", "/v1/conversations/{id}", get_conversation),
    Operation("POST", "/v1/conversations/{id}", update_conversation),
    Operation("DELETE", "/v1/conversations/{id}", delete_conversation),
    Operation("GET", "/v1/conversations/{id}/items", list_items),
    Operation("POST", "/v1/conversations/{id}/items", create_items, query=IncludeQuery),
    Operation("GET", "/v1/conversations/{id}/items/{item_id}", get_item, query=IncludeQuery),
    Operation("DELETE", "/v1/conversations/{id}/items/{item_id}", delete_item),
]
