"""Who asks, as `app.authentication` found out."""

from dataclasses import dataclass
from typing import Literal

from starlette.requests import Request

from app.tenant_name import LOCAL

Scope = Literal["user", "admin"]
"""What a key may do: what its tenant may, or also look after the server."""


@dataclass(frozen=True, slots=True)
class Principal:
    """key_id: None where nobody has to show a key."""

    tenant: str
    scope: Scope
    key_id: str | None = None


ANYBODY = Principal(LOCAL, "admin")
"""Whoever asks a server that demands no keys."""


def principal_of(request: Request) -> Principal:
    """Who sent `request`, on a route that is not open."""
    principal = request.state.principal
    assert isinstance(principal, Principal)
    return principal
