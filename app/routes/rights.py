"""Rights of the caller."""

from starlette.requests import Request

from app.domain.rights import Right
from app.http.error_responses import ForbiddenError
from app.services import server_services
from app.tenants.principal import principal_of


def check_right(request: Request, right: Right) -> None:
    """Raise ForbiddenError unless the caller has a right."""
    tenant = principal_of(request).tenant
    if right not in server_services(request).access.ring.people.rights_of(tenant):
        raise ForbiddenError(
            f"Your groups do not have the right {right!r} on this server: ask its administrator", code="right_required"
        )
