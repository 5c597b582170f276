"""Message in a response body."""

from collections.abc import Mapping
from typing import Annotated, Any, NotRequired, TypeAlias

from pydantic import Field
from typing_extensions import TypedDict

from app.domain import records
from app.domain.records import MessageStatus, Rating, Role
from app.domain.sampling_json import params_of_ended
from app.schemas.response_bodies.described_as import DescribedAs
from app.schemas.response_bodies.errors import ErrorBody
from app.schemas.response_bodies.usage import Usage
from app.schemas.sampling import AnswerParams

StoredError: TypeAlias = Annotated[Mapping[str, Any], DescribedAs(ErrorBody)]


class Message(TypedDict):
    """A node of the tree of messages.

    reasoning: the reasoning that the model wrote before its answer.
    left_out: messages at the beginning of the conversation that the model did not see. Null in a question means as in
        the question before, and null in an answer means none.
    summary: the text that the model saw in their place.
    rating: a person's opinion of the answer, with the reason in rating_note.
    merged: the number of other answers that this answer merges.
    model: the model that wrote the answer; null in other messages, and where it is not known.
    sibling_ids: the alternatives at this place in the tree, oldest first, including this message.
    """

    id: str
    conversation_id: str
    parent_id: str | None
    role: Role
    content: str
    status: MessageStatus
    created_at: float
    completed_at: float | None
    finish_reason: str | None
    error: StoredError | None
    usage: Annotated[Mapping[str, Any], DescribedAs(Usage)] | None
    run_id: str | None
    params: Annotated[dict[str, Any], DescribedAs(AnswerParams)] | None
    reasoning: str | None
    left_out: int | None
    summary: str | None
    rating: Rating | None
    rating_note: str | None
    merged: int | None
    model: str | None
    sibling_ids: NotRequired[Annotated[list[str] | None, Field(default=None)]]
    sibling_index: NotRequired[Annotated[int | None, Field(default=None)]]


def message_body(message: records.Message) -> Message:
    """Serialize a message without its siblings."""
    return {
        "id": message.id,
        "conversation_id": message.conversation_id,
        "parent_id": message.parent_id,
        "role": message.role,
        "content": message.content,
        "status": message.status,
        "created_at": message.created_at,
        "completed_at": message.completed_at,
        "finish_reason": message.finish_reason,
        "error": message.error,
        "usage": message.usage,
        "run_id": message.run_id,
        "params": params_of_ended(message.params),
        "reasoning": message.reasoning,
        "left_out": message.left_out,
        "summary": message.summary,
        "rating": message.rating,
        "rating_note": message.rating_note,
        "merged": message.merged,
        "model": message.model,
    }
