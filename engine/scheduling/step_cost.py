"""Cost model of a step: a fixed time for reading the weights, plus a time per decode and a time per prompt token.

Attention makes a prompt token slower the more keys precede it, so there is also a time per prompt token and 1,000 keys.
On a CPU, a decode often costs more than a prompt token. On an accelerator, both cost little.
"""

from collections.abc import Sequence
from math import sqrt
from typing import Final

from engine.cost_estimate import CostEstimate
from engine.request.scheduler_output import SchedulerOutput

_NOISE: Final = 0.1
"""Standard deviation of a step's time, as a fraction of it."""
_DRIFT: Final = (0.002, 0.03, 0.03, 0.03)
"""Standard deviation of each cost's change between two steps, as a fraction of the cost.

The cost of a decode depends on the length of its context. Reading the weights always takes the same time.
"""
_DISTURBED: Final = 1.25
_DISTURBED_NOISE: Final = 0.5
"""Noise of a step that took more than `_DISTURBED` times the expected time, because other work ran on this machine.

Streams are promised twice the time of an undisturbed step, so disturbed steps should hardly raise the estimate.
"""
_LEAST_COST: Final = 0.01
"""Lower bound of a cost when its drift is computed, as a fraction of a step's fixed time.

With this bound, the estimate for a token that seemed to cost nothing can still rise.
"""

_KEYS: Final = 1000.0
"""Keys per unit of the cost that depends on context."""

_NO_COSTS: Final = (0.0, 0.0, 0.0, 0.0)

_Row = tuple[float, float, float, float]
"""Amounts of a step: 1, its decodes, its prompt tokens, and the keys before each prompt token in units of `_KEYS`."""


class StepCost:
    """Learned seconds per step, per decode, per prompt token, and per prompt token and 1,000 keys before it.

    num_steps: steps that were learned from.
    """

    def __init__(self) -> None:
        self._filter = CostEstimate(_NO_COSTS, _NO_COSTS)
        self._has_seen_decodes = False
        self._has_seen_prompts = False
        self.num_steps = 0

    @property
    def _costs(self) -> Sequence[float]:
        return self._filter.costs

    @property
    def step_seconds(self) -> float:
        """Fixed seconds of a step, independent of its tokens; 0.0 before the first step."""
        return self._costs[0]

    @property
    def each_decode_seconds(self) -> float:
        """Seconds per decode; 0.0 until a decode was measured."""
        return self._costs[1] if self._has_seen_decodes else 0.0

    @property
    def token_seconds(self) -> float | None:
        """Seconds per prompt token at the beginning of a prompt; None until a prompt token was measured."""
        return self._costs[2] if self._has_seen_prompts else None

    @property
    def key_seconds(self) -> float:
        """Seconds that a prompt token takes longer for each key before it; 0.0 until a prompt token was measured."""
        return self._costs[3] / _KEYS if self._has_seen_prompts else 0.0

    def prompt_tokens_within(self, seconds: float, context: int) -> int | None:
        """Return how many tokens of a prompt take `seconds` after its first `context` tokens; None if unknown."""
        seconds = max(0.0, seconds)
        first, more = self._costs[2] + self._costs[3] * context / _KEYS, self._costs[3] / _KEYS
        # The n-th token takes first + n * more. This form of the solution loses no digits where `more` is tiny.
        divisor = first + sqrt(first**2 + 2 * more * seconds)
        return int(2 * seconds / divisor) if self._has_seen_prompts and divisor else None

    def note(self, step: SchedulerOutput, seconds: float) -> None:
        """Learn from a forward pass of `step` that took `seconds`.

        Steps with drafts and without prompts are left to `DraftCost`.
        """
        # A coarse clock may not have advanced during the step.
        if not step.total_tokens or seconds <= 0:
            return
        row = _row(step)
        if step.num_drafted and row[2] == step.num_drafted:
            return
        self._has_seen_decodes |= row[1] > 0
        self._has_seen_prompts |= row[2] > 0
        self.num_steps += 1
        self._learn(row, seconds)

    def decode_seconds(self, decodes: int) -> float | None:
        """Return the expected seconds of a step with only `decodes` decodes; None until a decode was measured."""
        if not decodes:
            return 0.0
        return self._costs[0] + self._costs[1] * decodes if self._has_seen_decodes else None

    def expected_seconds(self, step: SchedulerOutput) -> float | None:
        """Return the expected seconds of `step`; None until the costs of all its parts are known."""
        row = _row(step)
        if (row[1] and not self._has_seen_decodes) or (row[2] and not self._has_seen_prompts):
            return None
        # Only steps without prompts have several passes.
        return step.passes * self._filter.expected(row)

    def _learn(self, row: _Row, seconds: float) -> None:
        if self.num_steps == 1:
            # Prior: a decode costs about as much as a prompt token and as 1,000 keys of one, and all tokens together at
            # most the step's time.
            each = seconds / max(row[1] + row[2], 1.0)
            self._filter = CostEstimate(_NO_COSTS, (seconds, each, each, each))
        self._filter.drift(_DRIFT, _LEAST_COST * self.step_seconds)
        is_disturbed = 0.0 < self._filter.expected(row) * _DISTURBED < seconds
        self._filter.learn(row, seconds, seconds * (_DISTURBED_NOISE if is_disturbed else _NOISE))


def _row(step: SchedulerOutput) -> _Row:
    """Return the amounts of one forward pass. A draft token counts as a prompt token, since it costs about as much."""
    decodes = sum(count == 1 for count in step.num_scheduled_tokens.values()) + len(step.drafts)
    prompts = {
        request_id: count
        for request_id, count in step.num_scheduled_tokens.items()
        if count > 1 and request_id not in step.drafts
    }
    # Most steps only decode.
    contexts = _contexts(step) if prompts else {}
    keys = sum(count * (contexts.get(request_id, 0) + count / 2) for request_id, count in prompts.items())
    return 1.0, float(decodes), float(step.total_tokens - decodes), keys / _KEYS


def _contexts(step: SchedulerOutput) -> dict[str, int]:
    """Return the tokens that each request of the step had computed before it."""
    contexts = {each.request_id: each.num_computed_tokens for each in step.new_requests}
    return contexts | {each.request_id: each.num_computed_tokens for each in step.cached_requests}
