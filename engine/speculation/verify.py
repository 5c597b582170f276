"""Verification of draft tokens."""

from collections.abc import Sequence


def verify(draft: Sequence[int], sampled: Sequence[int]) -> tuple[int, ...]:
    """Return the next tokens of a request: the accepted part of `draft` and the sampled token after it.

    Every position has its own random number. So the first sampled token that differs from the draft is the one that
    would have come without a draft; tokens sampled after it follow a rejected one and are discarded.

    sampled: tokens sampled after the last known token and after each token of `draft`, given the draft before it. There
    is one more than in `draft`.
    """
    assert len(sampled) == len(draft) + 1, "a row of a draft was not sampled"
    stand = next((i for i, token in enumerate(draft) if token != sampled[i]), len(draft))
    return tuple(sampled[: stand + 1])
