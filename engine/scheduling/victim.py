"""Who is stopped when a running request needs a block and none is free."""

from collections.abc import Sequence
from dataclasses import dataclass

from engine.request import Request


@dataclass(frozen=True, slots=True)
class VictimCandidate:
    """A running request behind the one that needs room.

    level: as its queue says; larger is worth less. lost_tokens: to be computed again, which nothing but a new
    computation can bring back. freed_blocks: those that nobody else uses.
    """

    request: Request
    level: float
    lost_tokens: int
    freed_blocks: int


def choose_victim(candidates: Sequence[VictimCandidate], missing_blocks: int) -> Request | None:
    """Of those that are worth least, one that frees enough; of these the cheapest, of equals the latest arrival.

    Who frees nothing at all is stopped last, whatever it is worth. None if there is no candidate.
    """
    if not candidates:
        return None
    return max(
        candidates,
        key=lambda one: (
            one.freed_blocks > 0,
            one.level,
            one.freed_blocks >= missing_blocks,
            -one.lost_tokens,
            one.request.order,
        ),
    ).request


def lost_tokens(num_computed_tokens: int, num_kept_blocks: int, block_size: int) -> int:
    """What a request that is stopped now has to compute again: all but the blocks that outlive it, counted from its
    first."""
    return max(0, num_computed_tokens - num_kept_blocks * block_size)
