"""Data of the events of a run."""

from typing import Annotated, NotRequired

from pydantic import Field
from typing_extensions import TypedDict

from app.schemas.response_bodies.conversations import Conversation
from app.schemas.response_bodies.messages import Message, StoredError


class RunEvent(TypedDict):
    """Fields in the data of every run event."""

    sequence_number: int
    run_id: str


class OpeningRecords(TypedDict):
    """Records that a turn created. A run that continues an existing message has only `message`."""

    conversation: NotRequired[Annotated[Conversation | None, Field(default=None)]]
    user_message: NotRequired[Annotated[Message | None, Field(default=None)]]
    message: Message


class RunOpening(RunEvent, OpeningRecords):
    """Data of the event `run`: the records that the turn created, and the answer's message.

    A run that continues an existing message creates no records.
    """


class RunSnapshot(RunEvent):
    """Data of the event `snapshot`: the whole message so far."""

    message: Message


class RunDelta(RunEvent):
    """Data of the event `delta`: text and reasoning generated since the previous event."""

    text: str
    reasoning: NotRequired[Annotated[str | None, Field(default=None)]]


class RunDone(RunEvent):
    """Data of the event `done`, which ends the stream."""

    message: Message


class RunError(RunEvent):
    """Data of the event `error`, which ends the stream. The message keeps the text generated before the error."""

    error: StoredError
    message: Message
