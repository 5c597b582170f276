"""Response bodies of the login."""

from typing_extensions import TypedDict

from app.tenants.principal import Scope


class Principal(TypedDict):
    """The tenant and the scope of a login.

    key_id: null if the server requires no keys.
    """

    tenant: str
    scope: Scope
    key_id: str | None


class Login(TypedDict):
    """The state of the client's login.

    demands_keys: whether the server requires keys.
    principal: null if the client is not logged in.
    """

    demands_keys: bool
    principal: Principal | None
