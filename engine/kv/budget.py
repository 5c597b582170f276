"""How much memory the KV cache takes, on the device and in the CPU tier below it."""

from dataclasses import dataclass
from typing import Final

FULL_WINDOWS: Final = 3
"""Sequences of the model's whole window that the pool holds by default: more only helps whoever has many long chats."""
FREE_SHARE: Final = 0.1
"""Of what is free; with the CPU tier it is four times that, and Redis and others want memory too."""
DEVICE_SHARE: Final = 0.8
"""Of what is free on a device with memory of its own, which nobody else wants: the rest is for activations."""
HOST_SHARE: Final = 0.5
"""Most that the CPU tier below such a device takes of what is free on the host."""
CPU_TIER_FACTOR: Final = 3
"""The CPU tier holds the same blocks as the pool above it, so it has to be larger to hold anything more."""


@dataclass(frozen=True, slots=True)
class KVBudget:
    """In bytes. cpu_tier: 0 means that there is none."""

    pool: int
    cpu_tier: int


def kv_budget(
    kv_memory: int, cpu_memory: int | None, *, free: int, window_nbytes: int, host_free: int | None = None
) -> KVBudget:
    """What the settings say, and where they say nothing, what is free allows.

    kv_memory: bytes of the pool; 0 means three whole windows, but at most a tenth of `free`, whatever the model; on a
    device with memory of its own four fifths of `free`.
    cpu_memory: bytes of the CPU tier; None means three times the pool, below such a device at most half of `host_free`.
    free: where the pool will be. host_free: on the host, if the pool is elsewhere.
    window_nbytes: KV of one sequence as long as the window.
    """
    if host_free is None:
        pool = kv_memory or min(FULL_WINDOWS * window_nbytes, int(free * FREE_SHARE))
        return KVBudget(pool, CPU_TIER_FACTOR * pool if cpu_memory is None else cpu_memory)
    pool = kv_memory or int(free * DEVICE_SHARE)
    below = min(CPU_TIER_FACTOR * pool, int(host_free * HOST_SHARE))
    return KVBudget(pool, below if cpu_memory is None else cpu_memory)
