"""Promises of a tier: blocks that it keeps for some time, whatever others store there."""

from dataclasses import dataclass
from typing import Literal, NamedTuple

PromiseEnd = Literal["no_tier", "away", "read_only", "no_room", "absent"]
"""Reason why no further block is promised.

no_tier: no tier below CPU memory gives promises. away: that tier is not available. read_only: nothing can be changed
there. no_room: the reservation is used up. absent: the next block is not in the tier, or not yet.
"""


@dataclass(frozen=True, slots=True)
class PromiseTerms:
    """Terms of a promise, for each block of a chain.

    seconds: time for which a block is kept after each use; 0 ends its promise.
    reserved_bytes: most bytes of one owner that may be promised at the same time.
    """

    seconds: float
    reserved_bytes: int


class Promised(NamedTuple):
    """Answer of a tier.

    num_blocks: length of the leading run of the blocks that is promised.
    end: why the run ends; None if it has all blocks.
    """

    num_blocks: int
    end: PromiseEnd | None
