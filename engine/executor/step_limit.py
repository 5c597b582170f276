"""Time limit of a step, after which its workers count as hung."""

import time
from collections import deque
from collections.abc import Callable
from typing import Final

LEAST_SECONDS: Final = 300.0
"""Smallest limit.

The first steps on a device compile and connect for minutes, and a prompt chunk on a CPU may take a minute.
"""
TIMES_SLOWEST: Final = 20.0
"""Limit as a multiple of the slowest step so far. The size of a step is bounded, so none takes that much longer."""


class StepLimit:
    """Time limit of the steps since the workers were started. The steps run one after another.

    `on_ended` must be called on the thread that reads the results; everything else is safe on any thread.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._sent: deque[float] = deque()
        self._last_ended = clock()
        self._slowest = 0.0

    @property
    def seconds(self) -> float:
        """Limit of one step in seconds."""
        return max(LEAST_SECONDS, TIMES_SLOWEST * self._slowest)

    def on_sent(self) -> None:
        """Record that a step was sent."""
        self._sent.append(self._clock())

    def on_ended(self) -> None:
        """Record that the oldest step in flight has ended on all ranks."""
        began = max(self._sent.popleft(), self._last_ended)
        self._last_ended = self._clock()
        self._slowest = max(self._slowest, self._last_ended - began)

    @property
    def is_passed(self) -> bool:
        """Whether a step in flight has exceeded the limit."""
        return bool(self._sent) and self._clock() >= self.passes_at()

    def passes_at(self) -> float:
        """Return the time on the clock at which the oldest step in flight exceeds the limit.

        With no step in flight, return the time at which a step that is sent now would exceed it. So a reader that
        sleeps until then need not be woken when a step is sent.
        """
        try:
            began = max(self._sent[0], self._last_ended)
        except IndexError:
            # Another thread may remove the last step at any moment.
            began = self._clock()
        return began + self.seconds
