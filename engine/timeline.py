"""Where the time of a request goes until its first token."""

from dataclasses import dataclass, field
from enum import Enum, auto

from engine.outputs import Phases


class Phase(Enum):
    """What a request is in at any time before its first token."""

    QUEUE = auto()
    """It waits for its turn, for blocks, or (FOLLOWING) for somebody else's computation of its beginning."""
    LOAD = auto()
    """It waits for the tiers."""
    PREFILL = auto()
    """It is in the batch. What a preemption threw away was prefill too."""


@dataclass(slots=True)
class Timeline:
    """Begins in the queue at `since`. Phases follow each other without a gap, so that they add up to the whole.

    lookup: seconds of LOAD, or a little more, in which Redis had not said yet what it has.
    """

    since: float
    lookup: float = 0.0
    _phase: Phase | None = Phase.QUEUE
    _seconds: dict[Phase, float] = field(default_factory=lambda: dict.fromkeys(Phase, 0.0))

    def enter(self, phase: Phase, now: float) -> None:
        """Another phase begins. After the end nothing does."""
        if self._phase is not None:
            self._seconds[self._phase] += now - self.since
            self._phase, self.since = phase, now

    def end(self, now: float) -> None:
        """The first token is there, or there will be none."""
        if self._phase is not None:
            self.enter(self._phase, now)
            self._phase = None

    def phases(self) -> Phases:
        """What has passed, in milliseconds."""
        queue, load, prefill = (self._seconds[phase] * 1e3 for phase in Phase)
        lookup = min(self.lookup * 1e3, load)
        return Phases(queue, lookup, load - lookup, prefill)
