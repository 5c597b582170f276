"""The beginning of a conversation that its prompts leave out, so that a long chat can continue."""

from collections.abc import Sequence
from dataclasses import dataclass

from app.domain.records import Message
from engine.api.errors import InvalidRequestError


@dataclass(frozen=True, slots=True)
class LeftOut:
    """The messages at the beginning of a path that a prompt lacks.

    left_out: their number.
    summary: a text that stands for them in the prompt; None without one.
    """

    left_out: int = 0
    summary: str | None = None


WHOLE = LeftOut()
"""Nothing is left out."""


def beginning_of(path: Sequence[Message]) -> LeftOut:
    """Return the beginning of `path` (root first) that the prompt of its end lacks.

    The newest question with a number decides. A prompt begins with a question, even where messages were deleted from
    the path or imported, and always has the question that decides.
    """
    for at, message in reversed(list(enumerate(path))):
        if message.role == "user" and message.left_out is not None:
            left_out = _question_before(path, min(message.left_out, at))
            return LeftOut(left_out, message.summary if left_out else None)
    return WHOLE


def wanted_beginning(path: Sequence[Message], left_out: int | None, summary: str | None) -> LeftOut:
    """Return what the client wants to leave out after `path`. None for `left_out` keeps the current choice.

    Raise InvalidRequestError.
    """
    if summary is not None and not left_out:
        raise InvalidRequestError(
            "A summary stands for messages that are left out: send left_out, too", param="summary"
        )
    if left_out is None:
        return beginning_of(path)
    if left_out > len(path):
        raise InvalidRequestError(f"The conversation has only {len(path)} messages before this one", param="left_out")
    if _question_before(path, left_out) != left_out:
        raise InvalidRequestError(
            f"The prompt must begin with a question, and message {left_out} is an answer", param="left_out"
        )
    return LeftOut(left_out, summary)


def _question_before(path: Sequence[Message], at: int) -> int:
    """Return the index of the question at or before `at`; 0 without one. An index at the end is returned as it is."""
    while 0 < at < len(path) and path[at].role != "user":
        at -= 1
    return at
