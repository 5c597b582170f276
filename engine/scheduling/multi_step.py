"""How many forward passes a step makes before anybody looks at its tokens."""

from collections.abc import Iterable

from engine.kv.block_manager import BlockManager
from engine.request import Request

LONGEST_STEP_SECONDS = 0.05
"""Of a step with several passes, where no target for the time between tokens is set: 20 pieces of text a second look
like a steady stream, and who comes in meanwhile waits no longer than that."""

FIRST_TOKENS = 4
"""The first tokens of an answer come one by one: its text may begin with the second or third, which somebody awaits."""


def passes_within(most: int, pass_seconds: float | None, longest_seconds: float) -> int:
    """At most `most`, and as many as `longest_seconds` hold, but at least 1. pass_seconds: None if not known yet."""
    if pass_seconds is None:
        return 1
    return max(1, min(most, int(longest_seconds / pass_seconds))) if pass_seconds > 0 else most


def passes_of_step(most: int, running: Iterable[Request], blocks: BlockManager) -> int:
    """At most `most`; 1 unless all who run only decode, have begun, want that many tokens more, find room for them, and
    can go on before they know them.

    To be asked when nobody waits: who comes in meanwhile waits for all passes.
    """
    passes, missing = most, 0
    for request in running:
        passes = min(passes, request.num_wanted_tokens)
        if request.needs_known_tokens:
            return 1
        if request.num_pending_tokens != 1 or request.num_produced_tokens < FIRST_TOKENS or passes <= 1:
            return 1
        missing += blocks.num_blocks_for(request.num_computed_tokens + passes) - len(request.blocks)
    return passes if missing <= blocks.pool.num_free else 1
