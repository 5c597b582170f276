"""Number of blocks that a step copies down."""

MAX_STORES = 16
"""Stores per step, including stores of earlier steps that are still in flight."""
MAX_STORES_AT_REST = 4
"""Stores per step while the server is idle."""


def stores_of_step(last_step_tokens: int, *, others_wait: bool) -> int:
    """Return how many blocks a step may store. Requests in the step, or arriving during it, wait for the copies.

    Streams that began together fill their blocks together, so the stores are spread over steps. A store per eight
    tokens is eight times the rate at which blocks of 64 tokens fill.

    last_step_tokens: tokens that the previous step computed.
    """
    if last_step_tokens:
        return min(max(1, last_step_tokens // 8), MAX_STORES)
    return 1 if others_wait else MAX_STORES_AT_REST
