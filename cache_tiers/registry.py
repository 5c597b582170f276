"""Table of the tiers. A tier below CPU memory is added here, in one line."""

from typing import Final

from cache_tiers.config import TierConfig
from cache_tiers.disk.tier import DiskKind
from cache_tiers.lower.tier import LowerTierKind
from cache_tiers.redis.tier import RedisKind
from cache_tiers.tier import CPU, DEVICE, Tier

LOWER_TIERS: Final[tuple[LowerTierKind, ...]] = (RedisKind(), DiskKind())
"""Tiers below CPU memory, the nearest first."""


def sealing_bytes(config: TierConfig, block_nbytes: int) -> int:
    """Return the most bytes that the threads of the lower tiers take to seal blocks."""
    return sum(kind.description.sealing_bytes(block_nbytes) for kind in LOWER_TIERS if not kind.is_off(config))


def all_tiers() -> tuple[Tier, ...]:
    """Return all tiers, on or off, the nearest first."""
    return DEVICE, CPU, *(kind.tier for kind in LOWER_TIERS)
