"""A link to a chat, which anyone who has the link can read."""

import secrets
from dataclasses import dataclass
from typing import Final

SECRET_BYTES: Final = 32


@dataclass(frozen=True, slots=True, kw_only=True)
class ShareLink:
    """A link without its secret. Times are Unix seconds.

    message_id: the last message that is shown; later ones are not.
    title: title of the conversation now.
    """

    id: str
    tenant: str
    conversation_id: str
    message_id: str
    title: str | None
    shows_receipts: bool
    created_at: float
    expires_at: float


def new_secret() -> str:
    """Draw the secret of a link: 256 random bits."""
    return secrets.token_urlsafe(SECRET_BYTES)
