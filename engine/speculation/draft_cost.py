"""Extra time of a step with drafts over one without. Learned from steps."""

from dataclasses import dataclass
from typing import Final

from engine.cost_estimate import CostEstimate

FIRST_ROW: Final = 1 / 16
"""Initial estimate of the cost of a draft row, as a fraction of a step without drafts, if the cost of a prompt token is
unknown."""
FIRST_WAIT: Final = 1 / 8
"""Initial estimate of the wait after a draft, as a fraction of a step without drafts."""
_DEVIATION: Final = 1 / 4
"""Standard deviation of the initial estimate of a draft's cost, as a fraction of a step without drafts."""
_NOISE: Final = 0.2
"""Standard deviation of a step's time, as a fraction of it."""
_DRIFT: Final = (0.03, 0.03)
"""Standard deviation of each cost's change between two steps with drafts, as a fraction of the cost."""
_LEAST_COST: Final = 0.01
"""Lower bound of a cost when its drift is computed, as a fraction of a step without drafts."""
_NEWEST: Final = 0.2
_FORGOTTEN: Final = 0.01


@dataclass(frozen=True, slots=True)
class PlainStep:
    """A step of the same requests without drafts.

    seconds: its expected time.
    token_seconds: expected time of one more prompt token; None if unknown.
    """

    seconds: float
    token_seconds: float | None = None


class DraftCost:
    """Learned seconds per draft, per row of a draft, and of idle time after a step with drafts.

    A draft costs time beyond that of its rows, because attention computes several rows of a request differently from a
    single row. The worker is idle because the next step can only be scheduled once the accepted tokens are known.
    """

    def __init__(self) -> None:
        self._filter: CostEstimate | None = None
        self._wait: float | None = None

    def draft_seconds(self) -> float:
        """Return the cost of a draft, without that of its rows, in seconds."""
        return self._filter.costs[0] if self._filter is not None else 0.0

    def row_seconds(self, plain: PlainStep) -> float:
        """Return the cost of one draft row in seconds."""
        return self._filter.costs[1] if self._filter is not None else _first_row(plain)

    def wait_seconds(self, plain: PlainStep) -> float:
        """Return the idle time after a step with drafts, in seconds."""
        return FIRST_WAIT * plain.seconds if self._wait is None else self._wait

    def note_step(self, drafts: int, rows: int, seconds: float, plain: PlainStep) -> None:
        """Learn that a step with `drafts` drafts of `rows` rows in all took `seconds`."""
        # A coarse clock may not have advanced during the step.
        if seconds <= 0:
            return
        if self._filter is None:
            self._filter = CostEstimate(*_first(plain))
        self._filter.drift(_DRIFT, _LEAST_COST * plain.seconds)
        self._filter.learn((float(drafts), float(rows)), seconds - plain.seconds, _NOISE * seconds)

    def note_wait(self, seconds: float) -> None:
        """Learn that the worker was idle for `seconds` after a step with drafts."""
        newest = max(0.0, seconds)
        self._wait = newest if self._wait is None else (1 - _NEWEST) * self._wait + _NEWEST * newest

    def fade(self, plain: PlainStep) -> None:
        """Move the learned costs a little towards the initial estimates. Call when a guess was not worth a draft.

        Without drafts nothing is learned, so costs learned while other processes used the machine would otherwise
        prevent drafts forever.
        """
        if self._filter is not None:
            self._filter.forget(_FORGOTTEN, *_first(plain))
        if self._wait is not None:
            self._wait += _FORGOTTEN * (FIRST_WAIT * plain.seconds - self._wait)


def _first_row(plain: PlainStep) -> float:
    return plain.token_seconds or FIRST_ROW * plain.seconds


def _first(plain: PlainStep) -> tuple[tuple[float, float], tuple[float, float]]:
    """Return the initial estimates of a draft's and of a row's cost, and their standard deviations."""
    row = _first_row(plain)
    return (0.0, row), (_DEVIATION * plain.seconds, max(row, FIRST_ROW * plain.seconds))
