"""Prediction of a request's seconds on each replica, from the costs that the replicas have learned.

    prompt = sum over the blocks of min(load, compute)
    first token = queue + prompt + one step, and half a step until the next one begins
    whole = first token + the answer's tokens at the replica's own pace + prompt

The prompt counts twice in the whole: the request waits for it, and so does the next one that comes to the replica.
Without that, a request would rather compute on an idle replica everything that another one has.

The tables have a row per replica, so that one numpy expression predicts for all replicas. No method awaits anything.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from msgspec import structs
from numpy.typing import NDArray

from engine.fleet.wire.report import ReplicaCost, ReplicaWork
from engine.scheduling.step_size import AUTO_STEP_SECONDS, AUTO_STRETCH

Floats = NDArray[np.float64]
Indices = NDArray[np.int64]

NUM_COLUMNS: Final = 11

NOISE: Final = 1.25
"""Ratio up to which the learned costs of two replicas count as equal, as for a disturbed step (`StepCost`)."""

USUAL_EVERY: Final = 10
"""Reports of each replica until the usual costs are computed again."""

MATURE: Final = 1000
"""Steps after which the costs of a replica are more than its first impressions."""

TYPICAL_TOKENS: Final = 64
"""Prompt tokens of the step that is compared."""


UNKNOWN: Final = ReplicaCost(step=0.02, decode=0.002, token=0.001)
"""Costs until any replica has published its own. Only their ratios matter, and only until the first answers."""


@dataclass(frozen=True, slots=True)
class StepLimits:
    """Limits of a step, which all replicas share.

    target: seconds of a step with running streams, as `--itl-target`; 0 for the default.
    places: requests that a batch holds.
    """

    target: float = 0.0
    places: int = 1 << 30


NO_LIMITS: Final = StepLimits()


@dataclass(frozen=True, slots=True)
class Need:
    """Demand of a request.

    tokens: length of the prompt. answers: number of answers. expected: expected tokens of each answer.
    """

    tokens: int
    answers: int
    expected: float


def stretch(cost: ReplicaCost, decodes: float, target: float) -> float:
    """Return how many times longer a prompt takes alongside `decodes` streams than alone.

    A step with streams has a time limit, and the decodes take a part of it (`prompt_tokens_alongside`).
    """
    if not decodes:
        return 1.0
    limit = step_with_prompt(cost, decodes, target)
    # A target below the time of the decodes leaves the smallest chunk only.
    return limit / max(limit - cost.step - cost.decode * decodes, limit / 16)


def step_with_prompt(cost: ReplicaCost, decodes: float, target: float) -> float:
    """Return the seconds of a step that has `decodes` streams, at least one, and a part of a prompt."""
    return target or max(AUTO_STEP_SECONDS, AUTO_STRETCH * (cost.step + cost.decode * decodes))


class PredictionTable:
    """Learned costs and known work of the replicas, one row each. A row without a replica is never the best.

    block_size: tokens per block.
    """

    def __init__(self, block_size: int, limits: StepLimits) -> None:
        self._block_size = block_size
        self._limits = limits
        self._costs: list[ReplicaCost | None] = []
        self._usual = UNKNOWN
        self._num_learned = 0
        self._next_usual = 1
        self._columns: Floats = np.zeros((NUM_COLUMNS, 0))
        self._name_columns()

    @property
    def num_rows(self) -> int:
        """Number of rows, including those without a replica."""
        return self._columns.shape[1]

    def add_row(self) -> int:
        """Return the number of a new row, which has no replica."""
        self._columns = np.column_stack([self._columns, np.zeros(NUM_COLUMNS)])
        self._name_columns()
        self._costs.append(None)
        row = self.num_rows - 1
        self.remove(row)
        return row

    def _name_columns(self) -> None:
        (
            self._free_at,
            self._token,
            self._pair,
            self._step,
            self._join,
            self._pace,
            self._decode,
            self._copy,
            self._load_start,
            self._load_block,
            self._answers,
        ) = self._columns

    def remove(self, row: int) -> None:
        """Take the replica out of a row."""
        self._free_at[row] = np.inf
        self._costs[row] = None

    def learn(self, row: int, cost: ReplicaCost) -> bool:
        """Take the costs that a replica has learned. Return whether the usual costs, and so all rows, have changed."""
        self._costs[row] = cost
        self._num_learned += 1
        if self._num_learned < self._next_usual:
            return False
        # At first often, since first impressions change. Later about once a second.
        self._next_usual = min(2 * self._num_learned, self._num_learned + USUAL_EVERY * len(self._costs))
        self._usual = _median([each for each in self._costs if each is not None])
        return True

    def cost_of(self, row: int) -> ReplicaCost:
        """Return the costs of a replica: those of the whole fleet, unless its own are known to differ from them."""
        own = self._costs[row]
        if own is None:
            return self._usual
        ratio = _typical(own) / _typical(self._usual)
        if own.steps >= MATURE and not 1 / NOISE <= ratio <= NOISE:
            return own
        usual = self._usual
        return structs.replace(own, step=usual.step, decode=usual.decode, token=usual.token, pair=usual.pair)

    def pace(self, row: int, decodes: float) -> float:
        """Return the seconds of a step of `decodes` decodes."""
        cost = self.cost_of(row)
        return cost.step + cost.decode * decodes

    def queue_seconds(self, row: int, work: ReplicaWork) -> float:
        """Return the seconds until a replica has computed the prompts of `work` alongside its streams."""
        cost = self.cost_of(row)
        turns = max(0, work.waiting + work.decodes + work.prompts + 1 - self._limits.places)
        alone = work.tokens * cost.token + work.pairs * cost.pair
        return alone * stretch(cost, work.decodes, self._limits.target) + turns * cost.turn

    def set(self, row: int, free_at: float, decodes: float, prompts: float) -> None:
        """Set what is known of a replica.

        free_at: time at which all of its prompts are computed, on the clock of `predict`.
        decodes, prompts: expected number of its answers with and without a first token.
        """
        cost = self.cost_of(row)
        longer = stretch(cost, decodes, self._limits.target)
        self._columns[:, row] = (
            free_at,
            cost.token * longer,
            cost.pair * longer,
            cost.step + cost.decode * decodes,
            # A prompt joins the next step, which begins after half a step on average.
            cost.step * longer + (step_with_prompt(cost, decodes, self._limits.target) / 2 if decodes else 0.0),
            cost.step + cost.decode * (decodes + prompts),
            cost.decode,
            cost.copy,
            cost.load_start,
            cost.load_block,
            decodes + prompts,
        )

    def predict(
        self, now: float, need: Need, device: Floats, near: Floats, below: int
    ) -> tuple[Floats, Floats, Floats]:
        """Return the seconds of the prompt alone, to the first token, and of the whole request, for each row.

        The whole is the time to the end of the answer, plus once more that of the prompt, for the next request there.

        device: leading blocks of the prompt on the device of each replica.
        near: the same, on the device or in CPU memory.
        below: leading blocks that the common lower tier has.
        """
        start = near * self._block_size
        work = self._compute(start, float(need.tokens))
        if below:
            far = np.maximum(near, float(below))
            saved = self._compute(start, far * self._block_size)
            load = np.where(self._load_block > 0, self._load_start + (far - near) * self._load_block, np.inf)
            work -= np.maximum(saved - load, 0.0)
        work += (near - device) * self._copy
        first = np.maximum(self._free_at - now, 0.0) + work + self._join
        return work, first, first + need.expected * (self._pace + self._decode * need.answers) + work

    def _compute(self, start: Floats, stop: Floats | float) -> Floats:
        """Return the seconds to compute the positions [start, stop) of one prompt."""
        seconds: Floats = (stop - start) * (self._token + self._pair * ((start + stop) / 2))
        return seconds

    def alike(self, whole: Floats, best: int) -> Indices:
        """Return the rows that are predicted to end less than a step after `best`, which no client could notice."""
        return np.flatnonzero(whole <= whole[best] + self._step[best])

    def least_busy(self, rows: Indices) -> Indices:
        """Return the rows of `rows` with the fewest answers."""
        answers = self._answers[rows]
        least: Indices = rows[answers == answers.min()]
        return least


def _typical(cost: ReplicaCost) -> float:
    return cost.step + cost.decode + TYPICAL_TOKENS * cost.token


def _median(costs: Sequence[ReplicaCost]) -> ReplicaCost:
    *seconds, _ = np.median([structs.astuple(each) for each in costs], axis=0).tolist()
    return ReplicaCost(*seconds)
