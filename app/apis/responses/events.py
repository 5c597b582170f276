"""The event stream of a response, from any event on, made from the log of its run.

Event numbers depend on the answer's tokens, not on how its text was split into deltas. `starting_after` therefore means
the same in every process. Numbers may be skipped, but are never used twice.

- 0 to 3 are the opening events.
- A delta after which the answer has k tokens is 3 + k.
- With n tokens in all, the closing events are 4 + n to 7 + n.
- With reasoning, the five events between reasoning and text come before the text's first delta and count as well: that
  delta is 8 + k, and the closing events are 9 + n to 12 + n.
- Tool calls come at the end, four events each, before the last event. Text that was held back because it could have
  become a call is sent there too, as a delta.
"""

from collections.abc import AsyncGenerator, Iterable
from typing import Any, Protocol

from app.apis.responses.output import Event, OutputItem, call_events, thought_about
from app.apis.responses.serializer import begun, response_json, response_status
from app.domain.deltas import Delta
from app.domain.records import Message
from app.domain.response_record import ResponseRecord
from app.domain.token_history import ID_BYTES
from app.domain.tool_use import MayCall
from app.runs.run_log import RunLog
from app.transport.sse import typed_frame
from engine.errors import EbbError

BEFORE_THE_FIRST = -1
FIRST_OF_THE_ITEM, LAST_OPENING = 2, 3
LOG_OFFSET = 2
"""A delta's number here minus its number in the log, where 1 is the opening and 1 + k a delta."""

RESTARTING = {"type": "error", "code": "server_restart", "message": "The server is stopping", "param": None}


class ResponseSource(Protocol):
    """The source of a response's events: a run, or an answer that ended long ago."""

    @property
    def log(self) -> RunLog:
        """The log of the answer's text, which grows while the answer is generated."""

    @property
    def answer(self) -> Message:
        """The answer. Final once the log is closed."""


class ResponseEvents:
    """The events of one response, for one connection."""

    def __init__(self, record: ResponseRecord, source: ResponseSource, *, is_stored: bool = True) -> None:
        self._record = record
        self._source = source
        self._is_stored = is_stored
        self._item: OutputItem | None = None
        self._calls = source.answer.tool_use.parser() if isinstance(source.answer.tool_use, MayCall) else None
        self._shift = 0
        self._last = LAST_OPENING

    async def frames(self, after: int = BEFORE_THE_FIRST) -> AsyncGenerator[bytes, None]:
        """Yield all events with a number above `after`. Must be called only once.

        Deltas that arrived while the previous frames were being sent are yielded together.
        """
        if opening := _numbered(self._opening(), 0, after):
            yield opening
        # Read from the first delta on, even if the client has seen it: each event depends on the ones before.
        async for deltas in self._source.log.news(0):
            if said := b"".join(self._said(delta, after) for delta in deltas):
                yield said
        if self._source.log.is_closed:
            yield self._closing(after)
        else:
            yield typed_frame({**RESTARTING, "sequence_number": max(self._last, after)})

    def failure(self, error: EbbError) -> bytes:
        """Encode the event that ends an interrupted stream."""
        event = {"type": "error", "code": error.code, "message": error.message, "param": None}
        return typed_frame({**event, "sequence_number": self._last})

    def _opening(self) -> list[Event]:
        response = self._response(begun(self._source.answer))
        return [
            {"type": "response.created", "response": response},
            {"type": "response.in_progress", "response": response},
        ]

    def _said(self, delta: Delta, after: int) -> bytes:
        if delta.is_thought and self._item is not None and not self._item.is_thought:
            # The stream has no place for reasoning after the text. The complete response contains it.
            return b""
        text = delta.text if delta.is_thought or self._calls is None else self._calls.push(delta.text).text
        if not text:
            return b""
        item, change = self._at_item(delta.number + LOG_OFFSET, after, is_thought=delta.is_thought)
        self._last = delta.number + LOG_OFFSET + self._shift
        return change + item.delta(self._last, text) if self._last > after else change

    def _at_item(self, number: int, after: int, *, is_thought: bool) -> tuple[OutputItem, bytes]:
        """Return the item that a delta belongs to, and the frames of the events that switch to it.

        number: number of the first of these events, if an item is open already.
        """
        answer, before = self._source.answer, self._item
        if before is not None and before.is_thought == is_thought:
            return before, b""
        item = self._item = OutputItem(answer, 0 if before is None else 1, is_thought=is_thought)
        added = item.added(begun(answer))
        if before is None:
            return item, _numbered(added, FIRST_OF_THE_ITEM, after)
        events = [*before.done(thought_about(answer, self._source.log.reasoning)), *added]
        self._shift = len(events)
        return item, _numbered(events, number, after)

    def _closing(self, after: int) -> bytes:
        answer = self._source.answer
        num_tokens = len(answer.tokens.ids) // ID_BYTES
        # An answer that could not be stored has no tokens, although its text was sent.
        number = max(LAST_OPENING + num_tokens + self._shift, self._last) + 1
        status = response_status(answer)
        kind = status if status in ("completed", "failed") else "incomplete"
        end = {"type": f"response.{kind}", "response": self._response(answer)}
        if status == "failed":
            return _numbered([end], number + 3, after)
        if (refusal := self._source.log.refusal) is not None:
            # The answer is complete but not on disk, so no event may report it as completed.
            error = {"type": "error", "code": refusal["code"], "message": refusal["message"], "param": None}
            return _numbered([error], number + 3, after)
        shift = self._shift
        change, events = self._last_items(answer, number, after)
        return change + _numbered([*events, end], number + self._shift - shift, after)

    def _last_items(self, answer: Message, number: int, after: int) -> tuple[bytes, list[Event]]:
        """Return the frames up to the item that is open at the end, and the events from there on."""
        said, item = answer.said, self._item
        # An answer that was stopped during its reasoning has no text.
        is_thought = item is not None and item.is_thought and answer.status != "complete" and not answer.content
        if said.calls and not said.text:
            events = item.done(thought_about(answer, self._source.log.reasoning)) if item is not None else []
            return b"", [*events, *call_events(answer, 0 if item is None else 1)]
        held = "" if self._calls is None or is_thought else self._calls.finish().text
        item, change = self._at_item(number, after, is_thought=is_thought)
        rest = [item.rest(held)] if held else []
        return change, [*rest, *item.done(answer), *call_events(answer, item.index + 1)]

    def _response(self, answer: Message) -> dict[str, Any]:
        return response_json(self._record, answer, is_stored=self._is_stored)


def _numbered(events: Iterable[Event], first: int, after: int) -> bytes:
    numbered = ({**event, "sequence_number": number} for number, event in enumerate(events, first) if number > after)
    return b"".join(map(typed_frame, numbered))
