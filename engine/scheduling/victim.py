"""Who is stopped when a running request needs a block and none is free."""

from collections.abc import Sequence
from dataclasses import dataclass

from engine.request import Request


@dataclass(frozen=True, slots=True)
class VictimCandidate:
    """A running request that may be stopped.

    level: as its queue says; larger is worth less.
    tenant_share: the part of the batch or of the blocks that its tenant holds.
    lost_tokens: to be computed again, because nothing but a new computation can bring them back.
    freed_blocks: blocks that no other request uses.
    """

    request: Request
    level: float
    tenant_share: float
    lost_tokens: int
    freed_blocks: int


def choose_victim(candidates: Sequence[VictimCandidate], missing_blocks: int) -> Request | None:
    """Choose who is stopped: of those that are worth least, one of the tenant that holds most, which frees enough.

    Of these it is the cheapest, and among equals the latest arrival. A request that frees nothing is stopped last,
    whatever it is worth. None if there is no candidate.
    """
    if not candidates:
        return None
    return max(
        candidates,
        key=lambda one: (
            one.freed_blocks > 0,
            one.level,
            one.tenant_share,
            one.freed_blocks >= missing_blocks,
            -one.lost_tokens,
            one.request.order,
        ),
    ).request


def lost_tokens(num_computed_tokens: int, num_kept_blocks: int, block_size: int) -> int:
    """What a request that is stopped now has to compute again: all but the blocks that outlive it, counted from its
    first."""
    return max(0, num_computed_tokens - num_kept_blocks * block_size)
