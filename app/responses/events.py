"""The events of a response, from its log, from any place on.

Numbers follow from what the answer is, not from how its text was cut. 0 to 3 open it; a delta with which the answer
has k tokens is 3 + k; with n tokens in all, the closing ones are 4 + n to 7 + n. So numbers are jumped over, never used
twice, and `starting_after` means the same in every process.
"""

from collections.abc import AsyncGenerator, Iterable
from typing import Any, Protocol

from app.records import Message
from app.responses.record import ResponseRecord
from app.responses.shapes import begun, item_json, output_text, response_json, response_status
from app.run_log import RunLog
from app.sse import encode_json, typed_frame
from app.token_history import ID_BYTES

BEFORE_THE_FIRST = -1
LAST_OPENING = 3
LOG_OFFSET = 2
"""A delta's number here less its number in the log, where 1 is the opening and 1 + k a delta."""

RESTARTING = {"type": "error", "code": "server_restart", "message": "The server is stopping", "param": None}

Event = dict[str, Any]


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
        self._place = {"item_id": told.answer.id, "output_index": 0, "content_index": 0}
        fixed = encode_json({"type": "response.output_text.delta", **self._place, "logprobs": []})
        self._delta_head = f"event: response.output_text.delta\ndata: {fixed[:-1]},".encode()

    async def frames(self, after: int = BEFORE_THE_FIRST) -> AsyncGenerator[bytes, None]:
        """All events with a number above `after`; what has come meanwhile is sent at once."""
        if after < LAST_OPENING:
            yield _numbered(self._opening(), 0, after)
        last = max(after, LAST_OPENING)
        async for deltas in self._told.log.news(last - LOG_OFFSET):
            last = deltas[-1].number + LOG_OFFSET
            said = [delta for delta in deltas if not delta.is_thought]
            if said:
                yield b"".join(self._delta(delta.number + LOG_OFFSET, delta.text) for delta in said)
        if self._told.log.is_closed:
            yield _numbered(*self._closing(last, after), after)
        else:
            yield typed_frame({**RESTARTING, "sequence_number": last})

    def _delta(self, number: int, text: str) -> bytes:
        return self._delta_head + f'"sequence_number":{number},"delta":{encode_json(text)}}}\n\n'.encode()

    def _opening(self) -> list[Event]:
        answer = begun(self._told.answer)
        response, item = self._response(answer), {**item_json(answer), "content": []}
        return [
            {"type": "response.created", "response": response},
            {"type": "response.in_progress", "response": response},
            {"type": "response.output_item.added", "output_index": 0, "item": item},
            {"type": "response.content_part.added", **self._place, "part": output_text("")},
        ]

    def _closing(self, last: int, after: int) -> tuple[list[Event], int]:
        """The last events, and the number of the first of them."""
        answer = self._told.answer
        num_tokens = len(answer.tokens.ids) // ID_BYTES
        # An answer that could not be stored has no tokens, and yet its text was sent.
        number = max(LAST_OPENING + num_tokens, last if last > after else 0) + 1
        status = response_status(answer)
        kind = status if status in ("completed", "failed") else "incomplete"
        end = {"type": f"response.{kind}", "response": self._response(answer)}
        if status == "failed":
            return [end], number + 3
        text = {"type": "response.output_text.done", **self._place, "text": answer.content, "logprobs": []}
        part = {"type": "response.content_part.done", **self._place, "part": output_text(answer.content)}
        item = {"type": "response.output_item.done", "output_index": 0, "item": item_json(answer)}
        return [text, part, item, end], number

    def _response(self, answer: Message) -> dict[str, Any]:
        return response_json(self._record, answer, is_stored=self._is_stored)


def _numbered(events: Iterable[Event], first: int, after: int) -> bytes:
    numbered = ({**event, "sequence_number": number} for number, event in enumerate(events, first) if number > after)
    return b"".join(map(typed_frame, numbered))
