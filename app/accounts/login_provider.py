"""The interface of a provider at which people log in: the browser goes there, and comes back with an answer."""

from collections.abc import Mapping
from typing import Final, Protocol

from app.accounts.attempts import Attempt
from app.tenants.person import Identity

CALLBACK_PATH: Final = "/login/callback"
"""Path to which the browser comes back, and the only one that receives the cookie of the attempt."""

SAML_PATH: Final = "/login/saml"
"""Path to which the page of a SAML provider has the browser post its answer. Also the name of this server."""
SAML_METADATA_PATH: Final = "/login/saml/metadata"

STATE: Final = "state"
"""Parameter of the callback: the state of the attempt that an answer belongs to."""
ANSWER: Final = "answer"
"""Parameter of the callback: the secret of a SAML answer that was posted."""


class LoginProvider(Protocol):
    """A provider of logins, OpenID Connect or SAML."""

    @property
    def label(self) -> str:
        """Name of the provider for the page: its host."""

    async def authorization_url(self, attempt: Attempt) -> str:
        """Return the address at which a person logs in. Raise ProviderUnavailableError."""

    async def identity_of(self, query: Mapping[str, str], attempt: Attempt) -> Identity:
        """Return the person of an answer to an attempt. Raise LoginRefusedError, OutageError."""

    async def end_session_url(self) -> str | None:
        """Return the address that ends the session at the provider; None if it has none, or does not answer."""
