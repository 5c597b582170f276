"""Reader of calls in JSON or in another syntax, which their first character tells apart."""

from models.chat.tool_call_parser import CallReader
from models.chat.tool_calls import AnswerEvent


class JsonOrOtherReader:
    """A `CallReader`."""

    def __init__(self, json: CallReader, other: CallReader, brackets: str) -> None:
        """Create the reader from a reader of each syntax. brackets: those with which calls in JSON begin."""
        self.has_called = False
        self.is_broken = False
        self.unread = ""
        self.not_called = ""
        self._json = json
        self._other = other
        self._brackets = brackets
        self._reader: CallReader | None = None

    @property
    def is_over(self) -> bool:
        """See `CallReader`."""
        return self._reader is not None and self._reader.is_over

    def push(self, text: str) -> list[AnswerEvent]:
        """See `CallReader`."""
        if self._reader is None:
            self.not_called += text
            if not (begun := self.not_called.lstrip()):
                return []
            text, self.not_called = self.not_called, ""
            self._reader = self._json if begun[0] in self._brackets else self._other
        events = self._reader.push(text)
        self.has_called, self.is_broken = self._reader.has_called, self._reader.is_broken
        self.unread, self.not_called = self._reader.unread, self._reader.not_called
        return events

    def finish(self) -> list[AnswerEvent]:
        """See `CallReader`."""
        return [] if self._reader is None else self._reader.finish()
