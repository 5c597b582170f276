"""Advice on the sizes of the tiers, from the hits that they would have at other sizes."""

from collections.abc import Mapping
from typing import Final

from app.schemas.response_bodies.live import TierPlan
from cache_tiers.curves.reuse_curves import FACTORS
from cache_tiers.registry import LOWER_TIERS, all_tiers
from cache_tiers.tier import CPU, DEVICE, TierId
from engine.loop.stats import EngineStats
from engine.offload.reuse_notes import ReuseStats, factor_name

DAY_SECONDS: Final = 24 * 3600

LEAST_TOKENS: Final = 20_000
"""Prompt tokens below which no advice is given."""

LEAST_GAIN: Final = 0.01
"""Smallest gain of the hit rate that is worth a change."""

LEAST_SAVED_SECONDS: Final = 60.0
"""Time of computing a day below which nothing counts as saved."""

_SPARE: Final = 0.005
"""Largest loss of the hit rate with which half of a tier counts as enough."""

_MOST_OF_GAIN: Final = 0.8
_TODAY: Final = FACTORS.index(1.0)
_HALF: Final = FACTORS.index(0.5)


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
    own, counted = rates[tier], round(reuse.counted[tier])
    sizes = [round(capacity * factor) for factor in FACTORS]
    plan: TierPlan = {
        "setting": _setting(tier),
        "counted_tokens": counted,
        "needed_tokens": LEAST_TOKENS,
        "sizes": sizes,
        "hit_rates": [round(rate, 4) for rate in own],
        "current_bytes": sizes[_TODAY],
        "current_hit_rate": round(own[_TODAY], 4),
        "advice": "unknown",
        "advised_bytes": None,
        "advised_hit_rate": None,
        "saved_seconds_per_day": None,
        "tenants": {
            name: [round(rate, 4) for rate in _rates(reuse.found_by_tenant[tier][name], asked)]
            for name, asked in reuse.asked_by_tenant[tier].items()
            if asked > 0
        },
    }
    if counted < LEAST_TOKENS:
        return plan
    advised = _advised(own)
    plan["advice"] = "grow" if advised > _TODAY else "shrink" if advised < _TODAY else "keep"
    if advised != _TODAY:
        plan["advised_bytes"], plan["advised_hit_rate"] = sizes[advised], round(own[advised], 4)
    if advised > _TODAY and reuse.computing:
        # A tier below may have the blocks already, which then need not be computed today either.
        others = [found[_TODAY] for other, found in rates.items() if _is_below(other, tier)]
        computed_less = max(0.0, own[advised] - max(own[_TODAY], *others, 0.0))
        saved = computed_less * reuse.computing * DAY_SECONDS
        plan["saved_seconds_per_day"] = round(saved, 1) if saved >= LEAST_SAVED_SECONDS else 0.0
    return plan


def _advised(rates: list[float]) -> int:
    """Return the index of the advised size.

    That is the smallest size that brings most of what can be gained. If that is too little, it is half of today's size
    where half finds as much, and otherwise today's size.
    """
    gain = rates[-1] - rates[_TODAY]
    if gain < LEAST_GAIN:
        return _HALF if rates[_HALF] >= rates[_TODAY] - _SPARE else _TODAY
    return next(at for at in range(_TODAY, len(rates)) if rates[at] - rates[_TODAY] >= _MOST_OF_GAIN * gain)


def _rates(found: Mapping[str, float], asked: float) -> list[float]:
    """Return the hit rate at each size. A sample may show a little less at a larger size, which cannot be."""
    rates: list[float] = []
    for factor in FACTORS:
        rate = min(1.0, found.get(factor_name(factor), 0.0) / asked)
        rates.append(max(rate, rates[-1] if rates else 0.0))
    return rates


def _setting(tier: TierId) -> str:
    """Return the name of the setting that bounds a tier."""
    own = {DEVICE.id: "kv-memory", CPU.id: "cpu-kv-memory"}
    return (own | {kind.tier.id: kind.size_setting for kind in LOWER_TIERS})[tier]


def _is_below(tier: TierId, other: TierId) -> bool:
    order = [each.id for each in all_tiers()]
    return order.index(tier) > order.index(other)
