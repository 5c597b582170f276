"""Response bodies of the login."""

from typing_extensions import TypedDict

from app.domain.rights import Right
from app.tenants.principal import Scope


class Principal(TypedDict):
    """The tenant and the scope of a login.

    key_id: null for people, and if the server requires no keys.
    name: name of the person that has logged in; null for a login with a key.
    initial_password: whether the person has a password that an administrator set.
    rights: features that the caller may use.
    """

    tenant: str
    scope: Scope
    key_id: str | None
    name: str | None
    initial_password: bool
    rights: list[Right]


class TokenPrices(TypedDict):
    """Prices of a million tokens.

    currency: ISO 4217 code. input: computed prompt tokens. cached: reused prompt tokens. output: generated tokens.
    """

    currency: str
    input: float
    cached: float
    output: float


class Login(TypedDict):
    """The state of the client's login.

    demands_keys: whether the server requires keys.
    principal: null if the client is not logged in.
    provider: name of the provider at which people can log in; null without one.
    passwords: whether people can log in with a password of this server.
    directory: whether people of a directory can log in with their password there.
    share_links: whether the server allows links to chats.
    token_prices: null on a server that charges nothing.
    """

    demands_keys: bool
    principal: Principal | None
    provider: str | None
    passwords: bool
    directory: bool
    share_links: bool
    token_prices: TokenPrices | None


class LoginStart(TypedDict):
    """The beginning of a login at the provider.

    url: address of the provider that the page opens.
    """

    url: str
