"""Request body of links to chats."""

from typing import Annotated

from pydantic import Field

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
