"""The engine's numbers as /metrics, /health and the live stream tell them: counted in one place, so that they agree."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from engine.stats import EngineStats

Tier = Literal["device", "cpu", "redis"]


@dataclass(frozen=True, slots=True)
class TierFigures:
    """Bytes now (capacity_bytes 0: no limit); since the start the rest.

    asked_tokens: of prompts, that no tier above had; found_tokens: those of them that were reused from this one.
    tenants: bytes that the largest tenants hold, and all others together, by name; empty where that is not known.
    bytes_in, bytes_out: of blocks that came into it, and that were copied from it to a neighbour. evicted: blocks that
    made room for others; in Redis values, whoever wrote them. lost: of these, blocks that the tier below did not have.
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


def tier_figures(stats: EngineStats) -> dict[Tier, TierFigures]:
    """Of each tier that is on."""
    size, asked, tiers = stats.block_nbytes, stats.asked_tokens, stats.tiers
    up, down = stats.copied_up_blocks * size, stats.copied_down_blocks * size
    figures: dict[Tier, TierFigures] = {
        "device": TierFigures(
            # A block can be used and cached at once; how many are both is not counted.
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
    """Requests now; each is in one state."""
    return {
        "running": stats.running,
        "waiting": stats.waiting - stats.preempted,
        "preempted": stats.preempted,
        "loading": stats.loading,
        "following": stats.following,
    }
