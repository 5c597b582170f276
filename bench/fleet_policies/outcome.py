"""Outcome of one workload under one policy."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Outcome:
    """Work of the replicas in one run, and the waits of the clients.

    computed, restored: prompt tokens that were computed, and those that came from the common lower tier.
    restored_bytes: bytes that came from there.
    prompt_tokens: tokens of all prompts.
    reusable: prompt tokens that one replica with endless memory would not compute.
    busy_seconds: CPU seconds of the replicas, or simulated seconds in which they computed.
    first_token: mean seconds to the first token. first_token_p99: its 99th percentile.
    counts: requests by replica.
    """

    computed: int
    restored: int
    restored_bytes: int
    prompt_tokens: int
    reusable: int
    busy_seconds: float
    first_token: float
    first_token_p99: float
    counts: tuple[int, ...]

    @property
    def reuse(self) -> float:
        """Share of the reusable tokens that were not computed."""
        return (self.prompt_tokens - self.computed) / self.reusable if self.reusable else 1.0
