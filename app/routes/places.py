"""Routes for the KV of conversations: the tier that holds it, its prefetch, and the promise to a pinned one."""

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from app.http.operation import Operation
from app.schemas.conversations import PlacesWanted
from app.schemas.response_bodies.places import ChatPlace, Places, PromisedChat, Warming
from app.services import services_of


async def get_places(request: Request, fields: PlacesWanted) -> Response:
    """Return the lowest tier that each conversation's next turn has to load from. Unknown ids are left out."""
    places = await services_of(request).chat_prefixes.places(fields.conversation_ids)
    return JSONResponse(Places(data=[ChatPlace(conversation_id=name, place=place) for name, place in places.items()]))


async def warm_conversation(request: Request) -> Response:
    """Prefetch a conversation's KV into CPU memory. Call when a user opens the conversation or types in it."""
    warming = await services_of(request).chat_prefixes.warm(request.path_params["id"])
    return JSONResponse(Warming(warming=warming), 202)


async def leave_conversation(request: Request) -> Response:
    """Cancel the prefetch of a conversation. Call when the user leaves it."""
    await services_of(request).chat_prefixes.leave(request.path_params["id"])
    return Response(status_code=204)


async def get_promised_kv(request: Request) -> Response:
    """Return whether the disk keeps the KV of a pinned conversation, and how much of it, or why not."""
    services = services_of(request)
    kept = await services.model.pinned_kv.state(services.store.tenant, request.path_params["id"])
    return JSONResponse(PromisedChat(tokens=kept.tokens, declined=kept.declined, bytes=kept.nbytes, reason=kept.reason))


operations = [
    Operation("POST", "/api/places", get_places, answer=Places),
    Operation("GET", "/api/conversations/{id}/promise", get_promised_kv, answer=PromisedChat),
    Operation("POST", "/api/conversations/{id}/warm", warm_conversation, answer=Warming, status=202),
    Operation("DELETE", "/api/conversations/{id}/warm", leave_conversation, status=204),
]
