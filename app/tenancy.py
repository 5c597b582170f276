"""Whose conversations, runs and KV a request is about."""

from starlette.requests import Request

from app.principal import principal_of


def tenant_of(request: Request) -> str:
    """The tenant of who sent `request`: never a name from the request itself."""
    return principal_of(request).tenant
