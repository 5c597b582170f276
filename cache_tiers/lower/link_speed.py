"""Latency and bandwidth of the link to a tier, estimated from its traffic."""

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
"""Fewest bytes from which a bandwidth is estimated: a reply to a miss carries almost none."""


@dataclass(frozen=True, slots=True)
class LinkSpeed:
    """Latency and bandwidth of a link; None where no estimate exists yet.

    answer_seconds: from a request to the first byte of its reply.
    bytes_per_second: of the replies after their first byte, over all connections together.
    """

    answer_seconds: float | None = None
    bytes_per_second: float | None = None

    def seconds_for(self, nbytes: int, questions: int) -> float | None:
        """Estimate the seconds for `questions` sequential round trips and `nbytes` of replies; None if unknown."""
        if self.answer_seconds is None or not self.bytes_per_second:
            return None
        return questions * self.answer_seconds + nbytes / self.bytes_per_second

    def messages_under_way(self, nbytes: int) -> int | None:
        """Return how many replies of `nbytes` must be requested at any time to keep the link busy; None if unknown."""
        if self.answer_seconds is None or not self.bytes_per_second:
            return None
        return 1 + ceil(self.answer_seconds * self.bytes_per_second / nbytes)


@dataclass(slots=True, eq=False)
class _Reception:
    """Incoming bytes of one connection.

    count: returns the bytes received on the connection so far.
    counted: bytes of these that have entered the estimate.
    """

    count: Callable[[], int]
    counted: int


class LinkMeter:
    """Recency-weighted averages of a link's latency and bandwidth. Thread-safe.

    A change of the link is noticed within a few exchanges, or after one if the previous exchange was long ago.
    """

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
        """Current estimate."""
        with self._lock:
            return LinkSpeed(self._answer_seconds, self._nbytes / self._seconds if self._seconds else None)

    def on_answer(self, seconds: float) -> None:
        """Record that a reply began `seconds` after its request."""
        with self._lock:
            before = self._answer_seconds
            self._answer_seconds = seconds if before is None else (1 - _NEWEST) * before + _NEWEST * seconds

    @contextmanager
    def receiving(self, count: Callable[[], int]) -> Iterator[None]:
        """Measure the bytes that arrive within this context. `count` returns the connection's bytes so far.

        Time in which several connections receive counts once, since together they are the link.
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
        """Update the estimate from a transfer that is still in progress."""
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
