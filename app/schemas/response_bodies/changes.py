"""Data of the events of /api/events."""

from typing_extensions import TypedDict

from app.schemas.response_bodies.conversations import Conversation


class ChangesOpening(TypedDict):
    """Data of the event `opened`, the first one. Earlier changes are to be read.

    answering: ids of the chats in which an answer is being generated.
    """

    answering: list[str]


class ConversationChange(TypedDict):
    """Data of the event `conversation`: a chat was created, or it or its messages changed.

    answering: whether an answer is being generated in it.
    answered: whether an answer in it has ended since the last event.
    """

    conversation: Conversation
    answering: bool
    answered: bool


class ConversationGone(TypedDict):
    """Data of the event `gone`: a chat was deleted."""

    conversation_id: str


class ManyChanges(TypedDict):
    """Data of the event `reload`: so much changed that everything is to be read again."""
