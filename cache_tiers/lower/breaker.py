"""Circuit breaker in front of a tier.

    CLOSED ──trip──> OPEN ──the wait is over──> HALF_OPEN ──probe answered──> CLOSED
                      ^                             │
                      └────────probe failed─────────┘   (doubles the wait, up to `longest_wait`)

While the breaker is not closed, every operation is refused at once. The watcher sends the probe, so no request pays
for it.
"""

import logging
import threading
import time
from enum import Enum

logger = logging.getLogger(__name__)


class BreakerState(Enum):
    """States of the diagram in the module's docstring."""

    CLOSED = "closed"
    OPEN = "open"
    HALF_OPEN = "half-open"


class CircuitBreaker:
    """A breaker that starts half-open: its creator sends the first probe. Thread-safe.

    name: the tier, for people.
    place: where it is, for the log.
    first_wait: seconds from the first fault to the probe.
    longest_wait: maximum seconds between probes.
    """

    def __init__(self, name: str, place: str, *, first_wait: float = 0.1, longest_wait: float = 1.0) -> None:
        self._first_wait = first_wait
        self._longest_wait = longest_wait
        self._condition = threading.Condition()
        self._name = name
        self._place = place
        self._state = BreakerState.HALF_OPEN
        self._reason = "not connected yet"
        self._told: BreakerState | None = None
        self._wait = first_wait
        self._probe_at = time.monotonic()
        self._trips = 0

    @property
    def closed(self) -> bool:
        """Whether operations are allowed."""
        return self._state is BreakerState.CLOSED

    @property
    def trips(self) -> int:
        """Number of transitions from closed to open."""
        return self._trips

    @property
    def current_wait(self) -> float:
        """Seconds from the last fault to the next probe."""
        return self._wait

    def describe(self) -> str:
        """Return "ok", or the reason why the tier is not used."""
        with self._condition:
            return "ok" if self._state is BreakerState.CLOSED else self._reason

    @property
    def retry_seconds(self) -> float:
        """Seconds until the next probe; 0 while the breaker is closed or a probe is in flight."""
        with self._condition:
            is_open = self._state is BreakerState.OPEN
            return max(0.0, self._probe_at - time.monotonic()) if is_open else 0.0

    def trip(self, reason: str) -> None:
        """Open the breaker after a failed operation or probe."""
        with self._condition:
            now = time.monotonic()
            if self._state is BreakerState.CLOSED:
                self._trips += 1
            elif self._state is BreakerState.HALF_OPEN:
                self._wait = min(2 * self._wait, self._longest_wait)
            else:
                return
            self._state = BreakerState.OPEN
            self._reason = reason
            self._probe_at = now + self._wait
            self._tell(logging.WARNING, "%s (%s); continuing without %s", reason, self._place, self._name)
            self._condition.notify_all()

    def close(self) -> None:
        """Close the breaker after a successful probe."""
        with self._condition:
            self._state = BreakerState.CLOSED
            self._wait = self._first_wait
            self._tell(logging.INFO, "%s answers at %s", self._name, self._place)
            self._condition.notify_all()

    def wait_for_probe(self, interval: float) -> None:
        """Block until a probe is due: for `interval` seconds while closed, until the end of the wait while open.

        `wake` makes this return early.
        """
        with self._condition:
            if self._state is BreakerState.CLOSED:
                self._condition.wait(interval)
            if self._state is not BreakerState.CLOSED:
                self._condition.wait(max(0.0, self._probe_at - time.monotonic()))
                self._state = BreakerState.HALF_OPEN

    def wake(self) -> None:
        """End a `wait_for_probe` in progress."""
        with self._condition:
            self._probe_at = time.monotonic()
            self._condition.notify_all()

    def _tell(self, level: int, message: str, *words: str) -> None:
        """Log a change of state once, rather than every failed probe."""
        if self._told is not self._state:
            self._told = self._state
            logger.log(level, message, *words)
