"""Response bodies about prompts that are not sent yet."""

from typing_extensions import TypedDict

from app.schemas.response_bodies.errors import ErrorBody


class PromptSize(TypedDict):
    """The size of a prompt that is not sent yet.

    tokens: null if the prompt is so far beyond the window that it was not counted.
    window: size of the context window. Prompt and answer share it, so a prompt must be smaller.
    left_out: if the prompt does not fit, the messages at the beginning of the conversation to leave out so that it fits
        with room to spare; null if it fits, and if the message alone is too long.
    """

    tokens: int | None
    window: int
    left_out: int | None


class Summary(TypedDict):
    """A summary of the messages at the beginning of a conversation, for the question that leaves them out."""

    summary: str


class SummaryDelta(TypedDict):
    """Data of the event `delta` while a summary is written: its next text."""

    text: str


class SummaryError(TypedDict):
    """Data of the event `error`, which ends the stream of a summary."""

    error: ErrorBody
