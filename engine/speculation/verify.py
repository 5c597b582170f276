"""Which tokens of a draft stand."""

from collections.abc import Sequence


def verify(draft: Sequence[int], sampled: Sequence[int]) -> tuple[int, ...]:
    """The tokens that come next, at least one and all of them sampled.

    sampled: what is chosen behind the last known token, then behind each token of `draft`, as if the draft before it
    stood: one more than the draft has. Every position has its own random number, so the first one that differs is
    itself what would have come without a draft; what lies behind it was chosen from a text that there is not.
    """
    assert len(sampled) == len(draft) + 1, "a row of a draft was not sampled"
    stand = next((i for i, token in enumerate(draft) if token != sampled[i]), len(draft))
    return tuple(sampled[: stand + 1])
