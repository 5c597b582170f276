"""Log of one run's numbered events, and any number of cursors on it.

Event 1 opens the run. The number of a delta is the answer's token count including that delta, plus one. A number
therefore means the same however the text is cut into deltas, even after another process resumed the run. The last event
ends the run.

The log keeps the text of every delta and no state per cursor, so slow followers cost nothing. A follower that returns
gets the text it missed as one event under the last number. Reports of the prompt's progress have no number: a follower
gets the newest one, until a delta comes. This module touches neither sockets nor the engine.
"""

import asyncio
import sys
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import AsyncGenerator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from app.domain.deltas import Delta
from app.domain.records import Conversation, Message
from app.runs.prompt_progress import progress_body
from app.schemas.response_bodies.conversations import conversation_body
from app.schemas.response_bodies.messages import Message as MessageBody
from app.schemas.response_bodies.messages import message_body
from app.schemas.response_bodies.run_events import (
    OpeningRecords,
    RunDone,
    RunError,
    RunEvent,
    RunOpening,
    RunProgress,
    RunSnapshot,
)
from app.transport.direct_writer import DirectWriter
from app.transport.sse import encode_json, event_frame, farewell_frame, named_frame
from engine.api.outputs import PromptProgress

OPENING = 1
MAX_DIGITS = 15

MAX_NEWS = 256
"""Maximum number of deltas that a cursor gets at once."""


class RunLog:
    """Events of one run, written by the engine's listener and read by cursors, all on one event loop.

    Invariant: `_numbers` is increasing, and the event with `_numbers[i]` carries piece i of `_pieces`.
    """

    def __init__(
        self,
        run_id: str,
        message: Message,
        opening: OpeningRecords | None = None,
        *,
        epoch: int = 0,
        deltas: Sequence[Delta] = (),
    ) -> None:
        """Make the log of an answer in progress (`message`).

        opening: records in event 1; None if the run creates none.
        epoch: number of processes that worked on the run before.
        deltas: deltas that those processes stored.
        """
        self.run_id = run_id
        self._message = message
        self._epoch = epoch
        # Kept as bytes, since the objects take far more memory.
        self._opening_frame = self._opening(opening or {"message": message_body(message)})
        self._numbers = array("I")
        self._pieces = _Pieces()
        for delta in deltas:
            self._numbers.append(delta.number)
            self._pieces.add(delta.text, is_thought=delta.is_thought)
        self._inherited_until = self._reported_after = self._last_delta
        self._reports: list[PromptProgress] = []
        self._end: _End | None = None
        self._last_number = 0
        self._interrupted = False
        self._waiting: list[_Follower] = []
        self._newest_frame: tuple[int, bytes] = (0, b"")

    @property
    def last_event(self) -> int:
        """Number of the newest event."""
        return self._last_number if self._end is not None else self._last_delta

    @property
    def _last_delta(self) -> int:
        return self._numbers[-1] if self._numbers else OPENING

    @property
    def is_closed(self) -> bool:
        """Whether the event that ends the run is written."""
        return self._end is not None

    @property
    def refusal(self) -> Mapping[str, Any] | None:
        """Error with which the run ended; None while it is open, or if it ended with an answer."""
        return self._end.error if self._end is not None else None

    @property
    def text(self) -> str:
        """Text of the answer so far."""
        return self._pieces.of(0, len(self._numbers), thoughts=False)

    @property
    def reasoning(self) -> str | None:
        """Reasoning so far; None if there is none."""
        return self._pieces.of(0, len(self._numbers), thoughts=True) or None

    def deltas_from(self, index: int, most: int = sys.maxsize) -> list[Delta]:
        """Return up to `most` deltas after the first `index`."""
        return [self._delta_at(at) for at in range(index, min(len(self._numbers), index + most))]

    def open(self, opening: OpeningRecords) -> None:
        """Set the records in event 1 if they were unknown when the log was made. Call before any cursor follows."""
        self._opening_frame = self._opening(opening)

    def append(self, text: str, num_tokens: int, *, is_thought: bool = False) -> None:
        """Append a delta. `num_tokens` is the answer's token count including it; held-back text may add no token."""
        self._numbers.append(max(num_tokens, self._last_delta) + 1)
        self._pieces.add(text, is_thought=is_thought)
        if self._waiting:
            self._notify()

    def report(self, progress: PromptProgress) -> None:
        """Add a report of the prompt's progress. Call before any text is appended."""
        self._reports.append(progress)
        self._wake_all()

    @property
    def _is_reading(self) -> bool:
        """Whether the log has neither a text of this process nor an end, so that the prompt is being computed."""
        return self._last_delta == self._reported_after and self._end is None

    def close(self, answer: Message, num_tokens: int, error: Mapping[str, Any] | None = None) -> None:
        """Append the event that ends the run of `answer`, which has `num_tokens` tokens.

        error: data of the event "error"; None for the event "done".
        """
        self._end = _End(answer, error)
        self._last_number = max(num_tokens + 1, self._last_delta) + 1
        self._reports.clear()
        self._notify()

    def interrupt(self) -> None:
        """End the streams because the server stops before the run ends. Followers get a `farewell` event."""
        self._interrupted = True
        self._notify()

    def cursor(self, event_id: str) -> int | None:
        """Parse an event id "<run_id>:<epoch>.<n>" and return n; None if it is invalid here, so that a snapshot is due.

        Events that another process sent after its last save are invalid: this process may generate other text for them.
        """
        name, _, number = event_id.rpartition(".")
        prefix, _, epoch = name.rpartition(":")
        if prefix != self.run_id or not (is_number(epoch) and is_number(number)):
            return None
        is_known = int(epoch) == self._epoch or (int(epoch) < self._epoch and int(number) <= self._inherited_until)
        return int(number) if is_known else None

    async def news(self, after: int) -> AsyncGenerator[list[Delta], None]:
        """Yield the deltas after number `after` as they come, at most MAX_NEWS at a time, until the run ends."""
        index = bisect_right(self._numbers, after)
        while True:
            if index < len(self._numbers):
                fresh = self.deltas_from(index, MAX_NEWS)
                index += len(fresh)
                yield fresh
                if len(fresh) == MAX_NEWS:
                    # A log may be long, and a connection may take all of it without ever blocking.
                    await asyncio.sleep(0)
            elif self._end is not None or self._interrupted:
                return
            else:
                await self._change()

    async def reports(self) -> AsyncGenerator[PromptProgress, None]:
        """Yield the reports of the prompt's progress as they come, until there is text or the run ends."""
        told = 0
        while told < len(self._reports) or (self._is_reading and not self._interrupted):
            if told < len(self._reports):
                told += 1
                yield self._reports[told - 1]
            else:
                await self._change()

    async def follow(self, after: int | None, writer: DirectWriter | None = None) -> AsyncGenerator[bytes, None]:
        """Yield the frames of all events after number `after` as they come.

        Begins with a snapshot of the text so far if `after` is None or not an event's number. Deltas that come while
        this generator waits and `writer` is ready are written to `writer` instead of yielded.
        """
        if after is None or not self._is_event(after):
            seen = self._last_delta
            yield self._snapshot(seen)
        else:
            seen = after
        told = 0
        while True:
            if seen == 0:
                seen = OPENING
                yield self._opening_frame
            elif seen < self._last_delta:
                seen, frame = self._delta_after(seen)
                yield frame
            elif self._end is not None:
                if seen < self._last_number:
                    yield self._closing(self._end)
                return
            elif self._interrupted:
                yield farewell_frame()
                return
            elif self._is_reading and told < len(self._reports):
                told = len(self._reports)
                yield self._progress(self._reports[-1])
            else:
                seen = await self._change(seen, writer)

    def _is_event(self, number: int) -> bool:
        if number <= OPENING or number == self.last_event:
            return True
        index = bisect_left(self._numbers, number)
        return index < len(self._numbers) and self._numbers[index] == number

    def _delta_after(self, seen: int) -> tuple[int, bytes]:
        """Encode everything after `seen` as one event. The usual single new delta is encoded once for all cursors."""
        first, last = bisect_right(self._numbers, seen), self._last_delta
        if first < len(self._numbers) - 1:
            return last, self._delta(first, last)
        if self._newest_frame[0] != last:
            self._newest_frame = (last, self._delta(first, last))
        return self._newest_frame

    def _delta(self, first: int, number: int) -> bytes:
        """Encode the pieces from index `first` as one delta. Reasoning has a separate field."""
        end = len(self._numbers)
        fields = f'"text":{encode_json(self._pieces.of(first, end, thoughts=False))}'
        if reasoning := self._pieces.of(first, end, thoughts=True):
            fields += f',"reasoning":{encode_json(reasoning)}'
        # RunDelta, formatted by hand, since this runs for every token of every run.
        data = f'{{"sequence_number":{number},"run_id":"{self.run_id}",{fields}}}'
        return event_frame("delta", data, self._event_id(number))

    def _delta_at(self, at: int) -> Delta:
        is_thought = self._pieces.is_thought(at)
        return Delta(self._numbers[at], self._pieces.of(at, at + 1, thoughts=is_thought), is_thought)

    def _opening(self, opening: OpeningRecords) -> bytes:
        data: RunOpening = {**self._event(OPENING), **opening}
        return self._frame("run", data)

    def _snapshot(self, number: int) -> bytes:
        so_far: MessageBody = {**message_body(self._message), "content": self.text, "reasoning": self.reasoning}
        data: RunSnapshot = {**self._event(number), "message": so_far}
        return self._frame("snapshot", data)

    def _progress(self, progress: PromptProgress) -> bytes:
        data: RunProgress = {**self._event(self._last_delta), **progress_body(progress)}
        return named_frame("progress", data)

    def _closing(self, end: "_End") -> bytes:
        event, message = self._event(self._last_number), message_body(end.answer)
        if end.error is None:
            done: RunDone = {**event, "message": message}
            return self._frame("done", done)
        failed: RunError = {**event, "error": end.error, "message": message}
        return self._frame("error", failed)

    def _event(self, number: int) -> RunEvent:
        return {"sequence_number": number, "run_id": self.run_id}

    def _frame(self, kind: str, data: RunEvent) -> bytes:
        return event_frame(kind, encode_json(data), self._event_id(data["sequence_number"]))

    def _event_id(self, number: int) -> str:
        return f"{self.run_id}:{self._epoch}.{number}"

    async def _change(self, seen: int = 0, writer: DirectWriter | None = None) -> int:
        """Wait for a change that cannot be written to `writer`. Returns the last number that its reader has by then.

        No change is missed, because callers have looked at the log since they last awaited.
        """
        follower = _Follower(seen, writer)
        self._waiting.append(follower)
        await follower.change
        return follower.seen

    def _notify(self) -> None:
        """Notify the waiting followers: write a delta to those whose connection is ready, and wake the others."""
        is_delta = self._end is None and not self._interrupted
        waiting, self._waiting = self._waiting, []
        for follower in waiting:
            # Done if the cursor was cancelled.
            if follower.change.done():
                continue
            if is_delta and follower.writer is not None and follower.writer.ready:
                follower.seen, frame = self._delta_after(follower.seen)
                follower.writer.write(frame)
                self._waiting.append(follower)
            else:
                follower.change.set_result(None)

    def _wake_all(self) -> None:
        """Wake the waiting followers, although there is no new event."""
        waiting, self._waiting = self._waiting, []
        for follower in waiting:
            if not follower.change.done():
                follower.change.set_result(None)


@dataclass(frozen=True, slots=True)
class _End:
    """End of a run: its answer, and the error of the event "error"; None for "done"."""

    answer: Message
    error: Mapping[str, Any] | None


class _Follower:
    """A cursor that has read all events up to number `seen` and waits for the next."""

    __slots__ = ("change", "seen", "writer")

    def __init__(self, seen: int, writer: DirectWriter | None) -> None:
        self.seen = seen
        self.writer = writer
        self.change: asyncio.Future[None] = asyncio.get_running_loop().create_future()


class _Pieces:
    """Text and reasoning in pieces, as UTF-8 in one buffer. A string per token would take far more memory.

    `_turns` holds the indices of the pieces at which text and reasoning alternate. Text comes first.
    """

    def __init__(self) -> None:
        self._text = bytearray()
        self._ends = array("I")
        self._turns = array("I")

    def add(self, text: str, *, is_thought: bool) -> None:
        """Append a piece."""
        if len(self._turns) % 2 != is_thought:
            self._turns.append(len(self._ends))
        self._text += text.encode()
        self._ends.append(len(self._text))

    def is_thought(self, at: int) -> bool:
        """Return whether the piece at index `at` is reasoning."""
        return bisect_right(self._turns, at) % 2 == 1

    def of(self, first: int, last: int, *, thoughts: bool) -> str:
        """Join the pieces from index `first` to before `last` that are reasoning, or those that are text."""
        if not self._turns:
            return "" if thoughts else self._between(first, last)
        spans = list(pairwise((0, *self._turns, last)))[thoughts::2]
        return "".join(self._between(max(first, begin), min(last, end)) for begin, end in spans)

    def _between(self, first: int, last: int) -> str:
        if first >= last:
            return ""
        return self._text[self._ends[first - 1] if first else 0 : self._ends[last - 1]].decode()


def opening_event(conversation: Conversation, question: Message, answer: Message) -> OpeningRecords:
    """Return the data of event 1: the records that the turn created."""
    return {
        "conversation": conversation_body(conversation),
        "user_message": message_body(question),
        "message": message_body(answer),
    }


def is_number(text: str) -> bool:
    """Return whether `text` is a number that an event may have."""
    return text.isascii() and text.isdigit() and len(text) <= MAX_DIGITS
