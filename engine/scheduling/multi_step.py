"""Multi-step decoding: the number of forward passes that a step makes before its tokens return to the scheduler."""

from collections.abc import Iterable

from engine.block_tables.block_manager import BlockManager
from engine.request.request import Request

LONGEST_STEP_SECONDS = 0.05
"""Longest step with several passes where no target for the time between tokens is set.

At 20 pieces of text a second a stream looks steady, and a request that arrives during the step waits no longer.
"""

FIRST_TOKENS = 4
"""Tokens at the start of an answer that are decoded one per step.

Text may begin only with the second or third token, and the user is waiting for it.
"""


def passes_within(most: int, pass_seconds: float | None, longest_seconds: float) -> int:
    """Return how many passes fit in `longest_seconds`, at least 1 and at most `most`.

    pass_seconds: seconds of one pass; None if not known yet, which gives 1.
    """
    if pass_seconds is None:
        return 1
    return max(1, min(most, int(longest_seconds / pass_seconds))) if pass_seconds > 0 else most


def passes_of_step(most: int, running: Iterable[Request], blocks: BlockManager) -> int:
    """Return how many passes the next step may make with the requests `running`, at most `most`.

    The result is 1 unless every request only decodes, has produced `FIRST_TOKENS` tokens, still wants more than one
    token, finds room for all of them, and can be sampled before the scheduler knows the tokens before it.

    Call only while no request waits, since a request that arrives during the step waits for all passes.
    """
    passes, missing = most, 0
    for request in running:
        passes = min(passes, request.num_wanted_tokens)
        # A request that the workers do not know is sent with its prompt, even if only its last token is to be computed.
        if request.needs_known_tokens or not request.known_to_worker:
            return 1
        if request.num_pending_tokens != 1 or request.num_produced_tokens < FIRST_TOKENS or passes <= 1:
            return 1
        missing += blocks.num_blocks_for(request.num_computed_tokens + passes) - len(request.blocks)
    return passes if missing <= blocks.pool.num_free else 1
