"""/api/account/former-chats: chats from before the first key, for the first administrator's key."""

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from app.http.error_responses import ForbiddenError
from app.http.operation import Operation
from app.routes.acts import log_act
from app.schemas.response_bodies.account import FormerChats
from app.services import server_services, services_of
from app.tenants.name import LOCAL
from app.tenants.principal import principal_of


async def count_former_chats(request: Request) -> Response:
    """Count the chats from before the first key that the caller may take over; 0 for all but the first admin key.

    The number is 0 after a refusal. Others receive whether there are such chats.
    """
    store = services_of(request).store
    if await _may_take(request):
        offered = await store.preferences.get("former_chats") is None
        return JSONResponse(FormerChats(chats=await store.former_chats.count() if offered else 0, unclaimed=False))
    is_local = principal_of(request).tenant == LOCAL
    return JSONResponse(FormerChats(chats=0, unclaimed=not is_local and await store.former_chats.count() > 0))


async def take_former_chats(request: Request) -> Response:
    """Make the chats from before the first key the caller's, and count them."""
    if not await _may_take(request):
        raise ForbiddenError("Only the oldest admin key may take over the chats created before keys existed")
    services = services_of(request)
    moved = await services.store.former_chats.give_to(services.store.tenant)
    services.records.changes.announce(services.store.tenant)
    log_act(request, "%d chats from before the first key were given to the tenant %s", moved, services.store.tenant)
    return JSONResponse(FormerChats(chats=moved, unclaimed=False))


async def refuse_former_chats(request: Request) -> Response:
    """Refuse the chats from before the first key: they stay as they are, and are offered in no browser again."""
    if not await _may_take(request):
        raise ForbiddenError("Only the oldest admin key may decline the chats created before keys existed")
    await services_of(request).store.preferences.put("former_chats", "refused")
    return Response(status_code=204)


async def _may_take(request: Request) -> bool:
    principal = principal_of(request)
    if principal.key_id is None or principal.tenant == LOCAL:
        return False
    return await server_services(request).store.keys.first_admin() == principal.key_id


operations = [
    Operation("GET", "/api/account/former-chats", count_former_chats, answer=FormerChats),
    Operation("POST", "/api/account/former-chats", take_former_chats, answer=FormerChats),
    Operation("DELETE", "/api/account/former-chats", refuse_former_chats, status=204),
]
