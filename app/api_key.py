"""Keys of clients: how they look, and how a shown one is held against a stored one."""

import hashlib
import hmac
import re
import secrets
from dataclasses import dataclass

from app.principal import Principal, Scope

PREFIX = "sk-ebb-"
ID_BYTES = 6
SECRET_BYTES = 32

_KEY = re.compile(r"sk-ebb-([0-9a-f]{12})-[0-9A-Za-z_-]{43}", re.ASCII)


@dataclass(frozen=True, slots=True)
class ApiKey:
    """A key without its secret. digest: of the whole key. Times are Unix seconds.

    last_used_at: to the hour or so. revoked_at: None while it opens anything.
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
        """Who shows it."""
        return Principal(self.tenant, self.scope, self.id)

    def to_json(self) -> dict[str, object]:
        """What administrators see."""
        return {name: getattr(self, name) for name in self.__slots__ if name != "digest"}


def new_key() -> tuple[str, str]:
    """(its id, the key): 256 random bits behind what names it."""
    key_id = secrets.token_hex(ID_BYTES)
    return key_id, f"{PREFIX}{key_id}-{secrets.token_urlsafe(SECRET_BYTES)}"


def key_id_of(text: str) -> str | None:
    """The id in what a client shows; None if that is no key."""
    match = _KEY.fullmatch(text)
    return match[1] if match is not None else None


def digest_of(secret: str) -> bytes:
    """What is stored of a key or a login. A plain hash: nobody tries 2^256 secrets, however fast each try is."""
    return hashlib.sha256(secret.encode()).digest()


def matches(key: ApiKey, text: str) -> bool:
    """Whether `text` is this very key; takes as long whatever is wrong with it."""
    return hmac.compare_digest(digest_of(text), key.digest)
