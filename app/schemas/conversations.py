"""Request bodies of the routes under /api."""

from collections.abc import Iterable
from typing import Annotated, Any

from pydantic import AfterValidator, Field

from app.domain.bounds import (
    MAX_MERGED,
    MAX_PLACES,
    MAX_RATING_NOTE,
    MAX_SUMMARY_LENGTH,
    MAX_TAG_LENGTH,
    MAX_TAGS,
    MAX_TITLE_LENGTH,
    MAX_TITLE_SOURCE,
)
from app.domain.records import Rating
from app.domain.tags import tag_name
from app.schemas.examples import CONVERSATION, MESSAGE
from app.schemas.parsing import RequestModel
from app.schemas.sampling import AnswerParams, ChatParams, ModelName, UrgencyFields

Title = Annotated[str, Field(max_length=MAX_TITLE_LENGTH)]


def _tag_name(text: str) -> str:
    name = tag_name(text)
    if not name:
        raise ValueError("A tag needs a character that is not a space")
    return name


TagName = Annotated[str, Field(max_length=MAX_TAG_LENGTH), AfterValidator(_tag_name)]
Tags = Annotated[list[TagName], Field(max_length=MAX_TAGS)]

ConversationId = Annotated[str, Field(pattern=r"^conv_[0-9a-f]{32}$")]
MessageId = Annotated[str, Field(pattern=r"^msg_[0-9A-Za-z_-]{16,64}$")]


class ConversationFields(RequestModel):
    """Body of a request that creates or changes a conversation.

    A field that is left out keeps its value. Null clears the field.

    temporary: whether the conversation is in no list and no search, and is removed a day after its last message. Only a
        new conversation can be temporary. False keeps it.
    """

    examples = ({"title": "Tides", "params": {"temperature": 0.3}, "pinned": True}, {})

    title: Title | None = None
    system_prompt: str | None = None
    params: ChatParams | None = None
    pinned: bool | None = None
    archived: bool | None = None
    folder_id: str | None = None
    tags: Tags | None = None
    temporary: bool | None = None

    def changes(self) -> dict[str, Any]:
        """Return only the fields that the client sent, in the form that the store takes."""
        sent: dict[str, Any] = {name: getattr(self, name) for name in self.model_fields_set}
        if "params" in sent:
            sent["params"] = given_params(self.params)
        for name in sent.keys() & {"pinned", "archived", "temporary"}:
            sent[name] = bool(sent[name])
        if "tags" in sent:
            sent["tags"] = distinct(self.tags or ())
        return sent


class NewChat(ConversationFields):
    """Body of a request that creates a conversation.

    id: chosen by the client, so that repeating the request does not create a second conversation.
    first_message: the beginning of the message that will follow. Without a title, the conversation is titled with it.
    """

    examples = ({"system_prompt": "Be brief.", "first_message": "When is high tide?"}, {"temporary": True})

    id: ConversationId | None = None
    first_message: Annotated[str, Field(max_length=MAX_TITLE_SOURCE)] | None = None

    def changes(self) -> dict[str, Any]:
        """Return the fields as `ConversationFields` does, without the id and the message."""
        return {name: value for name, value in super().changes().items() if name not in ("id", "first_message")}


class NewMessage(UrgencyFields):
    """Body of a request that posts a message.

    id: chosen by the client, so that repeating the request does not post the message twice.
    parent_id: the message to reply to. Defaults to the conversation's head; null starts a new root.
    left_out: messages at the beginning of the conversation that the model is not to see, from this message on. Message
        number `left_out`, counted from 0, must be a question, if there is one. Defaults to that of the question before.
    summary: a text that stands for them in the prompts.
    model: the model that answers. Defaults to that of the last answer before the message.
    """

    examples = ({"content": "When is high tide?"}, {"content": "And at night?", "parent_id": MESSAGE})

    id: MessageId | None = None
    content: Annotated[str, Field(min_length=1)]
    parent_id: str | None = None
    params: ChatParams | None = None
    model: ModelName | None = None
    left_out: Annotated[int, Field(ge=0)] | None = None
    summary: Annotated[str, Field(min_length=1, max_length=MAX_SUMMARY_LENGTH)] | None = None

    @property
    def follows_head(self) -> bool:
        """Whether the client left out the parent, so that the message follows the head."""
        return "parent_id" not in self.model_fields_set


class RetryFields(UrgencyFields):
    """Body of a retry.

    id: id of the new answer, chosen by the client, so that repeating the request does not answer twice.
    merge: answers to the question that the new answer merges.
    model: the model that answers. Defaults to that of the answer, or of the last answer before the question.
    """

    examples = ({}, {"params": {"max_tokens": 2}}, {"merge": ["msg_none", "msg_other"]})

    id: MessageId | None = None
    params: AnswerParams | None = None
    model: ModelName | None = None
    merge: Annotated[list[str], Field(min_length=2, max_length=MAX_MERGED)] | None = None


class EditedAnswer(RequestModel):
    """Body of a request that edits an answer.

    id: id of the edited answer, chosen by the client, so that repeating the request does not store it twice.
    """

    examples = ({"content": "Better."},)

    id: MessageId | None = None
    content: Annotated[str, Field(min_length=1)]


class RatingFields(RequestModel):
    """Body of a request that rates an answer.

    rating: null removes the rating and its note.
    note: reason for the rating.
    """

    examples = ({"rating": "bad", "note": "Too long."},)

    rating: Rating | None
    note: Annotated[str, Field(min_length=1, max_length=MAX_RATING_NOTE)] | None = None


class MessageChoice(RequestModel):
    """Body of a request that sets the head or forks a conversation: the message to show, or to fork at."""

    examples = ({"message_id": MESSAGE},)

    message_id: str


class PlacesWanted(RequestModel):
    """Body of POST /api/places: the conversations to look up."""

    examples = ({"conversation_ids": [CONVERSATION, "conv_that-is-not-there"]}, {"conversation_ids": []})

    conversation_ids: Annotated[list[str], Field(max_length=MAX_PLACES)]


class UnsentMessage(RequestModel):
    """Body of POST /api/prompt-size: a message that is not sent yet.

    conversation_id: the conversation that the message would be posted to; None for a new one.
    system_prompt: that of a new conversation.
    model: the model that would answer. Defaults to that of the last answer.
    """

    examples = ({"conversation_id": None, "content": "x", "system_prompt": None},)

    conversation_id: str | None = None
    content: str
    system_prompt: str | None = None
    model: ModelName | None = None


class SummaryWanted(RequestModel):
    """Body of POST /api/conversations/{id}/summary.

    left_out: number of messages, from the beginning of the conversation, to summarize.
    stream: whether to send the summary as it is written.
    """

    examples = ({"left_out": 2},)

    left_out: Annotated[int, Field(ge=1)]
    stream: bool = False


class DraftFields(RequestModel):
    """Body of a request that replaces a draft. Every text that can be sent can be kept unsent."""

    examples = ({"text": "When is"},)

    text: str


def distinct(tags: Iterable[str]) -> tuple[str, ...]:
    """Return the tags in their order, each once."""
    return tuple(dict.fromkeys(tags))


def given_params(params: ChatParams | None) -> dict[str, Any]:
    """Return the fields that are set, as JSON."""
    return params.model_dump(exclude_none=True) if params is not None else {}
