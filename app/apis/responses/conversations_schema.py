"""Bodies of the routes under /v1/conversations."""

from functools import partial
from typing import Annotated

from pydantic import BeforeValidator, Field

from app.apis.responses.input_items import Item, supported_input
from app.domain.bounds import MAX_NEW_ITEMS
from app.schemas.metadata import Metadata
from app.schemas.parsing import RequestModel

NewItems = Annotated[
    list[Item], Field(max_length=MAX_NEW_ITEMS), BeforeValidator(partial(supported_input, path="items"))
]


class NewConversation(RequestModel):
    """POST of a conversation."""

    items: NewItems | None = None
    metadata: Metadata | None = None


class ConversationUpdate(RequestModel):
    """POST to a conversation: its metadata as a whole; null clears it."""

    metadata: Metadata | None


class ItemsToAdd(RequestModel):
    """POST of items."""

    items: Annotated[NewItems, Field(min_length=1)]
