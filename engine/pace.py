"""When to put the next step together while one still runs: late enough for new requests, early enough for no gap."""

from engine.scheduling.output import SchedulerOutput

LEAD_SECONDS = 0.004
LEAD_SHARE = 0.5
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

    def time_to_prepare(self, step: SchedulerOutput) -> float | None:
        """How long after the start of `step` the next one should be scheduled; None if its length is not known."""
        if _shape(step) != self._shape:
            return None
        return max(0.0, self._seconds - max(LEAD_SECONDS, LEAD_SHARE * self._seconds))


def _shape(step: SchedulerOutput) -> tuple[int, int, int]:
    return step.total_tokens, len(step.num_scheduled_tokens), step.passes
