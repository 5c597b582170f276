"""Division of a request's time to its first token."""

from dataclasses import dataclass, field
from enum import Enum, auto

from engine.api.outputs import Phases


class Phase(Enum):
    """State of a request before its first token."""

    QUEUE = auto()
    """Waiting to be scheduled, for blocks, or (WAITING_FOR_PREFIX) for another request to compute a shared prefix."""
    LOAD = auto()
    """Waiting for the tiers."""
    PREFILL = auto()
    """Being computed in the batch. Computation that a preemption discarded also counts as prefill."""


@dataclass(slots=True)
class Timeline:
    """Consecutive phases from `since`, the first being the queue. Without gaps, they add up to the whole time.

    lookup: seconds of LOAD, or slightly more, until the lower tiers reported which blocks they have.
    """

    since: float
    lookup: float = 0.0
    _phase: Phase | None = Phase.QUEUE
    _seconds: dict[Phase, float] = field(default_factory=lambda: dict.fromkeys(Phase, 0.0))

    def enter(self, phase: Phase, now: float) -> None:
        """Begin another phase. After `end` this does nothing."""
        if self._phase is not None:
            self._seconds[self._phase] += now - self.since
            self._phase, self.since = phase, now

    def end(self, now: float) -> None:
        """End the timeline, with or without a first token."""
        if self._phase is not None:
            self.enter(self._phase, now)
            self._phase = None

    def phases(self) -> Phases:
        """Return the durations so far, in milliseconds."""
        queue, load, prefill = (self._seconds[phase] * 1e3 for phase in Phase)
        lookup = min(self.lookup * 1e3, load)
        return Phases(queue, lookup, load - lookup, prefill)
