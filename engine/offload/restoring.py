"""Loads in flight that restore prefixes, and the counts of what they restored."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

from cache_tiers.moves.loads import LoadOutcome
from cache_tiers.owners.block_key import BlockKey
from cache_tiers.tier import TierId
from engine.api.outputs import KVReceipt
from engine.offload.stored_partials import StoredPartial
from engine.request.request import Request, Restored


@dataclass(slots=True, kw_only=True)
class Restoring:
    """A load in flight that restores a prefix into a request's block table."""

    request: Request
    num_before: int
    """Blocks in the table before those of the load."""
    num_blocks: int
    """Blocks that the load should bring."""
    partial: StoredPartial | None = None
    """The last block of the load if it is only partly filled."""
    keys: Sequence[BlockKey] = ()
    num_computed: int = 0
    """Tokens that the request had computed before the load began; 0 if it had not run."""
    aborted: bool = False
    """Whether the request has finished, so that its blocks are freed when the load ends."""
    erased: bool = False
    """Whether the loaded blocks must not be published."""
    lost: bool = False
    """Whether the device's memory was lost, and the loaded blocks with it."""

    def num_restored(self, outcome: LoadOutcome, block_size: int) -> int:
        """Return how many leading tokens have their KV on the device now. At least one token is left to compute."""
        tokens = (self.num_before + outcome.num_blocks) * block_size
        if self.partial is not None and outcome.num_blocks == self.num_blocks:
            tokens -= block_size - self.partial.num_tokens
        return min(tokens, self.request.num_tokens - 1)

    def restored(self, outcome: LoadOutcome, end: int, block_size: int) -> Restored:
        """Count the tokens before `end` that this load restored, by tier. The last block may be needed only partly."""
        tokens = max(0, end - self.num_before * block_size)
        by_tier = Counter[TierId]()
        for index, source in enumerate(outcome.sources):
            by_tier[source] += max(0, min(block_size, tokens - index * block_size))
        return Restored(by_tier, outcome.seconds)


def with_restored(receipt: KVReceipt, tokens: int, restored: Restored) -> KVReceipt:
    """Move `tokens` from computed to restored in the receipt of a request that had already begun to compute.

    Tokens that are recomputed after a preemption are in no receipt, so at most `receipt.computed` tokens are moved.
    """
    tokens = min(tokens, receipt.computed)
    return replace(
        receipt,
        reused=receipt.reused + restored.first(tokens),
        computed=receipt.computed - tokens,
        restore_ms=receipt.restore_ms + restored.seconds * 1e3,
    )
