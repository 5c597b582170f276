"""The numbered events of one run, and any number of cursors on them.

Event 1 opens the run. A delta's number is one more than the tokens that the answer has with it, so that it says the
same however the deltas were cut, also after another process went on with the run. The last event ends it. The log keeps
the text of every delta and nothing per cursor, so a follower that reads slowly costs nobody anything: when it comes
back, what it missed is sent as one event under the last number. Nothing here touches a socket or the engine.
"""

import asyncio
import sys
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import AsyncGenerator, Sequence
from itertools import pairwise
from typing import Any

from app.deltas import Delta
from app.direct_writer import DirectWriter
from app.records import Conversation, Message
from app.sse import encode_json, event_frame, farewell_frame

OPENING = 1
MAX_DIGITS = 15

MOST_NEWS = 256
"""Deltas that a cursor gets at once."""


class RunLog:
    """Written as the engine speaks, read by cursors, all on one event loop.

    Invariant: `_numbers` grow, and the event with `_numbers[i]` says piece i of `_said`.
    """

    def __init__(
        self,
        run_id: str,
        message: Message,
        opening: dict[str, Any],
        *,
        epoch: int = 0,
        deltas: Sequence[Delta] = (),
    ) -> None:
        """message: the answer, in progress. opening: the data of event 1.

        epoch: how many processes worked on the run before; deltas: what they said.
        """
        self.run_id = run_id
        self._message = message
        self._epoch = epoch
        # As bytes: the objects are ten times as large.
        self._opening_frame = self._frame("run", opening, OPENING)
        self._numbers = array("I")
        self._said = _Pieces()
        for delta in deltas:
            self._numbers.append(delta.number)
            self._said.add(delta.text, is_thought=delta.is_thought)
        self._inherited_until = self._last_delta
        self._closing: tuple[str, dict[str, Any]] | None = None
        self._last_number = 0
        self._interrupted = False
        self._waiting: list[_Follower] = []
        self._newest_frame: tuple[int, bytes] = (0, b"")

    @property
    def last_event(self) -> int:
        """The number of the newest event."""
        return self._last_number if self._closing is not None else self._last_delta

    @property
    def _last_delta(self) -> int:
        return self._numbers[-1] if self._numbers else OPENING

    @property
    def is_closed(self) -> bool:
        """Whether the event that ends the run is written."""
        return self._closing is not None

    @property
    def refusal(self) -> dict[str, Any] | None:
        """The error with which the run ended; None while it is open, and if it ended with an answer."""
        return self._closing[1].get("error") if self._closing is not None else None

    @property
    def text(self) -> str:
        """The answer so far."""
        return self._said.of(0, len(self._numbers), thoughts=False)

    @property
    def reasoning(self) -> str | None:
        """The thoughts so far; None if there are none."""
        return self._said.of(0, len(self._numbers), thoughts=True) or None

    def deltas_from(self, index: int, most: int = sys.maxsize) -> list[Delta]:
        """Return up to `most` deltas behind the first `index`."""
        return [self._delta_at(at) for at in range(index, min(len(self._numbers), index + most))]

    def open(self, opening: dict[str, Any]) -> None:
        """The data of event 1, where it was not known when the log was made; before anybody follows."""
        self._opening_frame = self._frame("run", opening, OPENING)

    def append(self, text: str, num_tokens: int, *, is_thought: bool = False) -> None:
        """One more delta, with which the answer has `num_tokens` tokens. (Text that was held back comes without.)"""
        self._numbers.append(max(num_tokens, self._last_delta) + 1)
        self._said.add(text, is_thought=is_thought)
        if self._waiting:
            self._tell()

    def close(self, kind: str, data: dict[str, Any], num_tokens: int) -> None:
        """The event that ends the run, "done" or "error", when the answer has `num_tokens` tokens."""
        self._closing = (kind, data)
        self._last_number = max(num_tokens + 1, self._last_delta) + 1
        self._tell()

    def interrupt(self) -> None:
        """The server stops before the run has ended: followers get a farewell, and may come back later."""
        self._interrupted = True
        self._tell()

    def cursor(self, event_id: str) -> int | None:
        """The number in "<run_id>:<epoch>.<n>"; None if that says nothing here, so that a snapshot is due.

        What another process said after it had last been stored may be said again in other words.
        """
        name, _, number = event_id.rpartition(".")
        prefix, _, epoch = name.rpartition(":")
        if prefix != self.run_id or not (is_number(epoch) and is_number(number)):
            return None
        is_known = int(epoch) == self._epoch or (int(epoch) < self._epoch and int(number) <= self._inherited_until)
        return int(number) if is_known else None

    async def news(self, after: int) -> AsyncGenerator[list[Delta], None]:
        """Yield all deltas after number `after`, as they come, MOST_NEWS at a time. End when nothing more comes."""
        index = bisect_right(self._numbers, after)
        while True:
            if index < len(self._numbers):
                fresh = self.deltas_from(index, MOST_NEWS)
                index += len(fresh)
                yield fresh
                if len(fresh) == MOST_NEWS:
                    # A log may be long, and a connection may take all of it at once.
                    await asyncio.sleep(0)
            elif self._closing is not None or self._interrupted:
                return
            else:
                await self._change()

    async def follow(self, after: int | None, writer: DirectWriter | None = None) -> AsyncGenerator[bytes, None]:
        """Frames of all events after number `after`, as they come; None (or no event's number) begins with a snapshot
        of the text so far. Deltas that come while this waits, and `writer` is ready, are not yielded but written."""
        if after is None or not self._is_event(after):
            seen = self._last_delta
            so_far = {"content": self.text, "reasoning": self.reasoning}
            yield self._frame("snapshot", {"message": {**self._message.to_json(), **so_far}}, seen)
        else:
            seen = after
        while True:
            if seen == 0:
                seen = OPENING
                yield self._opening_frame
            elif seen < self._last_delta:
                seen, frame = self._delta_after(seen)
                yield frame
            elif self._closing is not None:
                if seen < self._last_number:
                    yield self._frame(*self._closing, self._last_number)
                return
            elif self._interrupted:
                yield farewell_frame()
                return
            else:
                seen = await self._change(seen, writer)

    def _is_event(self, number: int) -> bool:
        if number <= OPENING or number == self.last_event:
            return True
        index = bisect_left(self._numbers, number)
        return index < len(self._numbers) and self._numbers[index] == number

    def _delta_after(self, seen: int) -> tuple[int, bytes]:
        """Everything after `seen` as one event. The common case, one new delta, is encoded once for all cursors."""
        first, last = bisect_right(self._numbers, seen), self._last_delta
        if first < len(self._numbers) - 1:
            return last, self._delta(first, last)
        if self._newest_frame[0] != last:
            self._newest_frame = (last, self._delta(first, last))
        return self._newest_frame

    def _delta(self, first: int, number: int) -> bytes:
        """Thoughts have a field of their own, where there are any."""
        end = len(self._numbers)
        said = f'"text":{encode_json(self._said.of(first, end, thoughts=False))}'
        if reasoning := self._said.of(first, end, thoughts=True):
            said += f',"reasoning":{encode_json(reasoning)}'
        # Written out, for this is done for every token of every run.
        data = f'{{"sequence_number":{number},"run_id":"{self.run_id}",{said}}}'
        return event_frame("delta", data, self._event_id(number))

    def _delta_at(self, at: int) -> Delta:
        is_thought = self._said.is_thought(at)
        return Delta(self._numbers[at], self._said.of(at, at + 1, thoughts=is_thought), is_thought)

    def _frame(self, kind: str, data: dict[str, Any], number: int) -> bytes:
        numbered = {"sequence_number": number, "run_id": self.run_id, **data}
        return event_frame(kind, encode_json(numbered), self._event_id(number))

    def _event_id(self, number: int) -> str:
        return f"{self.run_id}:{self._epoch}.{number}"

    async def _change(self, seen: int = 0, writer: DirectWriter | None = None) -> int:
        """Wait for what cannot be written to `writer`. Returns the last number that its reader has then: `seen`, or
        more. Who calls this has looked since it last awaited anything, so nothing can be missed."""
        follower = _Follower(seen, writer)
        self._waiting.append(follower)
        await follower.change
        return follower.seen

    def _tell(self) -> None:
        """There is news. What is a delta goes straight to whoever's connection takes it; all others wake."""
        is_delta = self._closing is None and not self._interrupted
        waiting, self._waiting = self._waiting, []
        for follower in waiting:
            # It is done if its cursor was cancelled.
            if follower.change.done():
                continue
            if is_delta and follower.writer is not None and follower.writer.ready:
                follower.seen, frame = self._delta_after(follower.seen)
                follower.writer.write(frame)
                self._waiting.append(follower)
            else:
                follower.change.set_result(None)


class _Follower:
    """Somebody who has seen all events up to number `seen` and waits for the next."""

    __slots__ = ("change", "seen", "writer")

    def __init__(self, seen: int, writer: DirectWriter | None) -> None:
        self.seen = seen
        self.writer = writer
        self.change: asyncio.Future[None] = asyncio.get_running_loop().create_future()


class _Pieces:
    """Pieces of text and of thoughts, end to end: UTF-8, where each ends, and the numbers of those with which one
    follows the other, text being first. (A string for each token would be four times as large as what it says.)"""

    def __init__(self) -> None:
        self._said = bytearray()
        self._ends = array("I")
        self._turns = array("I")

    def add(self, text: str, *, is_thought: bool) -> None:
        """One more."""
        if len(self._turns) % 2 != is_thought:
            self._turns.append(len(self._ends))
        self._said += text.encode()
        self._ends.append(len(self._said))

    def is_thought(self, at: int) -> bool:
        """Of the one with this index."""
        return bisect_right(self._turns, at) % 2 == 1

    def of(self, first: int, last: int, *, thoughts: bool) -> str:
        """Those from index `first` to before `last` that are thoughts, or those that are none."""
        if not self._turns:
            return "" if thoughts else self._between(first, last)
        spans = list(pairwise((0, *self._turns, last)))[thoughts::2]
        return "".join(self._between(max(first, begin), min(last, end)) for begin, end in spans)

    def _between(self, first: int, last: int) -> str:
        if first >= last:
            return ""
        return self._said[self._ends[first - 1] if first else 0 : self._ends[last - 1]].decode()


def opening_event(conversation: Conversation, question: Message, answer: Message) -> dict[str, Any]:
    """The data of event 1: what the turn has made."""
    return {
        "conversation": conversation.to_json(),
        "user_message": question.to_json(),
        "message": answer.to_json(),
    }


def is_number(text: str) -> bool:
    """Whether it is a number that an event may have."""
    return text.isascii() and text.isdigit() and len(text) <= MAX_DIGITS
