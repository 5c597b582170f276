"""Timing of the engine's activities for `ebb profile`: spans on tracks, reported to a `Trace`.

There is no global trace. Each component receives one as an argument, which by default keeps nothing.
"""

import threading
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field
from enum import Enum
from typing import Final, Protocol

Fact = int | float | str


class Track(Enum):
    """Row of the trace to which a span belongs. Values are display names, in display order."""

    SCHEDULER = "scheduler"
    WORKER = "worker: step preparation"
    MODEL = "model"
    RESULTS = "worker: results"
    COPIES = "tiers: copies"
    RESTORES = "tiers: restores"
    OUTPUT = "output processing"
    LOOP = "event loop"
    LATENESS = "event loop: lateness"


@dataclass(frozen=True, slots=True)
class Span:
    """An activity from `started` to `ended`, in seconds on time.perf_counter.

    Spans of a track are nested or disjoint, except restores, which may overlap.
    """

    track: Track
    name: str
    started: float
    ended: float
    facts: Mapping[str, Fact] = field(default_factory=dict)

    @property
    def seconds(self) -> float:
        """Duration of the span."""
        return self.ended - self.started


class Trace(Protocol):
    """Receiver of spans."""

    def add(self, track: Track, name: str, started: float, ended: float, **facts: Fact) -> None:
        """Add a span that has ended."""

    def span(self, track: Track, name: str) -> AbstractContextManager[None]:
        """Add a span that lasts as long as the context."""


class NoTrace:
    """Trace that keeps nothing."""

    def add(self, track: Track, name: str, started: float, ended: float, **facts: Fact) -> None:
        """Discard the span."""

    def span(self, track: Track, name: str) -> AbstractContextManager[None]:  # noqa: ARG002
        """Return a context that measures nothing."""
        return _NOTHING


_NOTHING: Final = nullcontext()
NO_TRACE: Final = NoTrace()


class Recorder:
    """Trace that keeps every span in memory. Thread-safe."""

    def __init__(self) -> None:
        self._spans: list[Span] = []
        self._counts: Counter[tuple[Track, str]] = Counter()
        self._lock = threading.Lock()

    def add(self, track: Track, name: str, started: float, ended: float, **facts: Fact) -> None:
        """See Trace."""
        with self._lock:
            self._spans.append(Span(track, name, started, ended, facts))
            self._counts[track, name] += 1

    @contextmanager
    def span(self, track: Track, name: str) -> Iterator[None]:
        """See Trace. A span that ends with an exception is kept too."""
        started = time.perf_counter()
        try:
            yield
        finally:
            self.add(track, name, started, time.perf_counter())

    def count(self, track: Track, name: str) -> int:
        """Return the number of spans of that name since the last `take`."""
        with self._lock:
            return self._counts[track, name]

    def take(self) -> list[Span]:
        """Return all spans since the last call, in the order in which they ended."""
        with self._lock:
            spans, self._spans = self._spans, []
            self._counts.clear()
        return spans
