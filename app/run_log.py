"""The numbered events of one run, and any number of cursors on them.

Event 1 opens the run. A delta's number is one more than the tokens that the answer has with it, so that it says the
same however the deltas were cut, also after another process went on with the run. The last event ends it. The log keeps
the text of every delta and nothing per cursor, so a follower that reads slowly costs nobody anything: when it comes
back, what it missed is sent as one event under the last number. Nothing here touches a socket or the engine.
"""

import asyncio
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import AsyncGenerator, Sequence
from typing import Any

from app.deltas import Delta
from app.records import Conversation, Message
from app.sse import event_frame, farewell_frame

OPENING = 1
MAX_DIGITS = 15


class RunLog:
    """Written by the run's task, read by cursors, all on one event loop.

    Invariant: `_numbers` grow, and `_numbers[i]` is that of `_deltas[i]`.
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
        self._opening = opening
        self._epoch = epoch
        self._numbers = array("q", (delta.number for delta in deltas))
        self._deltas = list(deltas)
        self._inherited_until = self._last_delta
        self._closing: tuple[str, dict[str, Any]] | None = None
        self._last_number = 0
        self._interrupted = False
        self._changed = asyncio.Event()
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
    def text(self) -> str:
        """The answer so far."""
        return "".join(delta.text for delta in self._deltas if not delta.is_thought)

    @property
    def reasoning(self) -> str | None:
        """The thoughts so far; None if there are none."""
        return "".join(delta.text for delta in self._deltas if delta.is_thought) or None

    def deltas_from(self, index: int) -> list[Delta]:
        """All deltas but the first `index`."""
        return self._deltas[index:]

    def open(self, opening: dict[str, Any]) -> None:
        """The data of event 1, where it was not known when the log was made; before anybody follows."""
        self._opening = opening

    def append(self, text: str, num_tokens: int, *, is_thought: bool = False) -> None:
        """One more delta, with which the answer has `num_tokens` tokens. (Text that was held back comes without.)"""
        delta = Delta(max(num_tokens, self._last_delta) + 1, text, is_thought)
        self._numbers.append(delta.number)
        self._deltas.append(delta)
        self._wake()

    def close(self, kind: str, data: dict[str, Any], num_tokens: int) -> None:
        """The event that ends the run, "done" or "error", when the answer has `num_tokens` tokens."""
        self._closing = (kind, data)
        self._last_number = max(num_tokens + 1, self._last_delta) + 1
        self._wake()

    def interrupt(self) -> None:
        """The server stops before the run has ended: followers get a farewell, and may come back later."""
        self._interrupted = True
        self._wake()

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
        """All deltas after number `after`, as they come. Ends when nothing more comes."""
        index = bisect_right(self._numbers, after)
        while True:
            changed = self._changed
            if index < len(self._deltas):
                fresh = self.deltas_from(index)
                index += len(fresh)
                yield fresh
            elif self._closing is not None or self._interrupted:
                return
            else:
                await changed.wait()

    async def follow(self, after: int | None) -> AsyncGenerator[bytes, None]:
        """Frames of all events after number `after`, as they come; None (or no event's number) begins with a snapshot
        of the text so far."""
        if after is None or not self._is_event(after):
            seen = self._last_delta
            so_far = {"content": self.text, "reasoning": self.reasoning}
            yield self._frame("snapshot", {"message": {**self._message.to_json(), **so_far}}, seen)
        else:
            seen = after
        while True:
            changed = self._changed
            if seen == 0:
                seen = OPENING
                yield self._frame("run", self._opening, seen)
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
                await changed.wait()

    def _is_event(self, number: int) -> bool:
        if number <= OPENING or number == self.last_event:
            return True
        index = bisect_left(self._numbers, number)
        return index < len(self._numbers) and self._numbers[index] == number

    def _delta_after(self, seen: int) -> tuple[int, bytes]:
        """Everything after `seen` as one event. The common case, one new delta, is encoded once for all cursors."""
        first, last = bisect_right(self._numbers, seen), self._last_delta
        if first == len(self._deltas) - 1:
            if self._newest_frame[0] != last:
                self._newest_frame = (last, self._frame("delta", _delta_json(self._deltas[-1:]), last))
            return self._newest_frame
        return last, self._frame("delta", _delta_json(self._deltas[first:]), last)

    def _frame(self, kind: str, data: dict[str, Any], number: int) -> bytes:
        numbered = {"sequence_number": number, "run_id": self.run_id, **data}
        return event_frame(kind, numbered, f"{self.run_id}:{self._epoch}.{number}")

    def _wake(self) -> None:
        # Each waiting cursor holds the event that it saw before it looked, so no change can be missed.
        self._changed.set()
        self._changed = asyncio.Event()


def _delta_json(deltas: Sequence[Delta]) -> dict[str, Any]:
    """Thoughts have a field of their own, where there are any."""
    text = "".join(delta.text for delta in deltas if not delta.is_thought)
    reasoning = "".join(delta.text for delta in deltas if delta.is_thought)
    return {"text": text, "reasoning": reasoning} if reasoning else {"text": text}


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
