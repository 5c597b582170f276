"""When to put the next step together while one still runs: late enough for new requests, early enough for no gap."""

from engine.scheduling.output import SchedulerOutput

LEAD_SHARE = 0.5
LEAST_LEAD_SECONDS = 0.004
MOST_LEAD_SECONDS = 0.012
"""The model's threads hold every core, so the loop often wakes up milliseconds after its timer: with 2 ms or 15 % a
quarter of all steps on two cores was late. A request that comes within the lead waits for one step more."""


class StepPace:
    """Remembers the last step; the next one of the same shape is expected to take as long. Seconds throughout."""

    def __init__(self) -> None:
        self._shape: tuple[int, int, int] | None = None
        self._seconds = 0.0

    def note(self, step: SchedulerOutput, seconds: float) -> None:
        """`step` took that long."""
        self._shape, self._seconds = _shape(step), seconds

    def expected_seconds(self, step: SchedulerOutput) -> float | None:
        """How long `step` should take; None if the last one was different."""
        return self._seconds if _shape(step) == self._shape else None


def time_to_prepare(step_seconds: float) -> float:
    """How long after the start of a step that takes `step_seconds` the next one should be scheduled."""
    lead = min(max(LEAD_SHARE * step_seconds, LEAST_LEAD_SECONDS), MOST_LEAD_SECONDS)
    return max(0.0, step_seconds - lead)


def _shape(step: SchedulerOutput) -> tuple[int, int, int]:
    return step.total_tokens, len(step.num_scheduled_tokens), step.passes
