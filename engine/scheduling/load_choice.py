"""Whether to wait for blocks from the tiers, to compute them, or to begin computing and ask meanwhile."""

from dataclasses import dataclass
from enum import Enum, auto
from typing import Final

_CHEAP_QUESTION_SECONDS: Final = 0.003
_CHEAP_QUESTION_SHARE: Final = 0.03


class FromRedis(Enum):
    """What to do about the blocks that are not in host memory."""

    LOAD = auto()
    """Wait for them."""
    ASK = auto()
    """Compute, and ask meanwhile: if they turn out to be there, what is left can still be loaded."""
    LEAVE = auto()
    """Compute: loading takes longer."""
    NOTHING = auto()
    """There is no Redis to ask."""


@dataclass(frozen=True, slots=True)
class RedisCost:
    """Of some blocks. load_seconds: until they are here; answer_seconds: until it is known whether they exist. None:
    not known yet. all_known: they should be there, nobody needs to ask."""

    load_seconds: float | None
    answer_seconds: float | None
    all_known: bool


def choose(cost: RedisCost | None, compute_seconds: float | None) -> FromRedis:
    """What is unknown is learned by loading. A question for what may not be there is asked at once where the answer
    comes soon in comparison with computing, for it may be in vain."""
    if cost is None:
        return FromRedis.NOTHING
    if compute_seconds is None or cost.answer_seconds is None:
        return FromRedis.LOAD
    if cost.load_seconds is not None and cost.load_seconds > compute_seconds:
        return FromRedis.LEAVE
    cheap = cost.answer_seconds <= max(_CHEAP_QUESTION_SECONDS, _CHEAP_QUESTION_SHARE * compute_seconds)
    return FromRedis.LOAD if cost.all_known or cheap else FromRedis.ASK
