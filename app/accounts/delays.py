"""Delays after failures: some are free, and each further one doubles the time until the next attempt."""

from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

MAX_DELAY_SECONDS: Final = 900
MAX_KEYS: Final = 16_384
"""Keys that are remembered before their delays begin, and again as many after that. The oldest is forgotten first."""


@dataclass(frozen=True, slots=True)
class Failures:
    """The failures of a key. failed_at: seconds on the clock."""

    count: int
    failed_at: float


class Delays:
    """Failures by key. A key with a delay is not forgotten for keys without one, however many of those there are."""

    def __init__(self, free: int, clock: Callable[[], float]) -> None:
        """Begin without failures.

        free: failures of a key before its delays begin.
        """
        self._free = free
        self._clock = clock
        self._counted: OrderedDict[str, Failures] = OrderedDict()
        self._delayed: OrderedDict[str, Failures] = OrderedDict()

    def of(self, key: str) -> Failures | None:
        """Return the failures of a key; None without any."""
        return self._counted.get(key) or self._delayed.get(key)

    def wait_of(self, key: str) -> float:
        """Return the seconds until the next attempt with a key; 0 or less if it need not wait."""
        failures = self.of(key)
        if failures is None or failures.count < self._free:
            return 0.0
        delay = min(MAX_DELAY_SECONDS, 2.0 ** min(20, failures.count - self._free + 1))
        return failures.failed_at + delay - self._clock()

    def add(self, key: str) -> Failures:
        """Count a failure of a key, and return its failures."""
        former = self.of(key)
        failures = Failures(former.count + 1 if former is not None else 1, self._clock())
        self.set(key, failures)
        return failures

    def set(self, key: str, failures: Failures | None) -> None:
        """Replace the failures of a key. None forgets them."""
        self._counted.pop(key, None)
        self._delayed.pop(key, None)
        if failures is None or failures.count <= 0:
            return
        kept = self._counted if failures.count < self._free else self._delayed
        kept[key] = failures
        if len(kept) > MAX_KEYS:
            kept.popitem(last=False)
