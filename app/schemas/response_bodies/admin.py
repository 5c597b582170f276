"""Response bodies under /api/admin."""

from typing_extensions import TypedDict

from app.tenants import api_key
from app.tenants.limits import TenantLimits
from app.tenants.principal import Scope


class ApiKey(TypedDict):
    """A key without its secret.

    last_used_at: accurate to about an hour; null if never used.
    revoked_at: null while the key is valid.
    """

    id: str
    name: str
    tenant: str
    scope: Scope
    created_at: float
    last_used_at: float | None
    revoked_at: float | None


class ApiKeys(TypedDict):
    """The valid keys of an account."""

    data: list[ApiKey]


class ApiKeyPage(TypedDict):
    """A page of all keys, with the revoked ones.

    next_cursor: cursor of the next page; null on the last page.
    """

    data: list[ApiKey]
    next_cursor: str | None


class NewApiKey(ApiKey):
    """A key that was just created.

    key: the key itself, which is shown only here.
    """

    key: str


class Limits(TypedDict):
    """Limits of a tenant. Null means no limit."""

    requests_per_minute: int | None
    tokens_per_minute: int | None
    concurrent_runs: int | None
    conversations: int | None
    open_requests: int | None
    items_per_conversation: int | None
    stored_bytes: int | None


class TenantWithLimits(TypedDict):
    """A tenant whose limits were set."""

    tenant: str
    limits: Limits


class Tenant(TypedDict):
    """A tenant with its use.

    person: name of the person that the tenant belongs to; null for a tenant of keys alone.
    keys: number of valid keys.
    requests, tokens: use of the last days.
    live: requests in progress.
    """

    tenant: str
    person: str | None
    keys: int
    conversations: int
    stored_bytes: int
    limits: Limits
    requests: int
    tokens: int
    live: int


class TenantPage(TypedDict):
    """A page of the tenants that have keys, chats, limits or use.

    next_cursor: cursor of the next page; null on the last page.
    """

    data: list[Tenant]
    next_cursor: str | None


class DeletedTenant(TypedDict):
    """Numbers of the keys and the conversations that a deleted tenant had."""

    keys: int
    conversations: int


def key_body(key: api_key.ApiKey) -> ApiKey:
    """Serialize a key for administrators."""
    return {
        "id": key.id,
        "name": key.name,
        "tenant": key.tenant,
        "scope": key.scope,
        "created_at": key.created_at,
        "last_used_at": key.last_used_at,
        "revoked_at": key.revoked_at,
    }


def limits_body(limits: TenantLimits) -> Limits:
    """Serialize the limits of a tenant for administrators."""
    return {
        "requests_per_minute": limits.requests_per_minute,
        "tokens_per_minute": limits.tokens_per_minute,
        "concurrent_runs": limits.concurrent_runs,
        "conversations": limits.conversations,
        "open_requests": limits.open_requests,
        "items_per_conversation": limits.items_per_conversation,
        "stored_bytes": limits.stored_bytes,
    }
