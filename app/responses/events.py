"""The events of a response, from its log, from any place on.

Numbers follow from what the answer is, not from how its text was cut. 0 to 3 open it; a delta with which the answer
has k tokens is 3 + k; with n tokens in all, the closing ones are 4 + n to 7 + n. Where it was thought about, the five
events between the thought and the text stand before the first delta of the text, and count: that one is 8 + k, the
closing ones 9 + n to 12 + n. Calls of tools are told at the end, four events each, before the last one; there also
comes as a delta what of the text might have become a call. So numbers are jumped over, never used twice, and
`starting_after` means the same in every process.
"""

from collections.abc import AsyncGenerator, Iterable
from typing import Any, Protocol

from app.deltas import Delta
from app.records import Message
from app.responses.output import Event, OutputItem, call_events, thought_about
from app.responses.record import ResponseRecord
from app.responses.shapes import begun, response_json, response_status
from app.run_log import RunLog
from app.sse import typed_frame
from app.token_history import ID_BYTES
from app.tool_use import MayCall
from engine.errors import EbbError

BEFORE_THE_FIRST = -1
FIRST_OF_THE_ITEM, LAST_OPENING = 2, 3
LOG_OFFSET = 2
"""A delta's number here less its number in the log, where 1 is the opening and 1 + k a delta."""

RESTARTING = {"type": "error", "code": "server_restart", "message": "The server is stopping", "param": None}


class Told(Protocol):
    """What is told: a run, or one that ended long ago."""

    @property
    def log(self) -> RunLog:
        """Its text, as it comes."""

    @property
    def answer(self) -> Message:
        """Final once the log is closed."""


class ResponseEvents:
    """What one connection is sent of one response."""

    def __init__(self, record: ResponseRecord, told: Told, *, is_stored: bool = True) -> None:
        self._record = record
        self._told = told
        self._is_stored = is_stored
        self._item: OutputItem | None = None
        self._calls = told.answer.tool_use.parser() if isinstance(told.answer.tool_use, MayCall) else None
        self._shift = 0
        self._last = LAST_OPENING

    async def frames(self, after: int = BEFORE_THE_FIRST) -> AsyncGenerator[bytes, None]:
        """All events with a number above `after`; what has come meanwhile is sent at once. To be called once."""
        if opening := _numbered(self._opening(), 0, after):
            yield opening
        # From the first on, whatever the client has seen: what an event is depends on those before it.
        async for deltas in self._told.log.news(0):
            if said := b"".join(self._said(delta, after) for delta in deltas):
                yield said
        if self._told.log.is_closed:
            yield self._closing(after)
        else:
            yield typed_frame({**RESTARTING, "sequence_number": max(self._last, after)})

    def failure(self, error: EbbError) -> bytes:
        """Write the event that ends a stream which breaks off."""
        told = {"type": "error", "code": error.code, "message": error.message, "param": None}
        return typed_frame({**told, "sequence_number": self._last})

    def _opening(self) -> list[Event]:
        response = self._response(begun(self._told.answer))
        return [
            {"type": "response.created", "response": response},
            {"type": "response.in_progress", "response": response},
        ]

    def _said(self, delta: Delta, after: int) -> bytes:
        if delta.is_thought and self._item is not None and not self._item.is_thought:
            # Behind the text there is no place for a thought; the whole response has it.
            return b""
        text = delta.text if delta.is_thought or self._calls is None else self._calls.push(delta.text).text
        if not text:
            return b""
        item, change = self._at_item(delta.number + LOG_OFFSET, after, is_thought=delta.is_thought)
        self._last = delta.number + LOG_OFFSET + self._shift
        return change + item.delta(self._last, text) if self._last > after else change

    def _at_item(self, number: int, after: int, *, is_thought: bool) -> tuple[OutputItem, bytes]:
        """The item that something belongs to, and the events up to there. number: of the first one in between."""
        answer, before = self._told.answer, self._item
        if before is not None and before.is_thought == is_thought:
            return before, b""
        item = self._item = OutputItem(answer, 0 if before is None else 1, is_thought=is_thought)
        added = item.added(begun(answer))
        if before is None:
            return item, _numbered(added, FIRST_OF_THE_ITEM, after)
        events = [*before.done(thought_about(answer, self._told.log.reasoning)), *added]
        self._shift = len(events)
        return item, _numbered(events, number, after)

    def _closing(self, after: int) -> bytes:
        answer = self._told.answer
        num_tokens = len(answer.tokens.ids) // ID_BYTES
        # An answer that could not be stored has no tokens, and yet its text was sent.
        number = max(LAST_OPENING + num_tokens + self._shift, self._last) + 1
        status = response_status(answer)
        kind = status if status in ("completed", "failed") else "incomplete"
        end = {"type": f"response.{kind}", "response": self._response(answer)}
        if status == "failed":
            return _numbered([end], number + 3, after)
        if (refusal := self._told.log.refusal) is not None:
            # The answer is whole, but not on disk: nothing may say that it is completed.
            error = {"type": "error", "code": refusal["code"], "message": refusal["message"], "param": None}
            return _numbered([error], number + 3, after)
        shift = self._shift
        change, events = self._last_items(answer, number, after)
        return change + _numbered([*events, end], number + self._shift - shift, after)

    def _last_items(self, answer: Message, number: int, after: int) -> tuple[bytes, list[Event]]:
        """The frames up to the item that is open at the end, and the events from there on."""
        said, item = answer.said, self._item
        # One that was stopped within its thought has no text.
        is_thought = item is not None and item.is_thought and answer.status != "complete" and not answer.content
        if said.calls and not said.text:
            events = item.done(thought_about(answer, self._told.log.reasoning)) if item is not None else []
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
