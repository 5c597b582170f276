"""How fast the way to a tier is, learned from what went over it."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from math import ceil, exp
from typing import Final

_NEWEST: Final = 0.3
_FADE: Final = 0.7
_MEMORY_SECONDS: Final = 1.0
_LEAST_BYTES: Final = 1 << 16
"""Of an answer that tells something about bytes per second: a miss is over at once."""


@dataclass(frozen=True, slots=True)
class LinkSpeed:
    """answer_seconds: from a question to the first byte of its answer. bytes_per_second: of what follows, over all
    connections together. None: not known yet."""

    answer_seconds: float | None = None
    bytes_per_second: float | None = None

    def seconds_for(self, nbytes: int, questions: int) -> float | None:
        """How long `questions` questions, one after the other, and `nbytes` of answers take."""
        if self.answer_seconds is None or not self.bytes_per_second:
            return None
        return questions * self.answer_seconds + nbytes / self.bytes_per_second

    def messages_under_way(self, nbytes: int) -> int | None:
        """How many answers of so many bytes to have asked for at any time, so that the link is never idle."""
        if self.answer_seconds is None or not self.bytes_per_second:
            return None
        return 1 + ceil(self.answer_seconds * self.bytes_per_second / nbytes)


@dataclass(slots=True, eq=False)
class _Reception:
    """What comes in on one connection. counted: bytes of it that were counted."""

    count: Callable[[], int]
    counted: int


class LinkMeter:
    """Thread-safe. Averages in which the newest counts most: a link that changes is known after a few exchanges, and
    after one if the last was long ago."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._answer_seconds: float | None = None
        self._receptions: list[_Reception] = []
        self._counted_at = 0.0
        self._new_nbytes = 0
        self._new_seconds = 0.0
        self._nbytes = 0.0
        self._seconds = 0.0
        self._learned_at = 0.0

    @property
    def speed(self) -> LinkSpeed:
        """What is known now."""
        with self._lock:
            return LinkSpeed(self._answer_seconds, self._nbytes / self._seconds if self._seconds else None)

    def answered(self, seconds: float) -> None:
        """An answer began that long after its question."""
        with self._lock:
            before = self._answer_seconds
            self._answer_seconds = seconds if before is None else (1 - _NEWEST) * before + _NEWEST * seconds

    @contextmanager
    def receiving(self, count: Callable[[], int]) -> Iterator[None]:
        """Bytes come in within this context; `count` tells how many came on this connection so far.

        Time in which several connections receive counts once: together they are the link.
        """
        reception = _Reception(count, count())
        with self._lock:
            self._count()
            self._receptions.append(reception)
        try:
            yield
        finally:
            with self._lock:
                self._count()
                self._receptions.remove(reception)
                self._learn()

    def learn(self) -> None:
        """From what came in so far, where it goes on coming."""
        with self._lock:
            self._count()
            self._learn()

    def _count(self) -> None:
        now = self._clock()
        if self._receptions:
            self._new_seconds += now - self._counted_at
        self._counted_at = now
        for reception in self._receptions:
            nbytes = reception.count()
            self._new_nbytes += nbytes - reception.counted
            reception.counted = nbytes

    def _learn(self) -> None:
        if self._new_nbytes >= _LEAST_BYTES:
            before = self._counted_at - self._new_seconds - self._learned_at
            weight = _FADE * exp(-max(0.0, before) / _MEMORY_SECONDS)
            self._nbytes = weight * self._nbytes + self._new_nbytes
            self._seconds = weight * self._seconds + self._new_seconds
            self._learned_at = self._counted_at
        if self._new_nbytes >= _LEAST_BYTES or not self._receptions:
            self._new_nbytes, self._new_seconds = 0, 0.0
