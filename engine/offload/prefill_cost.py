"""Time to compute a chunk of a prompt, by its length and its position. Learned from steps."""

from typing import Final

from engine.request.scheduler_output import SchedulerOutput

_FADE: Final = 0.8
_RIDGE: Final = 1e-3


class PrefillCost:
    """Least-squares fit of `seconds = by_token * tokens + by_pair * pairs`, in which older steps fade.

    A pair is a token and one that it attends to. The whole time of a step is attributed to its prompts, because they do
    take that long alongside streams.
    """

    def __init__(self) -> None:
        self._tokens_tokens = self._tokens_pairs = self._pairs_pairs = 0.0
        self._tokens_seconds = self._pairs_seconds = 0.0

    def note(self, step: SchedulerOutput, seconds: float) -> None:
        """Learn that `step` took `seconds`. Ignore steps with fewer than `SMALLEST_LESSON` prompt tokens."""
        starts = {new.request_id: new.num_computed_tokens for new in step.new_requests}
        starts |= {cached.request_id: cached.num_computed_tokens for cached in step.cached_requests}
        tokens = pairs = 0.0
        for request_id, count in step.num_scheduled_tokens.items():
            if count > 1 and request_id not in step.drafts:
                tokens += count
                pairs += _pairs(starts[request_id], starts[request_id] + count)
        if tokens < SMALLEST_LESSON:
            return
        self._tokens_tokens = _FADE * self._tokens_tokens + tokens * tokens
        self._tokens_pairs = _FADE * self._tokens_pairs + tokens * pairs
        self._pairs_pairs = _FADE * self._pairs_pairs + pairs * pairs
        self._tokens_seconds = _FADE * self._tokens_seconds + tokens * seconds
        self._pairs_seconds = _FADE * self._pairs_seconds + pairs * seconds

    def seconds(self, start: int, stop: int) -> float | None:
        """Return the seconds to compute positions [start, stop) of one prompt; None until a prompt was computed."""
        if not self._tokens_tokens:
            return None
        tokens, pairs = float(stop - start), _pairs(start, stop)
        # If all steps were alike, the two costs cannot be separated. The ridge then attributes the time to tokens.
        pairs_pairs = self._pairs_pairs * (1 + _RIDGE)
        determinant = self._tokens_tokens * pairs_pairs - self._tokens_pairs**2
        by_token = (self._tokens_seconds * pairs_pairs - self._pairs_seconds * self._tokens_pairs) / determinant
        by_pair = (self._pairs_seconds * self._tokens_tokens - self._tokens_seconds * self._tokens_pairs) / determinant
        if by_token < 0 or by_pair < 0:
            by_token, by_pair = self._tokens_seconds / self._tokens_tokens, 0.0
        return by_token * tokens + by_pair * pairs


SMALLEST_LESSON: Final = 64
"""Fewest prompt tokens of a step that is learned from."""


def _pairs(start: int, stop: int) -> float:
    return (stop - start) * (start + stop) / 2
