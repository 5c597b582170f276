"""Memory of the KV cache, on the device and in the CPU tier below it."""

from dataclasses import dataclass
from typing import Final

FULL_WINDOWS: Final = 3
"""Sequences of the model's whole window that the pool holds by default.

More would help only clients with many long chats.
"""
FREE_SHARE: Final = 0.1
"""Largest share of free memory for a pool in host memory.

With the CPU tier it makes four times as much, and Redis and other processes need memory too.
"""
DEVICE_SHARE: Final = 0.8
"""Share of free memory for the pool on a device with its own memory, which no other process needs.

The rest is for activations.
"""
HOST_SHARE: Final = 0.5
"""Largest share of free host memory for the CPU tier below such a device."""
SMALL_SHARE: Final = 0.2
"""Largest share of free memory for a pool in host memory that holds less than one window otherwise."""
BOTH_SHARE: Final = 0.5
"""Largest share of free memory for a pool in host memory and the default CPU tier together."""
REDIS_SHARE: Final = 0.125
"""Largest share of the memory that is available before the start for the companion Redis."""
REDIS_MOST: Final = 2 << 30
"""Largest default of the companion Redis in bytes."""
MIN_REDIS: Final = 1 << 20
"""Smallest size of the companion Redis in bytes."""
USUAL_CHAT: Final = 2048
"""Tokens below which the pool is too small for usual chats."""
CPU_TIER_FACTOR: Final = 3
"""The CPU tier holds the same blocks as the pool above it, so it has to be larger to hold anything more."""


@dataclass(frozen=True, slots=True)
class KVBudget:
    """Sizes of the KV cache in bytes."""

    pool: int
    cpu_tier: int
    """Size of the CPU tier; 0 means that there is none."""


def kv_budget(
    kv_memory: int, cpu_memory: int | None, *, free: int, window_nbytes: int, host_free: int | None = None
) -> KVBudget:
    """Return the sizes that the settings give, or defaults that fit in free memory. All sizes are bytes.

    kv_memory: size of the pool. 0 means three whole windows, but at most a tenth of `free`, or a fifth for one window;
    on a device with its own memory, four fifths of `free`.
    cpu_memory: size of the CPU tier. None means three times the pool. With a default pool in host memory, both take at
    most half of `free`; below a device with its own memory, the tier takes at most half of `host_free`.
    free: free memory where the pool will be.
    host_free: free memory on the host if the pool is on a device with its own memory, else None.
    window_nbytes: KV of one sequence as long as the model's window.
    """
    if host_free is None:
        default = max(
            min(FULL_WINDOWS * window_nbytes, int(free * FREE_SHARE)), min(window_nbytes, int(free * SMALL_SHARE))
        )
        pool = kv_memory or default
        tier = CPU_TIER_FACTOR * pool
        if not kv_memory:
            tier = min(tier, max(0, int(free * BOTH_SHARE) - pool))
        return KVBudget(pool, tier if cpu_memory is None else cpu_memory)
    pool = kv_memory or int(free * DEVICE_SHARE)
    below = min(CPU_TIER_FACTOR * pool, int(host_free * HOST_SHARE))
    return KVBudget(pool, below if cpu_memory is None else cpu_memory)


def redis_budget(redis_memory: int | None, available: int) -> int:
    """Return the size of the companion Redis in bytes: the given one, or a part of the memory that is available.

    available: bytes available on the host before the weights are loaded.
    """
    return min(REDIS_MOST, max(MIN_REDIS, int(available * REDIS_SHARE))) if redis_memory is None else redis_memory
