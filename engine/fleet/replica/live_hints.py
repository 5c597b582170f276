"""Prefetch hints that have not lapsed, each with a value. Clients may never take back a hint."""

import time
from collections.abc import Callable
from typing import Generic, TypeVar

from engine.offload.prefetch_hints import LAPSE_SECONDS

T = TypeVar("T")


class LiveHints(Generic[T]):
    """Names of hints from the oldest to the newest. A hint lapses `LAPSE_SECONDS` after it was last added."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._hints: dict[str, tuple[float, T]] = {}

    def __len__(self) -> int:
        return len(self._hints)

    def add(self, name: str, value: T) -> None:
        """Add or renew a hint, and forget those that have lapsed."""
        now = self._clock()
        self._hints.pop(name, None)
        self._hints[name] = now, value
        while self._hints[oldest := next(iter(self._hints))][0] < now - LAPSE_SECONDS:
            del self._hints[oldest]

    def get(self, name: str) -> T | None:
        """Return the value of a hint; None if there is none."""
        hint = self._hints.get(name)
        return hint[1] if hint is not None else None

    def pop(self, name: str) -> T | None:
        """Remove a hint and return its value; None if there is none."""
        hint = self._hints.pop(name, None)
        return hint[1] if hint is not None else None

    def names(self) -> list[str]:
        """List the names."""
        return list(self._hints)

    def drop(self, value: T) -> None:
        """Remove all hints with this value."""
        self._hints = {name: hint for name, hint in self._hints.items() if hint[1] is not value}
