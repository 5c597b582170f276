"""Incremental parser of server-sent events (https://html.spec.whatwg.org/multipage/server-sent-events.html)."""

import codecs
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class SSEEvent:
    """One dispatched event.

    data: the event's data lines, joined with newlines.
    event: "message" unless the server named the event.
    """

    data: str
    event: str = "message"
    id: str = ""


class SSEParser:
    """Parser that takes bytes in pieces of any size and returns complete events.

    Accepts CR, LF and CRLF as line ends, even if a CRLF or a UTF-8 character is split between two pieces. As the
    standard says, comments, unknown fields and events without data are dropped, and so is a last event without its
    blank line.
    """

    def __init__(self) -> None:
        self._decode = codecs.getincrementaldecoder("utf-8-sig")(errors="replace")
        self._rest = list[str]()
        self._skip_newline = False
        self._data: list[str] = []
        self._event = ""
        self._id = ""

    def feed(self, piece: bytes) -> list[SSEEvent]:
        """Return the events that `piece` completes, in order."""
        text = self._decode.decode(piece)
        if self._skip_newline and text:
            # The CR at the end of the last piece already ended the line, so a following LF is not a blank line.
            text = text.removeprefix("\n")
            self._skip_newline = False
        self._skip_newline = self._skip_newline or text.endswith("\r")
        first, *further = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
        # Joined once the line is complete: a line may come in many pieces.
        self._rest.append(first)
        if not further:
            return []
        lines = ["".join(self._rest), *further[:-1]]
        self._rest = [further[-1]]
        return [event for line in lines if (event := self._line(line)) is not None]

    def _line(self, line: str) -> SSEEvent | None:
        if not line:
            return self._dispatch()
        field, _, value = line.partition(":")
        value = value.removeprefix(" ")
        if field == "data":
            self._data.append(value)
        elif field == "event":
            self._event = value
        elif field == "id" and "\0" not in value:
            self._id = value
        return None

    def _dispatch(self) -> SSEEvent | None:
        data, event = self._data, self._event
        self._data, self._event = [], ""
        return SSEEvent("\n".join(data), event or "message", self._id) if data else None
