"""Choice between loading blocks from the lower tiers, computing them, and computing while the tiers are asked."""

from dataclasses import dataclass
from enum import Enum, auto
from typing import Final

_CHEAP_QUESTION_SECONDS: Final = 0.003
_CHEAP_QUESTION_SHARE: Final = 0.03


class LoadChoice(Enum):
    """Ways to obtain the blocks that are not in host memory."""

    LOAD = auto()
    """Wait for the lower tiers."""
    ASK = auto()
    """Compute while the lower tiers are asked; if they have the blocks, the remaining ones can still be loaded."""
    LEAVE = auto()
    """Compute, because loading takes longer."""
    NOTHING = auto()
    """Compute, because there is no lower tier or none is used for now."""


@dataclass(frozen=True, slots=True)
class ExpectedLoad:
    """Expected cost of loading a run of blocks from the lower tiers. None means that no estimate exists yet."""

    load_seconds: float | None
    """Seconds until the blocks are in host memory."""
    answer_seconds: float | None
    """Seconds until the tiers have reported which blocks they have."""
    all_known: bool
    """Whether the tiers are known to have all of the blocks, so that no lookup is needed."""


def choose(load: ExpectedLoad | None, compute_seconds: float | None) -> LoadChoice:
    """Choose how to obtain blocks that are not in host memory.

    Costs that are not known yet are learned by loading. Where the tiers may lack the blocks, wait for the answer only
    if it takes little time compared with computing, because the wait may gain nothing.

    load: None if there is no lower tier, or none is used for now. compute_seconds: time to compute the blocks; None if
    not known yet.
    """
    if load is None:
        return LoadChoice.NOTHING
    if compute_seconds is None or load.answer_seconds is None:
        return LoadChoice.LOAD
    if load.load_seconds is not None and load.load_seconds > compute_seconds:
        return LoadChoice.LEAVE
    cheap = load.answer_seconds <= max(_CHEAP_QUESTION_SECONDS, _CHEAP_QUESTION_SHARE * compute_seconds)
    return LoadChoice.LOAD if load.all_known or cheap else LoadChoice.ASK
