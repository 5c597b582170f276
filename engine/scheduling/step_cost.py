"""How long a step takes: a time of its own, in which the weights are read, more per decode and more per prompt token.

The three are learned from steps that were made, by a Kalman filter whose state walks at random (Kalman, "A New
Approach to Linear Filtering and Prediction Problems", 1960). Steps of one kind for an hour leave what is known of the
other kinds as it is. On a CPU a decode often costs more than a prompt token; on an accelerator both cost little.
"""

from collections.abc import Sequence
from typing import Final

from engine.scheduling.output import SchedulerOutput

_NOISE: Final = 0.1
"""Standard deviation of a step's time, as a part of it."""
_DRIFT: Final = (0.002, 0.03, 0.03)
"""How much each cost may have changed since the step before, as a part of it.

What a token costs depends on what it attends to. Reading the weights always takes the same time.
"""
_DISTURBED: Final = 1.25
_DISTURBED_NOISE: Final = 0.5
"""The noise of a step that took `_DISTURBED` times as long as expected: something else ran on this machine meanwhile.

Streams are promised twice the time of a step that nothing disturbs, and a disturbed one is no reason for more.
"""
_LEAST_COST: Final = 0.01
"""What a decode or a prompt token may become more expensive by, though it seemed to cost nothing, as a part of a step's
own time."""

_Row = tuple[float, float, float]


class StepCost:
    """Learned seconds of a step, per decode and per prompt token."""

    def __init__(self) -> None:
        self._costs: list[float] = [0.0, 0.0, 0.0]
        self._variances: list[list[float]] = []
        self._has_seen_decodes = False
        self._has_seen_prompts = False

    @property
    def step_seconds(self) -> float:
        """Return the seconds of a step apart from what it holds; 0.0 before the first step."""
        return self._costs[0]

    @property
    def each_decode_seconds(self) -> float:
        """Return the seconds per decode; 0.0 until one was seen."""
        return self._costs[1] if self._has_seen_decodes else 0.0

    @property
    def token_seconds(self) -> float | None:
        """Return the seconds per prompt token; None until one was seen."""
        return self._costs[2] if self._has_seen_prompts else None

    def note(self, step: SchedulerOutput, seconds: float) -> None:
        """Learn that a forward pass of `step` took that long. From steps with drafts `DraftCost` learns."""
        # A coarse clock may not have moved.
        if step.drafts or not step.total_tokens or seconds <= 0:
            return
        decodes, prompt_tokens = _kinds_of_tokens(step)
        self._has_seen_decodes |= decodes > 0
        self._has_seen_prompts |= prompt_tokens > 0
        self._learn((1.0, float(decodes), float(prompt_tokens)), seconds)

    def decode_seconds(self, decodes: int) -> float | None:
        """Return the seconds of a step that holds so many decodes and nothing else; None until one was seen."""
        if not decodes:
            return 0.0
        return self._costs[0] + self._costs[1] * decodes if self._has_seen_decodes else None

    def expected_seconds(self, step: SchedulerOutput) -> float | None:
        """Return how long `step` should take; None until the costs of its parts are known."""
        decodes, prompt_tokens = _kinds_of_tokens(step)
        if (decodes and not self._has_seen_decodes) or (prompt_tokens and not self._has_seen_prompts):
            return None
        return self._costs[0] * step.passes + self._costs[1] * decodes * step.passes + self._costs[2] * prompt_tokens

    def _learn(self, row: _Row, seconds: float) -> None:
        if not self._variances:
            # A decode costs about as much as a prompt token, and both together no more than the step took.
            own, each = seconds**2, (seconds / max(row[1] + row[2], 1.0)) ** 2
            self._variances = [[own, 0.0, 0.0], [0.0, each, 0.0], [0.0, 0.0, each]]
        self._drift()
        expected = _dot(self._costs, row)
        is_disturbed = 0.0 < expected * _DISTURBED < seconds
        noise = (seconds * (_DISTURBED_NOISE if is_disturbed else _NOISE)) ** 2
        shares = [_dot(variances, row) for variances in self._variances]
        total = _dot(shares, row) + noise
        gains = [share / total for share in shares]
        # No part of a step takes negative time, and the seconds that no part explains are the step's own.
        self._costs = [
            max(0.0, cost + gain * (seconds - expected)) for cost, gain in zip(self._costs, gains, strict=True)
        ]
        self._variances = [
            [variance - gain * share for variance, share in zip(variances, shares, strict=True)]
            for gain, variances in zip(gains, self._variances, strict=True)
        ]

    def _drift(self) -> None:
        """Let each cost have changed a little, at most until nothing is known of it."""
        for index, cost in enumerate(self._costs):
            size = max(cost, _LEAST_COST * self._costs[0])
            if self._variances[index][index] < size**2:
                self._variances[index][index] += (_DRIFT[index] * size) ** 2


def _kinds_of_tokens(step: SchedulerOutput) -> tuple[int, int]:
    """Count the sequences with a single token, and the tokens of all others."""
    decodes = sum(count == 1 for count in step.num_scheduled_tokens.values())
    return decodes, step.total_tokens - decodes


def _dot(left: Sequence[float], right: Sequence[float]) -> float:
    return sum(a * b for a, b in zip(left, right, strict=True))
