"""Request bodies of the routes that act on several conversations at once."""

from typing import Annotated, Any

from pydantic import Field

from app.domain.bounds import MAX_BULK, MAX_EXPORTED, MAX_TAGS
from app.schemas.conversations import TagName, distinct
from app.schemas.examples import CONVERSATION
from app.schemas.parsing import RequestModel


class SelectedConversations(RequestModel):
    """Body of a request that exports conversations."""

    examples = ({"conversation_ids": [CONVERSATION, "conv_that-is-not-there"]},)

    conversation_ids: Annotated[list[str], Field(min_length=1, max_length=MAX_EXPORTED)]


class BulkFields(RequestModel):
    """Body of a request that changes several conversations.

    deleted: true deletes them, false restores deleted ones; no other change is made then.
    add_tags, remove_tags: changes to the tags of each conversation.
    """

    examples = ({"conversation_ids": [CONVERSATION], "archived": True, "add_tags": ["sea"]},)

    conversation_ids: Annotated[list[str], Field(min_length=1, max_length=MAX_BULK)]
    deleted: bool | None = None
    pinned: bool | None = None
    archived: bool | None = None
    folder_id: str | None = None
    add_tags: Annotated[list[TagName], Field(max_length=MAX_TAGS)] = Field(default_factory=list)
    remove_tags: Annotated[list[TagName], Field(max_length=MAX_TAGS)] = Field(default_factory=list)

    def changes(self) -> dict[str, Any]:
        """Return the fields that are the same for all conversations. A null folder takes them out of theirs."""
        given = {name: getattr(self, name) for name in ("pinned", "archived") if getattr(self, name) is not None}
        return given | ({"folder_id": self.folder_id} if "folder_id" in self.model_fields_set else {})

    def tags_of(self, tags: tuple[str, ...]) -> tuple[str, ...]:
        """Return the changed tags of a conversation that has `tags`."""
        return distinct([*(tag for tag in tags if tag not in self.remove_tags), *self.add_tags])
