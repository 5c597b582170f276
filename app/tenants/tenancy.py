"""Tenant that owns the conversations, runs and KV of a request."""

from starlette.requests import Request

from app.tenants.principal import principal_of


def tenant_of(request: Request) -> str:
    """Return the tenant of the caller. Never taken from the contents of the request."""
    return principal_of(request).tenant
