"""Reasons why the text of a document is not available."""

from enum import StrEnum


class Refusal(StrEnum):
    """Why a document has no text. The value is the end of the error's code."""

    UNKNOWN = "unknown"
    BROKEN = "broken"
    ENCRYPTED = "encrypted"
    EMPTY = "empty"
    TOO_BIG = "too_big"
    TOO_COSTLY = "too_costly"


class UnreadableError(Exception):
    """A document that cannot be read, and the reason."""

    def __init__(self, refusal: Refusal) -> None:
        super().__init__(refusal.value)
        self.refusal = refusal
