"""How many forward passes a step makes before anybody looks at its tokens."""

from collections.abc import Iterable

from engine.kv.block_manager import BlockManager
from engine.request import Request


def passes_of_step(most: int, running: Iterable[Request], blocks: BlockManager) -> int:
    """At most `most`; 1 unless all who run only decode, want that many tokens more, and find room for them.

    To be asked when nobody waits: who comes in meanwhile waits for all passes.
    """
    passes, missing = most, 0
    for request in running:
        passes = min(passes, request.num_wanted_tokens)
        if request.num_pending_tokens != 1 or passes <= 1:
            return 1
        missing += blocks.num_blocks_for(request.num_computed_tokens + passes) - len(request.blocks)
    return passes if missing <= blocks.pool.num_free else 1
