"""Advice on the sizes of the tiers, from the hits that they would have at other sizes."""

from collections.abc import Mapping
from typing import Final

from app.schemas.response_bodies.live import TierPlan
from cache_tiers.curves.reuse_curves import FACTORS
from cache_tiers.registry import all_tiers
from cache_tiers.tier import TierId
from engine.loop.stats import EngineStats
from engine.offload.reuse_notes import ReuseStats, factor_name

DAY_SECONDS: Final = 24 * 3600

LEAST_GAIN: Final = 0.01
"""Smallest gain of the hit rate that is worth a change."""

_MOST_OF_GAIN: Final = 0.8
_TODAY: Final = FACTORS.index(1.0)


def tier_plans(stats: EngineStats, capacities: Mapping[TierId, int]) -> dict[TierId, TierPlan]:
    """Return the plan of each tier of which hits were counted.

    capacities: today's size of each tier in bytes.
    """
    reuse, rates = stats.reuse, hit_rates(stats.reuse)
    return {
        tier: _plan(reuse, tier, rates, capacity) for tier, capacity in capacities.items() if tier in rates and capacity
    }


def hit_rates(reuse: ReuseStats) -> dict[TierId, list[float]]:
    """Return the hit rate of each tier at each of `FACTORS` times its size."""
    return {tier: _rates(reuse.found[tier], asked) for tier, asked in reuse.asked.items() if asked > 0}


def _plan(reuse: ReuseStats, tier: TierId, rates: Mapping[TierId, list[float]], capacity: int) -> TierPlan:
    own = rates[tier]
    sizes = [round(capacity * factor) for factor in FACTORS]
    advised = _advised(own)
    plan: TierPlan = {
        "counted_tokens": round(reuse.counted[tier]),
        "sizes": sizes,
        "hit_rates": [round(rate, 4) for rate in own],
        "advised_bytes": None,
        "advised_hit_rate": None,
        "saved_seconds_per_day": None,
        "tenants": {
            name: [round(rate, 4) for rate in _rates(reuse.found_by_tenant[tier][name], asked)]
            for name, asked in reuse.asked_by_tenant[tier].items()
            if asked > 0
        },
    }
    if advised is not None:
        # A tier below may have the blocks already, which then need not be computed today either.
        others = [found[_TODAY] for other, found in rates.items() if _is_below(other, tier)]
        computed_less = max(0.0, own[advised] - max(own[_TODAY], *others, 0.0))
        plan["advised_bytes"], plan["advised_hit_rate"] = sizes[advised], round(own[advised], 4)
        if reuse.computing:
            plan["saved_seconds_per_day"] = round(computed_less * reuse.computing * DAY_SECONDS, 1)
    return plan


def _advised(rates: list[float]) -> int | None:
    """Return the index of the smallest size that brings most of what can be gained; None if that is too little."""
    gain = rates[-1] - rates[_TODAY]
    if gain < LEAST_GAIN:
        return None
    return next(at for at in range(_TODAY, len(rates)) if rates[at] - rates[_TODAY] >= _MOST_OF_GAIN * gain)


def _rates(found: Mapping[str, float], asked: float) -> list[float]:
    """Return the hit rate at each size. A sample may show a little less at a larger size, which cannot be."""
    rates: list[float] = []
    for factor in FACTORS:
        rate = min(1.0, found.get(factor_name(factor), 0.0) / asked)
        rates.append(max(rate, rates[-1] if rates else 0.0))
    return rates


def _is_below(tier: TierId, other: TierId) -> bool:
    order = [each.id for each in all_tiers()]
    return order.index(tier) > order.index(other)
