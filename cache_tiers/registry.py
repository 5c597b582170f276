"""Table of the tiers. A tier below CPU memory is added here, in one line."""

from typing import Final

from cache_tiers.disk.tier import DiskKind
from cache_tiers.lower.tier import LowerTierKind
from cache_tiers.redis.tier import RedisKind
from cache_tiers.tier import CPU, DEVICE, Tier

LOWER_TIERS: Final[tuple[LowerTierKind, ...]] = (RedisKind(), DiskKind())
"""Tiers below CPU memory, the nearest first."""


def all_tiers() -> tuple[Tier, ...]:
    """Return all tiers, on or off, the nearest first."""
    return DEVICE, CPU, *(kind.tier for kind in LOWER_TIERS)
