"""Choice of the request to preempt when no block is free."""

from collections.abc import Sequence
from dataclasses import dataclass

from engine.request.request import Request


@dataclass(frozen=True, slots=True)
class VictimCandidate:
    """A running request that may be preempted."""

    request: Request
    level: float
    """Level that the queue gives the request; the largest is preempted first."""
    tenant_share: float
    """Share of the batch or of the blocks that its tenant holds (`Shares.of_tenant`)."""
    lost_tokens: int
    """Tokens that would have to be recomputed, because no tier has their KV."""
    freed_blocks: int
    """Blocks that no other request uses."""


def choose_victim(candidates: Sequence[VictimCandidate], missing_blocks: int) -> Request | None:
    """Choose the request to preempt; None if there is no candidate.

    Candidates are compared by, in this order: whether they free any block, the largest level, the largest share of the
    tenant, whether they free `missing_blocks`, the fewest lost tokens, and the latest arrival.
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
    """Return how many tokens a request that is preempted now has to recompute.

    num_kept_blocks: leading blocks that stay available after the preemption. block_size: tokens per block.
    """
    return max(0, num_computed_tokens - num_kept_blocks * block_size)
