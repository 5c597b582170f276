"""Authenticated caller of a request, as determined by `app.access.authentication`."""

from dataclasses import dataclass
from typing import Literal

from starlette.requests import Request

from app.tenants.name import LOCAL

Scope = Literal["user", "admin"]
"""Permissions of a key: "user" grants its tenant's data, "admin" also the administration of the server."""


@dataclass(frozen=True, slots=True)
class Principal:
    """Authenticated caller.

    key_id: None for people, and on a server that requires no key.
    person_id: the person that has logged in; None for callers with a key.
    session_id: the person's login; None if a proxy names the person with each request.
    """

    tenant: str
    scope: Scope
    key_id: str | None = None
    person_id: str | None = None
    session_id: str | None = None


ANYBODY = Principal(LOCAL, "admin")
"""Principal of every caller of a server that requires no key."""


def principal_of(request: Request) -> Principal:
    """Return the caller of `request`. Not for routes that need no authentication."""
    principal = request.state.principal
    assert isinstance(principal, Principal)
    return principal


def tenant_of(request: Request) -> str:
    """Return the tenant of the caller. Never taken from the contents of the request."""
    return principal_of(request).tenant
