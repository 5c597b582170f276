"""The numbered events of one run, and any number of cursors on them.

Event 1 opens the run, each delta is one more, the last one ends it. The log keeps the text of every delta and nothing
per cursor, so a follower that reads slowly costs nobody anything: when it comes back, what it missed is sent as one
event under the last number. Nothing here touches a socket or the engine.
"""

import asyncio
from collections.abc import AsyncGenerator
from typing import Any

from app.records import Message
from app.sse import event_frame, farewell_frame

EPOCH = 0
"""Second part of an event's id; it would change if a run were continued with other content under the same numbers."""


class RunLog:
    """Written by the run's task, read by cursors, all on one event loop.

    Invariant: event n + 1 (n >= 1) is the delta `_deltas[n - 1]`, unless it is the closing event.
    """

    def __init__(self, run_id: str, message: Message, opening: dict[str, Any]) -> None:
        """message: the answer, in progress. opening: the data of event 1."""
        self.run_id = run_id
        self._message = message
        self._opening = opening
        self._deltas: list[str] = []
        self._closing: tuple[str, dict[str, Any]] | None = None
        self._interrupted = False
        self._changed = asyncio.Event()
        self._newest_frame: tuple[int, bytes] = (0, b"")

    @property
    def last_event(self) -> int:
        """The number of the newest event."""
        return self._last_delta + (self._closing is not None)

    @property
    def _last_delta(self) -> int:
        return 1 + len(self._deltas)

    @property
    def is_closed(self) -> bool:
        """Whether the event that ends the run is written."""
        return self._closing is not None

    @property
    def text(self) -> str:
        """The answer so far."""
        return "".join(self._deltas)

    def append(self, text: str) -> None:
        """One more delta."""
        self._deltas.append(text)
        self._wake()

    def close(self, kind: str, data: dict[str, Any]) -> None:
        """The event that ends the run: "done" or "error"."""
        self._closing = (kind, data)
        self._wake()

    def interrupt(self) -> None:
        """The server stops before the run has ended: followers get a farewell, and may come back later."""
        self._interrupted = True
        self._wake()

    async def follow(self, after: int | None) -> AsyncGenerator[bytes, None]:
        """Frames of all events after number `after`, as they come; None (or a number not reached yet) begins with a
        snapshot of the text so far."""
        if after is None or after > self.last_event:
            seen = self._last_delta
            yield self._frame("snapshot", {"message": {**self._message.to_json(), "content": self.text}}, seen)
        else:
            seen = after
        while True:
            changed = self._changed
            if seen == 0:
                seen = 1
                yield self._frame("run", self._opening, seen)
            elif seen < self._last_delta:
                seen, frame = self._delta_after(seen)
                yield frame
            elif self._closing is not None:
                if seen <= self._last_delta:
                    yield self._frame(*self._closing, self.last_event)
                return
            elif self._interrupted:
                yield farewell_frame()
                return
            else:
                await changed.wait()

    def _delta_after(self, seen: int) -> tuple[int, bytes]:
        """Everything after `seen` as one event. The common case, one new delta, is encoded once for all cursors."""
        last = self._last_delta
        if seen == last - 1:
            if self._newest_frame[0] != last:
                self._newest_frame = (last, self._frame("delta", {"text": self._deltas[-1]}, last))
            return self._newest_frame
        return last, self._frame("delta", {"text": "".join(self._deltas[seen - 1 :])}, last)

    def _frame(self, kind: str, data: dict[str, Any], number: int) -> bytes:
        numbered = {"sequence_number": number, "run_id": self.run_id, **data}
        return event_frame(kind, numbered, f"{self.run_id}:{EPOCH}.{number}")

    def _wake(self) -> None:
        # Each waiting cursor holds the event that it saw before it looked, so no change can be missed.
        self._changed.set()
        self._changed = asyncio.Event()


def parse_event_id(text: str, run_id: str) -> int | None:
    """The number in "<run_id>:<epoch>.<n>"; None if it is of another run or epoch, so that a snapshot is due."""
    prefix, _, number = text.rpartition(".")
    if prefix != f"{run_id}:{EPOCH}" or not number.isascii() or not number.isdigit() or len(number) > 15:
        return None
    return int(number)
