"""Predicted work that a request would wait for on a replica. The only part of the router that knows a unit."""

from dataclasses import dataclass
from typing import Final

ANSWER_TOKENS: Final = 64
"""Prompt tokens that take about as long as the steps that a running answer shares with a new one."""


@dataclass(slots=True)
class ReplicaLoad:
    """Work that a replica has.

    waiting_tokens: prompt tokens of answers without a first token, which the replica had not computed before.
    answers: answers that have not ended.
    """

    waiting_tokens: int = 0
    answers: int = 0


def predicted_work(load: ReplicaLoad, new_tokens: int) -> int:
    """Return the work, in prompt tokens, until a request with `new_tokens` to compute has its first token."""
    return load.waiting_tokens + new_tokens + ANSWER_TOKENS * load.answers
