"""Cost of drafts: the extra time of a step with drafts over one without, and the time of a draft model. Learned from
steps, and compared with the tokens that a draft is expected to yield."""

from dataclasses import dataclass
from typing import Final

from engine.cost_estimate import CostEstimate

FIRST_ROW: Final = 1 / 16
"""Initial estimate of the cost of a draft row, as a fraction of a step without drafts, if the cost of a prompt token is
unknown."""
FIRST_WAIT: Final = 1 / 8
"""Initial estimate of the wait after a draft, as a fraction of a step without drafts."""
FIRST_MODEL: Final = 1 / 8
"""Initial estimate of the cost of a draft model's pass, and of a token that it reads, as a fraction of the large
model's."""
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


@dataclass(frozen=True, slots=True)
class Prices:
    """Costs in tokens that all running requests would receive in the same time.

    draft, row: of a draft, and of each of its rows.
    wait: of the wait after all drafts of a step.
    wait_share: of the part of this wait for each request that could have a draft.
    modelled_row: of a row that the draft model drafts first.
    read: of a token that the draft model has to read before.
    """

    draft: float
    row: float
    wait: float
    wait_share: float
    modelled_row: float
    read: float


@dataclass(frozen=True, slots=True)
class Promise:
    """The expected gain of a draft.

    length: tokens of the draft.
    tokens: expected number of accepted tokens, less the cost of the draft's rows in tokens.
    """

    length: int
    tokens: float


NOTHING: Final = Promise(0, 0.0)


def promise_of(chance: float, behind: int, most: int, row: float) -> Promise:
    """Return the best length of a draft, at most `most`: tokens are drafted as long as each is worth its row.

    chance: probability that a token is right if those before it are. behind: tokens before the draft that must be right
    too. row: cost of a row, in tokens.
    """
    stands, length, tokens = chance ** (behind + 1), 0, 0.0
    while length < most and stands > row:
        tokens += stands - row
        length += 1
        stands *= chance
    return Promise(length, tokens)


class DraftCost:
    """Learned seconds per draft, per row of a draft, and of idle time after a step with drafts.

    A draft model takes further seconds per pass and per row of its passes.

    A draft costs time beyond that of its rows, because attention computes several rows of a request differently from a
    single row. The worker is idle because the next step can only be scheduled once the accepted tokens are known.
    """

    def __init__(self) -> None:
        self._filter: CostEstimate | None = None
        self._wait: float | None = None
        self._model: CostEstimate | None = None

    def draft_seconds(self) -> float:
        """Return the cost of a draft, without that of its rows, in seconds."""
        return self._filter.costs[0] if self._filter is not None else 0.0

    def row_seconds(self, plain: PlainStep) -> float:
        """Return the cost of one draft row in seconds."""
        return self._filter.costs[1] if self._filter is not None else _first_row(plain)

    def wait_seconds(self, plain: PlainStep) -> float:
        """Return the idle time after a step with drafts, in seconds."""
        return FIRST_WAIT * plain.seconds if self._wait is None else self._wait

    def model_seconds(self, plain: PlainStep, passes: int, rows: int) -> float:
        """Return the time that the draft model takes for `passes` passes of `rows` rows in all, in seconds."""
        if self._model is None:
            first, _ = _first_of_model(plain)
            return first[0] * passes + first[1] * rows
        return self._model.expected((float(passes), float(rows)))

    def note_model(self, passes: int, rows: int, seconds: float, plain: PlainStep) -> None:
        """Learn that the draft model took `seconds` for `passes` passes of `rows` rows in all."""
        if seconds <= 0:
            return
        if self._model is None:
            self._model = CostEstimate(*_first_of_model(plain))
        self._model.drift(_DRIFT, _LEAST_COST * plain.seconds)
        self._model.learn((float(passes), float(rows)), seconds, _NOISE * seconds)

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
        if self._model is not None:
            self._model.forget(_FORGOTTEN, *_first_of_model(plain))
        if self._wait is not None:
            self._wait += _FORGOTTEN * (FIRST_WAIT * plain.seconds - self._wait)


def _first_row(plain: PlainStep) -> float:
    return plain.token_seconds or FIRST_ROW * plain.seconds


def _first(plain: PlainStep) -> tuple[tuple[float, float], tuple[float, float]]:
    """Return the initial estimates of a draft's and of a row's cost, and their standard deviations."""
    row = _first_row(plain)
    return (0.0, row), (_DEVIATION * plain.seconds, max(row, FIRST_ROW * plain.seconds))


def _first_of_model(plain: PlainStep) -> tuple[tuple[float, float], tuple[float, float]]:
    """Return the initial estimates of the cost of a draft model's pass and row, and their standard deviations."""
    costs = (FIRST_MODEL * plain.seconds, FIRST_MODEL * _first_row(plain))
    return costs, costs
