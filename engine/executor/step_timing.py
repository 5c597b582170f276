"""Timing of a step: when it is prepared while another one runs, and how long it may take before it counts as hung."""

import time
from collections import deque
from collections.abc import Callable
from typing import Final

from engine.request.scheduler_output import SchedulerOutput

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


LEAD_SHARE = 0.5
LEAST_LEAD_SECONDS = 0.004
MAX_LEAD_SECONDS = 0.012
"""Bounds of the lead.

The model's threads occupy every core, so the loop often wakes up milliseconds after its timer. With a much shorter
lead, many steps are late. A request that arrives within the lead waits for one more step.
"""


class StepTiming:
    """Duration of the last step in seconds, which is the estimate for the next step of the same shape."""

    def __init__(self) -> None:
        self._shape: tuple[int, int, int] | None = None
        self._seconds = 0.0

    def note(self, step: SchedulerOutput, seconds: float) -> None:
        """Record the duration of `step`."""
        self._shape, self._seconds = _shape(step), seconds

    def expected_seconds(self, step: SchedulerOutput) -> float | None:
        """Estimate the duration of `step`; None if the last step had another shape."""
        return self._seconds if _shape(step) == self._shape else None


def time_to_prepare(step_seconds: float) -> float:
    """Return how long after the start of a step of `step_seconds` the next one should be scheduled."""
    lead = min(max(LEAD_SHARE * step_seconds, LEAST_LEAD_SECONDS), MAX_LEAD_SECONDS)
    return max(0.0, step_seconds - lead)


def _shape(step: SchedulerOutput) -> tuple[int, int, int]:
    return step.total_tokens, len(step.num_scheduled_tokens), step.passes
