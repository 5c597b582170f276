"""Human-readable state of each tier. A state is "ok" only if there is nothing to add."""

from typing import Literal

from app.host.backend import Backend
from cache_tiers.store import StoreStats
from engine.outputs import TierName
from engine.stats import EngineStats

LATE_SECONDS = 2.0
"""Age of the oldest block waiting for Redis from which Redis is reported as slow."""


def device_words(stats: EngineStats) -> str:
    """Describe the device's block pool."""
    if stats.blocks_used == stats.blocks_total:
        return "full: requests use every block; others wait or are preempted"
    return "ok"


def cpu_words(engine: Backend, stats: EngineStats) -> str:
    """Describe the CPU tier."""
    tiers = engine.config.tiers
    if tiers is None:
        return "off: --no-prefix-cache"
    if tiers.cpu_memory == 0:
        through = "; blocks only pass through it, to and from Redis" if stats.tiers is not None else ""
        return f"off: --cpu-kv-memory 0{through}"
    if stats.stores_refused:
        return f"full: accepts no more blocks at the moment; {stats.unstored_blocks} wait on the device for room"
    return "ok"


def redis_words(note: str, tiers: StoreStats | None) -> str:
    """Describe Redis.

    note: the reason why it is off; empty if it is on.
    """
    if note or tiers is None:
        return note or "off"
    if tiers.redis_state != "ok":
        left = tiers.redis_retry_seconds
        how_long = f"for {left:.1f} s more" if left else "while one probe is in progress"
        return f"not used {how_long}: {tiers.redis_state}"
    if tiers.redis_refusal:
        return f"refuses writes, blocks are still read from it: {tiers.redis_refusal}"
    if tiers.redis_write_lag_seconds > LATE_SECONDS:
        return (
            f"slow: {tiers.redis_pending_writes} blocks are waiting to be written, the oldest for "
            f"{tiers.redis_write_lag_seconds:.0f} s"
        )
    return "ok"


def breaker_state(tiers: StoreStats) -> Literal["closed", "open", "half-open"]:
    """Return the state of the circuit breaker for Redis. Half-open: a probe is in progress."""
    if tiers.redis_state == "ok":
        return "closed"
    return "open" if tiers.redis_retry_seconds else "half-open"


def tier_words(engine: Backend, stats: EngineStats) -> dict[TierName, str]:
    """Describe all three tiers, whether on or off."""
    return {
        "device": device_words(stats),
        "cpu": cpu_words(engine, stats),
        "redis": redis_words(engine.redis_note, stats.tiers),
    }
