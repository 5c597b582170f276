"""Names of conversations, messages, runs and requests: a prefix, then 32 hex digits that grow with time."""

import secrets
import time


def new_ids(prefix: str, count: int) -> list[str]:
    """Make ids in ascending order. Messages of the same time are ordered by their ids."""
    return sorted(new_id(prefix) for _ in range(count))


def new_id(prefix: str) -> str:
    """Make an id such as "conv_" + 12 hex digits of Unix milliseconds + 20 random ones: sortable, not guessable."""
    return f"{prefix}_{time.time_ns() // 1_000_000:012x}{secrets.token_hex(10)}"
