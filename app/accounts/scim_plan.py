"""Provisioning (SCIM) as the settings describe it: the token, and the logins of the people that are provisioned."""

import hmac
from dataclasses import dataclass, field
from typing import Final, Literal

from app.domain.digests import digest_of

SubjectAttribute = Literal["externalId", "userName"]
MIN_TOKEN: Final = 32
"""Characters of a token, so that it cannot be guessed."""


@dataclass(frozen=True, slots=True)
class ScimPlan:
    """Provisioning by one provider.

    token_digest: SHA-256 of the token.
    issuer: issuer of the logins of the people, as in their identities.
    subject: attribute of a user that is the subject of these logins.
    home: URL that people open; "" if requests name it.
    """

    token_digest: bytes = field(repr=False)
    issuer: str
    subject: SubjectAttribute = "externalId"
    home: str = ""

    def admits(self, authorization: str) -> bool:
        """Return whether a header has the token."""
        kind, _, token = authorization.partition(" ")
        return kind.lower() == "bearer" and hmac.compare_digest(digest_of(token.strip()), self.token_digest)
