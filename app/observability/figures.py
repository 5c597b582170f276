"""The engine's figures for /metrics, /health and the live stream, derived in one place so that they agree."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from engine.outputs import TierName
from engine.stats import EngineStats


@dataclass(frozen=True, slots=True)
class TierFigures:
    """Figures of one tier: bytes in use now, and totals since the start.

    used_bytes: bytes in use.
    capacity_bytes: size of the tier in bytes; 0 means no limit.
    asked_tokens: prompt tokens that no higher tier had.
    found_tokens: number of those tokens that were reused from this tier.
    bytes_in, bytes_out: bytes of blocks that were copied into this tier, and from it to a neighbour.
    evicted: blocks that were evicted; in Redis values of any kind, including those of other programs.
    lost: number of evicted blocks that the next lower tier did not have.
    tenants: bytes held by the largest tenants, by name, and by all others together; empty if unknown.
    """

    used_bytes: int
    capacity_bytes: int
    asked_tokens: int
    found_tokens: int
    bytes_in: int
    bytes_out: int
    evicted: int
    lost: int = 0
    tenants: Mapping[str, int] = field(default_factory=dict)


def tier_figures(stats: EngineStats) -> dict[TierName, TierFigures]:
    """Return the figures of each tier that is on."""
    size, asked, tiers = stats.block_nbytes, stats.asked_tokens, stats.tiers
    up, down = stats.copied_up_blocks * size, stats.copied_down_blocks * size
    figures: dict[TierName, TierFigures] = {
        "device": TierFigures(
            # A block may be both used and cached. The overlap is not counted, so this is a lower bound.
            used_bytes=max(stats.blocks_used, stats.blocks_cached) * size,
            capacity_bytes=stats.blocks_total * size,
            asked_tokens=asked.get("device", 0),
            found_tokens=stats.device_tokens,
            bytes_in=up,
            bytes_out=down,
            evicted=stats.evicted_blocks,
            lost=stats.lost_blocks,
            tenants=stats.device_tenants,
        )
    }
    if tiers is None:
        return figures
    loaded, stored = tiers.redis_loaded_blocks * size, tiers.redis_stored_blocks * size
    if tiers.cpu_capacity_bytes:
        figures["cpu"] = TierFigures(
            used_bytes=tiers.cpu_used_bytes,
            capacity_bytes=tiers.cpu_capacity_bytes,
            asked_tokens=asked.get("cpu", 0),
            found_tokens=stats.cpu_tokens,
            bytes_in=down + loaded,
            bytes_out=up + stored,
            evicted=tiers.cpu_evicted_blocks,
            lost=tiers.cpu_lost_blocks,
            tenants=stats.cpu_tenants,
        )
    if tiers.redis_state != "off":
        figures["redis"] = TierFigures(
            used_bytes=tiers.redis_used_bytes,
            capacity_bytes=tiers.redis_capacity_bytes,
            asked_tokens=asked.get("redis", 0),
            found_tokens=stats.redis_tokens,
            bytes_in=stored,
            bytes_out=loaded,
            evicted=tiers.redis_evicted_keys,
        )
    return figures


def requests_by_state(stats: EngineStats) -> Mapping[str, int]:
    """Return the current number of requests by state. Each request is in one state."""
    return {
        "running": stats.running,
        "waiting": stats.waiting - stats.preempted,
        "preempted": stats.preempted,
        "loading": stats.loading,
        "following": stats.following,
    }
