"""Routes that need a right of the caller."""

from collections.abc import Awaitable, Callable
from functools import wraps

from starlette.requests import Request
from starlette.responses import Response

from app.domain.rights import Right
from app.http.error_responses import ForbiddenError
from app.services import server_services
from app.tenants.principal import principal_of

Endpoint = Callable[[Request], Awaitable[Response]]


def needs(right: Right, endpoint: Endpoint) -> Endpoint:
    """Return `endpoint` for callers with a right. Others get 403 `right_required`."""

    @wraps(endpoint)
    async def checked(request: Request) -> Response:
        check_right(request, right)
        return await endpoint(request)

    return checked


def check_right(request: Request, right: Right) -> None:
    """Raise ForbiddenError unless the caller has a right."""
    tenant = principal_of(request).tenant
    if right not in server_services(request).access.ring.people.rights_of(tenant):
        raise ForbiddenError(
            f"Your groups do not have the right {right!r} on this server: ask its administrator", code="right_required"
        )
