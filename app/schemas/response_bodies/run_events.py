"""Data of the events of a run."""

from collections.abc import Mapping
from typing import Annotated, Any, Final, Literal, NotRequired

from pydantic import Field
from typing_extensions import TypedDict

from app.schemas.response_bodies.by_tier import ByTier
from app.schemas.response_bodies.conversations import Conversation
from app.schemas.response_bodies.messages import Message, StoredError
from cache_tiers.tier import TierId


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


class PromptProgress(TypedDict):
    """How far a prompt is computed.

    state: waiting for a turn, loading from the tiers, or computing.
    total: number of the prompt's tokens, and of the answer's that another process generated.
    done: number of them that are computed or were found. `reused` and `computed` add up to it.
    seconds_left: estimated time until the first token; null while the speed is unknown.
    """

    state: Literal["waiting", "loading", "computing"]
    total: int
    done: int
    reused: Annotated[Mapping[TierId, int], ByTier("FoundTokens", int, "Tokens that were not computed, by tier.")]
    computed: int
    seconds_left: float | None


class RunProgress(RunEvent, PromptProgress):
    """Data of the event `progress`. The event has no id, and its number is that of the event before."""


class RunDone(RunEvent):
    """Data of the event `done`, which ends the stream."""

    message: Message


class RunError(RunEvent):
    """Data of the event `error`, which ends the stream. The message keeps the text generated before the error."""

    error: StoredError
    message: Message


RUN_EVENTS: Final[Mapping[str, type[Any]]] = {
    "run": RunOpening,
    "snapshot": RunSnapshot,
    "progress": RunProgress,
    "delta": RunDelta,
    "done": RunDone,
    "error": RunError,
}
"""Data of the events of a run, by the kind of the event."""
