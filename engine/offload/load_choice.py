"""Choice between loading blocks from Redis, computing them, and computing while Redis is asked."""

from dataclasses import dataclass
from enum import Enum, auto
from typing import Final

_CHEAP_QUESTION_SECONDS: Final = 0.003
_CHEAP_QUESTION_SHARE: Final = 0.03


class FromRedis(Enum):
    """Ways to obtain the blocks that are not in host memory."""

    LOAD = auto()
    """Wait for Redis."""
    ASK = auto()
    """Compute while Redis is asked; if it has the blocks, the remaining ones can still be loaded."""
    LEAVE = auto()
    """Compute, because loading takes longer."""
    NOTHING = auto()
    """Compute, because there is no Redis or it is not used for now."""


@dataclass(frozen=True, slots=True)
class RedisCost:
    """Expected cost of loading a run of blocks from Redis. None means that no estimate exists yet."""

    load_seconds: float | None
    """Seconds until the blocks are in host memory."""
    answer_seconds: float | None
    """Seconds until Redis has said which blocks it has."""
    all_known: bool
    """Whether Redis is known to have all of the blocks, so that no lookup is needed."""


def choose(cost: RedisCost | None, compute_seconds: float | None) -> FromRedis:
    """Choose how to obtain blocks that are not in host memory.

    Costs that are not known yet are learned by loading. Where Redis may not have the blocks, wait for its answer only
    if the answer takes little time compared with computing, because the wait may gain nothing.

    cost: None if there is no Redis, or it is not used for now. compute_seconds: time to compute the blocks; None if
    not known yet.
    """
    if cost is None:
        return FromRedis.NOTHING
    if compute_seconds is None or cost.answer_seconds is None:
        return FromRedis.LOAD
    if cost.load_seconds is not None and cost.load_seconds > compute_seconds:
        return FromRedis.LEAVE
    cheap = cost.answer_seconds <= max(_CHEAP_QUESTION_SECONDS, _CHEAP_QUESTION_SHARE * compute_seconds)
    return FromRedis.LOAD if cost.all_known or cheap else FromRedis.ASK
