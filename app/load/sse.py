"""An incremental reader of server-sent events (https://html.spec.whatwg.org/multipage/server-sent-events.html)."""

import codecs
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class SSEEvent:
    """One dispatched event. `data` joins its lines with newlines; `event` is "message" unless the server named it."""

    data: str
    event: str = "message"
    id: str = ""


class SSEParser:
    """Feed bytes as they come, in pieces of any size; whole events come out.

    Takes CR, LF and CRLF as line ends, also when a CRLF or a UTF-8 character is torn between two pieces. Comments,
    unknown fields and events without data are dropped, as the standard says, and so is an event at the end of the
    stream that lacks its closing blank line.
    """

    def __init__(self) -> None:
        self._decode = codecs.getincrementaldecoder("utf-8-sig")(errors="replace")
        self._rest = ""
        self._skip_newline = False
        self._data: list[str] = []
        self._event = ""
        self._id = ""

    def feed(self, piece: bytes) -> list[SSEEvent]:
        """The events that `piece` completes, in order."""
        text = self._decode.decode(piece)
        if self._skip_newline and text:
            # The CR that ended the last piece was a line end by itself already; its LF must not count as a blank line.
            text = text.removeprefix("\n")
            self._skip_newline = False
        self._skip_newline = self._skip_newline or text.endswith("\r")
        *lines, self._rest = (self._rest + text).replace("\r\n", "\n").replace("\r", "\n").split("\n")
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
