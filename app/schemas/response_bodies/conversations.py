"""Response bodies of conversations, and of the list and the tree of them."""

from typing import Annotated, Any, NotRequired

from pydantic import Field
from typing_extensions import TypedDict

from app.domain import records
from app.domain.records import ConversationSource, MessageStatus, Role, TitleSource
from app.schemas.response_bodies.described_as import DescribedAs
from app.schemas.response_bodies.messages import Message
from app.schemas.sampling import ChatParams


class Conversation(TypedDict):
    """A tree of messages.

    head_id: the leaf of the path that is shown.
    version: counter that each of the user's changes raises.
    folder_id: null if the conversation is in no folder.
    temporary: whether it is in no list and is removed a day after its last message.
    unread: whether an answer in it has ended that the person has not seen.
    """

    id: str
    title: str | None
    head_id: str | None
    system_prompt: str | None
    params: Annotated[dict[str, Any], DescribedAs(ChatParams)]
    created_at: float
    updated_at: float
    source: ConversationSource
    metadata: dict[str, str]
    title_source: TitleSource | None
    pinned: bool
    archived: bool
    version: int
    folder_id: str | None
    tags: list[str]
    temporary: bool
    unread: bool


class ConversationPage(TypedDict):
    """A page of conversations.

    next_cursor: cursor of the next page; null on the last page.
    total: number of conversations in the whole list, for a page that has an offset.
    """

    data: list[Conversation]
    next_cursor: str | None
    total: NotRequired[int]


class DeletedConversation(TypedDict):
    """A deleted conversation that can be restored.

    removed_at: time from which it may be removed for good. Time in which the server is stopped does not count.
    """

    id: str
    title: str | None
    source: ConversationSource
    created_at: float
    updated_at: float
    deleted_at: float
    removed_at: float


class DeletedConversationPage(TypedDict):
    """A page of deleted conversations.

    next_cursor: cursor of the next page; null on the last page.
    total: number of conversations in the whole list, for the first page.
    """

    data: list[DeletedConversation]
    next_cursor: str | None
    total: NotRequired[int]


class DeletedMessage(TypedDict):
    """A message that was deleted with all that follow it, and can be restored.

    beginning: start of its text.
    title: that of its conversation.
    removed_at: time from which it may be removed for good. Time in which the server is stopped does not count.
    """

    id: str
    role: Role
    beginning: str
    conversation_id: str
    title: str | None
    deleted_at: float
    removed_at: float


class DeletedMessagePage(TypedDict):
    """A page of deleted messages, the last deleted one first.

    next_cursor: cursor of the next page; null on the last page.
    """

    data: list[DeletedMessage]
    next_cursor: str | None


class BulkResult(TypedDict):
    """The conversations that a request for several of them changed, and those that do not exist."""

    changed: list[str]
    missing: list[str]


class NumDeleted(TypedDict):
    """The number of conversations that a request deleted."""

    deleted: int


class ConversationWithMessages(Conversation):
    """A conversation and its messages.

    branches: whether any of its messages has siblings; null except with the page at the end of the path.
    messages: the messages on the path that is shown, or a page of them.
    """

    branches: NotRequired[Annotated[bool | None, Field(default=None)]]
    messages: list[Message]


class Outline(TypedDict):
    """A message with only the beginning of its text."""

    id: str
    parent_id: str | None
    role: Role
    status: MessageStatus
    preview: str
    created_at: float


class ConversationTree(TypedDict):
    """Every message of every branch, oldest first."""

    head_id: str | None
    version: int
    messages: list[Outline]


def deleted_conversation_body(
    conversation: records.Conversation, deleted_at: float, seconds_kept: float
) -> DeletedConversation:
    """Serialize a deleted conversation that is kept for `seconds_kept`."""
    return {
        "id": conversation.id,
        "title": conversation.title,
        "source": conversation.source,
        "created_at": conversation.created_at,
        "updated_at": conversation.updated_at,
        "deleted_at": deleted_at,
        "removed_at": deleted_at + seconds_kept,
    }


def conversation_body(conversation: records.Conversation) -> Conversation:
    """Serialize a conversation without its messages."""
    return {
        "id": conversation.id,
        "title": conversation.title,
        "head_id": conversation.head_id,
        "system_prompt": conversation.system_prompt,
        "params": conversation.params,
        "created_at": conversation.created_at,
        "updated_at": conversation.updated_at,
        "source": conversation.source,
        "metadata": conversation.metadata,
        "title_source": conversation.title_source,
        "pinned": conversation.pinned,
        "archived": conversation.archived,
        "version": conversation.version,
        "folder_id": conversation.folder_id,
        "tags": list(conversation.tags),
        "temporary": conversation.temporary,
        "unread": conversation.unread,
    }
