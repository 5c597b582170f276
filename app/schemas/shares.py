"""Bodies of requests and responses of links to chats."""

from typing import Annotated

from pydantic import Field
from typing_extensions import TypedDict

from app.domain import share
from app.schemas.parsing import RequestModel

MAX_SHARE_DAYS = 365


class ShareFields(RequestModel):
    """Body of a request that makes a link to a chat.

    days: time after which the link expires.
    receipts: whether the page shows where the prompt of each answer came from.
    """

    examples = ({"days": 7, "receipts": True}, {})

    days: Annotated[int, Field(ge=1, le=MAX_SHARE_DAYS)] = 30
    receipts: bool = False


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
