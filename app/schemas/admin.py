"""Bodies of requests of logins and accounts, and of requests and responses of the routes under /api/admin."""

from typing import Annotated

from pydantic import AfterValidator, Field, SecretStr
from typing_extensions import TypedDict

from app.domain.bounds import MAX_PASSWORD
from app.schemas.parsing import RequestModel
from app.schemas.secret import SecretText
from app.tenants import api_key
from app.tenants.limits import MOST, TenantLimits
from app.tenants.name import parse_name
from app.tenants.principal import Scope

Name = Annotated[str, AfterValidator(parse_name)]
Password = Annotated[SecretStr, SecretText(MAX_PASSWORD)]
Key = Annotated[SecretStr, SecretText(256)]
Code = Annotated[SecretStr, SecretText(64)]
Limit = Annotated[int, Field(ge=0, le=MOST)]


class LoginFields(RequestModel):
    """Body of POST /api/login."""

    examples = ({"key": "ebb_none"},)

    key: Key


class PasswordLoginFields(RequestModel):
    """Body of POST /api/login/password.

    name: of a person of this server or of the directory.
    code: of the second factor, or a recovery code.
    """

    examples = ({"name": "ada", "password": "twelve gulls"},)

    name: Annotated[str, Field(max_length=255)]
    password: Password
    code: Code = SecretStr("")


class PasswordFields(RequestModel):
    """Body of a request that changes the own password."""

    examples = ({"old_password": "twelve gulls", "new_password": "thirteen gulls"},)

    old_password: Password
    new_password: Password


class OwnPassword(RequestModel):
    """Body of a request that the own password protects."""

    examples = ({"password": "twelve gulls"},)

    password: Password


class CodeFields(RequestModel):
    """Body of a request that confirms a second factor."""

    examples = ({"code": "123456"},)

    code: Code


class NewPerson(RequestModel):
    """Body of a request that creates a person with a password."""

    examples = ({"name": "ada"}, {"name": "bob", "admin": True})

    name: Name
    admin: bool = False


class LoginStartFields(RequestModel):
    """Body of POST /api/login/start.

    next: path of the page to return to.
    """

    examples = ({"next": "/c/abc?at=def"}, {})

    next: Annotated[str, Field(max_length=512)] = "/"


class OwnKey(RequestModel):
    """Body of a request in which a person creates a key of the own account."""

    examples = ({"name": "laptop"},)

    name: Name


class PersonFields(RequestModel):
    """Body of a request that changes a person's account. A field that is left out or null changes nothing.

    admin: whether the person administers the server; only for people with a password of this server.
    """

    examples = ({"disabled": True},)

    disabled: bool | None = None
    admin: bool | None = None


class NewKey(RequestModel):
    """Body of a request that creates a key.

    tenant: the tenant that the key belongs to. Defaults to the key's name.
    """

    examples = ({"name": "alice", "tenant": "crew", "scope": "user"}, {"name": "bob"})

    name: Name
    tenant: Name | None = None
    scope: Scope = "user"


class LimitFields(RequestModel):
    """Body of a request that sets a tenant's limits. A limit that is left out or null is removed; 0 allows nothing.

    kv_reserved: bytes of the disk tier that are reserved for promises of KV; none if it is left out or null.
    """

    examples = ({"requests_per_minute": 60, "stored_bytes": 1 << 20}, {})

    requests_per_minute: Limit | None = None
    tokens_per_minute: Limit | None = None
    concurrent_runs: Limit | None = None
    conversations: Limit | None = None
    open_requests: Limit | None = None
    items_per_conversation: Limit | None = None
    stored_bytes: Limit | None = None
    kv_reserved: Limit | None = None

    def limits(self) -> TenantLimits:
        """Convert the fields to tenant limits."""
        return TenantLimits(**self.model_dump())


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
    """Limits of a tenant. Null means no limit.

    kv_reserved: bytes of the disk tier that are reserved for promises of KV; null for none.
    """

    requests_per_minute: int | None
    tokens_per_minute: int | None
    concurrent_runs: int | None
    conversations: int | None
    open_requests: int | None
    items_per_conversation: int | None
    stored_bytes: int | None
    kv_reserved: int | None


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
        "kv_reserved": limits.kv_reserved,
    }
