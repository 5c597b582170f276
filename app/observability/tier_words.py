"""Human-readable state of each tier. A state is "ok" only if there is nothing to add."""

from typing import Literal

from app.host.backend import Backend
from app.host.hidden_folders import without_folders
from cache_tiers.lower.tier import LowerTierStats
from cache_tiers.store import StoreStats
from cache_tiers.tier import CPU, DEVICE, TierId
from engine.loop.stats import EngineStats

LATE_SECONDS = 2.0
"""Age of the oldest block waiting to be written from which a tier is reported as slow."""


def device_words(stats: EngineStats) -> str:
    """Describe the device's block pool."""
    if stats.blocks.used == stats.blocks.total:
        return "full: requests use every block; others wait or are preempted"
    return "ok"


def cpu_words(engine: Backend, stats: EngineStats) -> str:
    """Describe the CPU tier."""
    tiers = engine.config.cache.tiers
    if tiers is None:
        return "off: --no-prefix-cache"
    if tiers.cpu_memory == 0:
        through = "; blocks only pass through it, to and from the tiers below" if stats.tiers.store is not None else ""
        return f"off: --cpu-kv-memory 0{through}"
    if stats.tiers.stores_refused:
        return f"full: accepts no more blocks at the moment; {stats.blocks.unstored} wait on the device for room"
    return "ok"


def lower_tier_words(note: str, stats: LowerTierStats | None) -> str:
    """Describe a tier below CPU memory.

    note: the reason why it is off; empty if it is on.
    """
    if note or stats is None:
        return note or "off"
    if stats.state != "ok":
        left = stats.retry_seconds
        how_long = f"for {left:.1f} s more" if left else "while one probe is in progress"
        return f"not used {how_long}: {stats.state}"
    if stats.refusal:
        return f"refuses writes, blocks are still read from it: {stats.refusal}"
    if stats.write_lag_seconds > LATE_SECONDS:
        return (
            f"slow: {stats.pending_writes} blocks are waiting to be written, the oldest for "
            f"{stats.write_lag_seconds:.0f} s"
        )
    return "ok"


def breaker_state(tiers: StoreStats) -> Literal["closed", "open", "half-open"] | None:
    """Return the state of the lower tiers' circuit breakers: the worst of them; None if no lower tier is on.

    Half-open: a probe is in progress.
    """
    lower = [each for each in tiers.lower.values() if each.is_on]
    failing = [each for each in lower if each.state != "ok"]
    if not failing:
        return "closed" if lower else None
    return "open" if any(each.retry_seconds for each in failing) else "half-open"


def tier_words(engine: Backend, stats: EngineStats) -> dict[TierId, str]:
    """Describe all tiers, whether on or off."""
    lower = stats.tiers.store.lower if stats.tiers.store is not None else {}
    return {
        DEVICE.id: device_words(stats),
        CPU.id: cpu_words(engine, stats),
        **{tier: without_folders(lower_tier_words(note, lower.get(tier))) for tier, note in engine.tier_notes.items()},
    }
