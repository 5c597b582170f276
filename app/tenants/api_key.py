"""Clients' API keys: their format, and the comparison of a presented key with a stored one."""

import hmac
import re
import secrets
from dataclasses import dataclass

from app.domain.digests import digest_of
from app.tenants.principal import Principal, Scope

PREFIX = "sk-ebb-"
ID_BYTES = 6
SECRET_BYTES = 32

_KEY = re.compile(r"sk-ebb-([0-9a-f]{12})-[0-9A-Za-z_-]{43}", re.ASCII)


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiKey:
    """A key without its secret. Times are Unix seconds.

    digest: hash of the whole key.
    last_used_at: accurate to about an hour; None if never used.
    revoked_at: None while the key is valid.
    """

    id: str
    name: str
    tenant: str
    scope: Scope
    digest: bytes
    created_at: float
    last_used_at: float | None = None
    revoked_at: float | None = None

    @property
    def principal(self) -> Principal:
        """Principal that the key authenticates."""
        return Principal(self.tenant, self.scope, self.id)


def new_key() -> tuple[str, str]:
    """Draw a new key and return its id and the key: 256 random bits after the id."""
    key_id = secrets.token_hex(ID_BYTES)
    return key_id, f"{PREFIX}{key_id}-{secrets.token_urlsafe(SECRET_BYTES)}"


def key_id_of(text: str) -> str | None:
    """Return the id in a presented key; None if `text` is not a key."""
    match = _KEY.fullmatch(text)
    return match[1] if match is not None else None


def matches(key: ApiKey, text: str) -> bool:
    """Return whether `text` is this key, in constant time."""
    return hmac.compare_digest(digest_of(text), key.digest)
