"""Response bodies of links to chats."""

from typing_extensions import TypedDict

from app.domain import share


class Share(TypedDict):
    """A link to a chat."""

    id: str
    conversation_id: str
    title: str | None
    receipts: bool
    created_at: float
    expires_at: float


class NewShare(Share):
    """A link that was just made.

    path: address of the page on this server. The server cannot show it again.
    """

    path: str


class Shares(TypedDict):
    """The links of a tenant that have not expired, the newest first."""

    data: list[Share]


def share_body(given: share.ShareLink) -> Share:
    """Serialize a link."""
    return {
        "id": given.id,
        "conversation_id": given.conversation_id,
        "title": given.title,
        "receipts": given.shows_receipts,
        "created_at": given.created_at,
        "expires_at": given.expires_at,
    }
