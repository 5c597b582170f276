"""Whether it is worth talking to Redis right now.

    CLOSED ──trip──> OPEN ──its time is over──> HALF_OPEN ──probe answered──> CLOSED
                      ^                             │
                      └────────probe failed─────────┘   (each time twice the wait, up to `longest_wait`)

While it is not closed every operation is refused at once; the probe is the watcher's, so no request pays for it.
"""

import logging
import threading
import time
from enum import Enum

logger = logging.getLogger(__name__)


class BreakerState(Enum):
    """See the module's picture."""

    CLOSED = "closed"
    OPEN = "open"
    HALF_OPEN = "half-open"


class CircuitBreaker:
    """Thread-safe. Begins half-open: whoever makes it makes the first probe. `name`: the server, for the log."""

    def __init__(self, name: str, *, first_wait: float = 0.1, longest_wait: float = 1.0) -> None:
        self._first_wait = first_wait
        self._longest_wait = longest_wait
        self._condition = threading.Condition()
        self._name = name
        self._state = BreakerState.HALF_OPEN
        self._reason = "not connected yet"
        self._told: BreakerState | None = None
        self._wait = first_wait
        self._probe_at = time.monotonic()
        self._trips = 0

    @property
    def closed(self) -> bool:
        """Whether operations may try."""
        return self._state is BreakerState.CLOSED

    @property
    def trips(self) -> int:
        """How often it opened from closed."""
        return self._trips

    @property
    def current_wait(self) -> float:
        """Seconds between the last fault and the probe after it."""
        return self._wait

    def describe(self) -> str:
        """ "ok", or in words why Redis is left alone."""
        with self._condition:
            return "ok" if self._state is BreakerState.CLOSED else self._reason

    @property
    def retry_seconds(self) -> float:
        """Until the next probe; 0 while closed, and while one is under way."""
        with self._condition:
            is_open = self._state is BreakerState.OPEN
            return max(0.0, self._probe_at - time.monotonic()) if is_open else 0.0

    def trip(self, reason: str) -> None:
        """An operation or a probe failed."""
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
            self._tell(logging.WARNING, "%s (%s); going on without it", reason)
            self._condition.notify_all()

    def close(self) -> None:
        """A probe was answered."""
        with self._condition:
            self._state = BreakerState.CLOSED
            self._wait = self._first_wait
            self._tell(logging.INFO, "%s at %s", "Redis answers")
            self._condition.notify_all()

    def wait_for_probe(self, interval: float) -> None:
        """Block until a probe is due: `interval` seconds while closed, at the end of the wait while open.

        Returns early when `wake` is called.
        """
        with self._condition:
            if self._state is BreakerState.CLOSED:
                self._condition.wait(interval)
            if self._state is not BreakerState.CLOSED:
                self._condition.wait(max(0.0, self._probe_at - time.monotonic()))
                self._state = BreakerState.HALF_OPEN

    def wake(self) -> None:
        """End a running `wait_for_probe`."""
        with self._condition:
            self._probe_at = time.monotonic()
            self._condition.notify_all()

    def _tell(self, level: int, message: str, reason: str) -> None:
        """Log a change once, not every failed probe."""
        if self._told is not self._state:
            self._told = self._state
            logger.log(level, message, reason, self._name)
