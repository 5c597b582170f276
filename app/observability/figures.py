"""The engine's figures for /metrics, /health and the live stream, derived in one place so that they agree."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from cache_tiers.tier import CPU, DEVICE, TierId
from engine.loop.stats import EngineStats


@dataclass(frozen=True, slots=True, kw_only=True)
class TierFigures:
    """Figures of one tier: bytes in use now, and totals since the start.

    used_bytes: bytes in use.
    capacity_bytes: size of the tier in bytes; 0 means no limit.
    asked_tokens: prompt tokens that no higher tier had.
    found_tokens: number of those tokens that were reused from this tier.
    bytes_in, bytes_out: bytes of blocks that were copied into this tier, and from it to a neighbour.
    evicted: blocks that were evicted; below CPU memory values of any kind, including those of other programs.
    lost: number of evicted blocks that the next lower tier did not have; None for tiers below CPU memory.
    tenants: bytes held by the largest tenants, by name, and by all others together; empty if unknown.
    """

    used_bytes: int
    capacity_bytes: int
    asked_tokens: int
    found_tokens: int
    bytes_in: int
    bytes_out: int
    evicted: int
    lost: int | None = None
    tenants: Mapping[str, int] = field(default_factory=dict)


def tier_figures(stats: EngineStats) -> dict[TierId, TierFigures]:
    """Return the figures of each tier that is on."""
    size, asked, tiers = stats.blocks.nbytes, stats.tokens.asked, stats.tiers.store
    up, down = stats.tiers.copied_up * size, stats.tiers.copied_down * size
    figures: dict[TierId, TierFigures] = {
        DEVICE.id: TierFigures(
            # A block may be both used and cached. The overlap is not counted, so this is a lower bound.
            used_bytes=max(stats.blocks.used, stats.blocks.cached) * size,
            capacity_bytes=stats.blocks.total * size,
            asked_tokens=asked[DEVICE.id],
            found_tokens=stats.tokens.reused[DEVICE.id],
            bytes_in=up,
            bytes_out=down,
            evicted=stats.blocks.evicted,
            lost=stats.blocks.lost,
            tenants=stats.blocks.tenants,
        )
    }
    if tiers is None:
        return figures
    loaded = sum(each.loaded_blocks for each in tiers.lower.values()) * size
    stored = sum(each.stored_blocks for each in tiers.lower.values()) * size
    if tiers.cpu.capacity_bytes:
        figures[CPU.id] = TierFigures(
            used_bytes=tiers.cpu.used_bytes,
            capacity_bytes=tiers.cpu.capacity_bytes,
            asked_tokens=asked[CPU.id],
            found_tokens=stats.tokens.reused[CPU.id],
            bytes_in=down + loaded,
            bytes_out=up + stored,
            evicted=tiers.cpu.evicted_blocks,
            lost=tiers.cpu.lost_blocks,
            tenants=stats.tiers.cpu_tenants,
        )
    for tier, each in tiers.lower.items():
        if each.is_on:
            figures[tier] = TierFigures(
                used_bytes=each.used_bytes,
                capacity_bytes=each.capacity_bytes,
                asked_tokens=asked[tier],
                found_tokens=stats.tokens.reused[tier],
                bytes_in=each.stored_blocks * size,
                bytes_out=each.loaded_blocks * size,
                evicted=each.evicted_blocks,
            )
    return figures


def requests_by_state(stats: EngineStats) -> Mapping[str, int]:
    """Return the current number of requests by state. Each request is in one state."""
    return {
        "running": stats.requests.running,
        "waiting": stats.requests.waiting - stats.requests.preempted,
        "preempted": stats.requests.preempted,
        "loading": stats.requests.loading,
        "following": stats.requests.following,
    }
