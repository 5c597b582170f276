"""Bodies of the routes under /v1/conversations."""

from typing import Annotated

from pydantic import Field

from app.apis.responses.input_items import Item
from app.domain.bounds import MAX_NEW_ITEMS
from app.schemas.examples import ITEM
from app.schemas.metadata import Metadata
from app.schemas.parsing import CompatibleRequest

NewItems = Annotated[list[Item], Field(max_length=MAX_NEW_ITEMS)]


class NewConversation(CompatibleRequest):
    """POST of a conversation."""

    examples = ({"items": [ITEM], "metadata": {"a": "b"}}, {})

    items: NewItems | None = None
    metadata: Metadata | None = None


class ConversationUpdate(CompatibleRequest):
    """POST to a conversation: its metadata as a whole; null clears it."""

    examples = ({"metadata": {"a": "b"}},)

    metadata: Metadata | None


class ItemsToAdd(CompatibleRequest):
    """POST of items."""

    examples = ({"items": [ITEM, ITEM]},)

    items: Annotated[NewItems, Field(min_length=1)]
