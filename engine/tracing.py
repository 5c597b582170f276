"""What the engine did when, for `ebb profile`: spans on tracks, kept by whoever is handed down as `Trace`.

Nobody looks anything up: the trace is an argument, and by default one that keeps nothing.
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
    """Where a span belongs, by the name that people see; in the order in which they see them."""

    SCHEDULER = "scheduler"
    WORKER = "worker: prepares steps"
    MODEL = "model"
    RESULTS = "worker: results"
    COPIES = "tiers: copies"
    RESTORES = "tiers: restores"
    OUTPUT = "output processing"
    LOOP = "event loop"
    LATENESS = "event loop: lateness"


@dataclass(frozen=True, slots=True)
class Span:
    """Something that took from `started` to `ended`, in seconds on time.perf_counter.

    Spans of a track lie inside or beside each other, but for restores, which may overlap.
    """

    track: Track
    name: str
    started: float
    ended: float
    facts: Mapping[str, Fact] = field(default_factory=dict)

    @property
    def seconds(self) -> float:
        """How long it took."""
        return self.ended - self.started


class Trace(Protocol):
    """Whoever is told."""

    def add(self, track: Track, name: str, started: float, ended: float, **facts: Fact) -> None:
        """A span that has ended."""

    def span(self, track: Track, name: str) -> AbstractContextManager[None]:
        """A span that lasts as long as the context."""


class NoTrace:
    """Keeps nothing."""

    def add(self, track: Track, name: str, started: float, ended: float, **facts: Fact) -> None:
        """Forget it."""

    def span(self, track: Track, name: str) -> AbstractContextManager[None]:  # noqa: ARG002
        """Measure nothing."""
        return _NOTHING


_NOTHING: Final = nullcontext()
NO_TRACE: Final = NoTrace()


class Recorder:
    """Keeps every span in memory; may be told from any thread."""

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
        """How many spans of that name have come since the last `take`."""
        with self._lock:
            return self._counts[track, name]

    def take(self) -> list[Span]:
        """All spans since the last call, in the order in which they ended."""
        with self._lock:
            spans, self._spans = self._spans, []
            self._counts.clear()
        return spans
