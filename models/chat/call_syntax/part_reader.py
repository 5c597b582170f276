"""Base of the readers that read a call part by part, from text that comes in pieces."""

from abc import ABC, abstractmethod

from models.chat.tool_calls import AnswerEvent


class PartReader(ABC):
    """A `CallReader` that holds text until a part of the call is complete."""

    def __init__(self, held: str = "") -> None:
        """Create the reader. held: text that precedes the first piece."""
        self.has_called = False
        self.is_broken = False
        self.is_over = False
        self.unread = ""
        self.not_called = ""
        self._held = held

    def push(self, text: str) -> list[AnswerEvent]:
        """See `CallReader`."""
        self._held += text
        events = list[AnswerEvent]()
        while not self.is_over and (news := self._next()) is not None:
            events += news
        if self.is_over:
            self.unread, self._held = self._held, ""
        return events

    @abstractmethod
    def finish(self) -> list[AnswerEvent]:
        """See `CallReader`."""

    @abstractmethod
    def _next(self) -> list[AnswerEvent] | None:
        """Read the next part of the held text. Return its events; None if the part is incomplete."""
