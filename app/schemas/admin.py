"""Request bodies of logins, of accounts, and of the routes under /api/admin."""

from typing import Annotated

from pydantic import AfterValidator, Field, SecretStr

from app.domain.bounds import MAX_PASSWORD
from app.schemas.parsing import RequestModel
from app.schemas.secret import SecretText
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
    """Body of a request that sets a tenant's limits. A limit that is left out or null is removed; 0 allows nothing."""

    examples = ({"requests_per_minute": 60, "stored_bytes": 1 << 20}, {})

    requests_per_minute: Limit | None = None
    tokens_per_minute: Limit | None = None
    concurrent_runs: Limit | None = None
    conversations: Limit | None = None
    open_requests: Limit | None = None
    items_per_conversation: Limit | None = None
    stored_bytes: Limit | None = None

    def limits(self) -> TenantLimits:
        """Convert the fields to tenant limits."""
        return TenantLimits(**self.model_dump())
