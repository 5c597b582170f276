"""The event stream of a response, from any event on, made from the log of its run.

Event numbers depend on the answer's tokens, not on how its text was split into deltas. `starting_after` therefore means
the same in every process. Numbers may be skipped, but are never used twice.

- 0 to 3 are the opening events, of which 2 and 3 open the first item. A call is opened by event 2 alone.
- A delta of text, reasoning or arguments after which the answer has k tokens is 3 + k + s.
- s is 0 at first, and grows where items end and begin, whose events come between two deltas. If the
  first delta after them could be 3 + k + s, c events after reasoning, or between two items, are 3 + k + s to
  2 + k + s + c, and s grows by c. After a text or arguments the number 3 + k + s is left to a delta of the same token,
  the events are 4 + k + s to 3 + k + s + c, and s grows by c + 1.
- With n tokens in all, the events after the last delta are 4 + n + s and following. The response's last event comes
  after them, at 7 + n + s or later. Among them are text that was held back because it could have become a call, and
  the end of a call that was cut.

The number of an event is also the id of its frame, with which a client of server-sent events reconnects.
"""

import sys
from collections.abc import AsyncGenerator, Iterable, Sequence
from functools import partial
from itertools import takewhile
from typing import Any

from app.apis.responses.output import Event, ItemWriter, ResponseSource
from app.apis.responses.parsed_answer import parse_apart
from app.apis.responses.serializer import begun, has_output, response_json, response_status
from app.apis.responses.text_logprobs import TextLogprobs
from app.domain.deltas import Delta
from app.domain.records import Message
from app.domain.response_record import ResponseRecord
from app.domain.token_history import ID_BYTES
from app.domain.tool_use import MayCall
from app.prompts.tokenization import apart_if
from app.runs.prompt_progress import llama_progress
from app.runs.run_log import OPENING
from app.transport.sse import numbered_frame
from engine.api.errors import EbbError
from engine.api.outputs import PromptProgress
from models.chat.tool_calls import AnswerEvent, ArgumentsPiece, TextPiece

BEFORE_THE_FIRST = -1
IN_PROGRESS = 1
FIRST_OF_THE_ITEM, LAST_OPENING = 2, 3
LOG_OFFSET = 2
"""A delta's number here minus its number in the log, where 1 is the opening and 1 + k a delta."""

NUM_CLOSING = 3
"""Number of events that close a text. The response's last event leaves room for them even if there are fewer."""

RESTARTING = {"type": "error", "code": "server_restart", "message": "The server is stopping", "param": None}


class ResponseEvents:
    """The events of one response, for one connection."""

    def __init__(
        self,
        record: ResponseRecord,
        source: ResponseSource,
        *,
        is_stored: bool = True,
        shows_progress: bool = False,
        logprobs: TextLogprobs | None = None,
    ) -> None:
        """Prepare the stream.

        shows_progress: report the progress of the prompt before the first token.
        logprobs: log probabilities of the answer's texts; None leaves them out.
        """
        self._shows_progress = shows_progress
        self._logprobs = logprobs
        self._record = record
        self._source = source
        self._is_stored = is_stored
        self._items = ItemWriter(source)
        self._calls = source.answer.tool_use.parser() if isinstance(source.answer.tool_use, MayCall) else None
        self._shift = 0
        self._last = LAST_OPENING
        self._after = BEFORE_THE_FIRST

    async def frames(self, after: int = BEFORE_THE_FIRST) -> AsyncGenerator[bytes, None]:
        """Yield all events with a number above `after`. Must be called only once.

        Deltas that arrived while the previous frames were being sent are yielded together.
        """
        self._after = after
        if opening := _numbered(self._opening(), 0, after):
            yield opening
        if self._shows_progress:
            async for progress in self._source.log.reports():
                if progress.state == "computing":
                    yield self._progress(progress)
        # Read from the first delta on, even if the client has seen it: each event depends on the ones before.
        async for deltas in self._source.log.news(0):
            if frames := b"".join(self._frames_of(delta, after) for delta in deltas):
                yield frames
        await parse_apart(self._source.answer)
        if not self._source.log.is_closed:
            yield self._interruption(RESTARTING)
        elif closing := await apart_if(self._logprobs is not None, partial(self._closing, after)):
            yield closing

    async def whole(self) -> dict[str, Any]:
        """Return the whole response, whose run has ended. Must be called only once, and in the place of `frames`."""
        async for _ in self.frames():
            pass
        return self._response(self._source.answer)

    def _progress(self, progress: PromptProgress) -> bytes:
        """Encode a report of the prompt's progress. The types of the clients' SDKs have no separate event for it."""
        response = self._response(begun(self._source.answer))
        shown = {"response": response, "prompt_progress": llama_progress(progress)}
        return numbered_frame({"type": "response.in_progress", **shown, "sequence_number": IN_PROGRESS})

    def failure(self, error: EbbError) -> bytes:
        """Encode the event that ends an interrupted stream."""
        event = {"type": "error", "code": error.code, "message": error.message, "param": None}
        return self._interruption(event)

    def _interruption(self, event: Event) -> bytes:
        """Encode an event outside the sequence. The number of the event before keeps a cursor where it is."""
        newest = self._last if self._items.num_items else IN_PROGRESS
        return numbered_frame({**event, "sequence_number": max(newest, self._after)})

    def _opening(self) -> list[Event]:
        response = self._response(begun(self._source.answer))
        return [
            {"type": "response.created", "response": response},
            {"type": "response.in_progress", "response": response},
        ]

    def _frames_of(self, delta: Delta, after: int) -> bytes:
        at = delta.number + LOG_OFFSET
        num_tokens = delta.number - OPENING
        if delta.is_thought:
            if self._logprobs is not None:
                self._logprobs.skip(num_tokens)
            # The stream has no place for reasoning after the text. The complete response contains it.
            return b"" if self._items.has_output else self._frames(TextPiece(delta.text), at, after, is_thought=True)
        events: list[AnswerEvent] = [TextPiece(delta.text)] if self._calls is None else self._calls.push(delta.text)
        told = zip(events, self._logprobs_of(events, num_tokens), strict=True)
        return b"".join(self._frames(event, at, after, logprobs) for event, logprobs in told)

    def _logprobs_of(self, events: Sequence[AnswerEvent], num_tokens: int) -> Sequence[Sequence[dict[str, Any]]]:
        return [()] * len(events) if self._logprobs is None else self._logprobs.of(events, num_tokens)

    def _frames(
        self,
        event: AnswerEvent,
        at: int,
        after: int,
        logprobs: Sequence[dict[str, Any]] = (),
        *,
        is_thought: bool = False,
    ) -> bytes:
        """Return the frames of an event that a token of the answer brings.

        at: number of that token's delta, without the shift.
        logprobs: those of its text.
        """
        before, is_first = self._items.item, self._items.num_items == 0
        change = self._items.before(event, is_thought=is_thought)
        frames = b""
        if change and is_first:
            frames = _numbered(change, FIRST_OF_THE_ITEM, after)
        elif change:
            follows_delta = before is not None and not before.is_thought
            frames = _numbered(change, at + self._shift + follows_delta, after)
            self._shift += len(change) + follows_delta
            self._last = at + self._shift - 1
        if isinstance(event, TextPiece | ArgumentsPiece):
            deltas, text = self._items.write(event, logprobs)
            self._last = at + self._shift
            # The first tokens of a custom tool's arguments add nothing to the input.
            if text and self._last > after:
                frames += deltas.frame(self._last, text, logprobs)
        return frames

    def _closing(self, after: int) -> bytes:
        answer = self._source.answer
        num_tokens = len(answer.tokens.ids) // ID_BYTES
        # An answer that could not be stored has no tokens, although its text was sent.
        number = max(LAST_OPENING + num_tokens + self._shift, self._last) + 1
        status = response_status(answer)
        kind = status if status in ("completed", "failed") else "incomplete"
        end = {"type": f"response.{kind}", "response": self._response(answer)}
        if status == "failed":
            return _numbered([end], number + NUM_CLOSING, after)
        if (refusal := self._source.log.refusal) is not None:
            # The answer is complete but not on disk, so no event may report it as completed.
            error = {"type": "error", "code": refusal["code"], "message": refusal["message"], "param": None}
            return _numbered([error], number + NUM_CLOSING, after)
        is_first = self._items.num_items == 0
        events = self._ending(answer)
        opening = list(takewhile(lambda event: event["type"].endswith(".added"), events)) if is_first else []
        closing = events[len(opening) :]
        return (
            _numbered(opening, FIRST_OF_THE_ITEM, after)
            + _numbered(closing, number, after)
            + _numbered([end], number + max(NUM_CLOSING, len(closing)), after)
        )

    def _ending(self, answer: Message) -> list[Event]:
        """Return the events after the last delta, without the response's own."""
        items = self._items
        cut_before = None if answer.status == "complete" else ""
        held: list[AnswerEvent] = [] if self._calls is None else self._calls.finish(cut_before)
        if not items.has_output and not held and has_output(answer):
            held = [TextPiece("")]
        events = list[Event]()
        for event, logprobs in zip(held, self._logprobs_of(held, sys.maxsize), strict=True):
            events += items.before(event)
            if isinstance(event, TextPiece | ArgumentsPiece):
                deltas, text = items.write(event, logprobs)
                events += [deltas.event(text, logprobs)] if text else []
        return events + items.end(answer)

    def _response(self, answer: Message) -> dict[str, Any]:
        response = response_json(self._record, answer, is_stored=self._is_stored)
        messages = [item for item in response["output"] if item["type"] == "message"]
        for item, text in zip(messages, self._items.texts, strict=False):
            item["content"][0]["logprobs"] = text.logprobs
        return response


def _numbered(events: Iterable[Event], first: int, after: int) -> bytes:
    numbered = ({**event, "sequence_number": number} for number, event in enumerate(events, first) if number > after)
    return b"".join(map(numbered_frame, numbered))
