"""Timing of the next step while one is still running: late enough to include new requests, early enough for no gap."""

from engine.request.scheduler_output import SchedulerOutput

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
