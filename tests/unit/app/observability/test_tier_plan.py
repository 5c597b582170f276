"""Advice on the sizes of tiers."""

from dataclasses import replace

import pytest

from app.cli.cache_plan import advice, plan_lines
from app.observability.tier_plan import LEAST_TOKENS, tier_plans
from app.schemas.response_bodies.live import TierPlan
from cache_tiers.curves.reuse_curves import FACTORS
from cache_tiers.redis.backend import REDIS
from cache_tiers.tier import CPU, DEVICE
from engine.loop.stats import EngineStats
from engine.offload.reuse_notes import ReuseStats, factor_name

GIB = 1 << 30


def found(*rates: float) -> dict[str, float]:
    """Return the tokens per second found at each size, of 100 that were looked up."""
    return {factor_name(factor): 100 * rate for factor, rate in zip(FACTORS, rates, strict=True)}


def stats_of(cpu: dict[str, float], redis: dict[str, float] | None = None) -> EngineStats:
    tiers = {"cpu": cpu, **({"redis": redis} if redis is not None else {})}
    return EngineStats(
        reuse=ReuseStats(
            counted=dict.fromkeys(tiers, 1e6),
            asked=dict.fromkeys(tiers, 100.0),
            found=tiers,
            # 100 tokens a second, each of 2 ms.
            computing=0.2,
            asked_by_tenant={tier: {"alice": 100.0} for tier in tiers},
            found_by_tenant={tier: {"alice": rates} for tier, rates in tiers.items()},
        )
    )


def plan_of(stats: EngineStats, tier: str = "cpu") -> TierPlan:
    return tier_plans(stats, {"cpu": 8 * GIB, "redis": 16 * GIB})[tier]


GROWING = found(0.4, 0.5, 0.6, 0.7, 0.71, 0.72)


def test_advised_size_brings_most_of_the_gain() -> None:
    plan = plan_of(stats_of(GROWING))
    assert plan["sizes"] == [2 * GIB, 4 * GIB, 8 * GIB, 16 * GIB, 32 * GIB, 64 * GIB]
    assert (plan["advice"], plan["advised_bytes"], plan["advised_hit_rate"]) == ("grow", 16 * GIB, 0.7)
    assert (plan["setting"], plan["current_bytes"], plan["current_hit_rate"]) == ("cpu-kv-memory", 8 * GIB, 0.6)
    # A tenth of the computing, which takes a fifth of each day.
    assert plan["saved_seconds_per_day"] == pytest.approx(0.1 * 0.2 * 24 * 3600)
    assert plan["tenants"] == {"alice": plan["hit_rates"]}
    assert advice(CPU, plan) == (
        "With --cpu-kv-memory 16 GiB in place of 8 GiB, 70 % in place of 60 % of prompt tokens would come from CPU "
        "memory or a tier above: about 29 min of computing a day less."
    )


def test_blocks_of_a_tier_below_save_no_computing() -> None:
    plan = plan_of(stats_of(GROWING, found(0.5, 0.6, 0.72, 0.72, 0.72, 0.72)))
    assert plan["saved_seconds_per_day"] == 0
    assert "they are loaded from a tier below today" in advice(CPU, plan)


def test_seconds_of_computing_a_day_do_not_count_as_saved() -> None:
    # All but 0.0005 of the prompts' tokens are in Redis already, which would take 9 seconds of a day.
    plan = plan_of(stats_of(GROWING, found(0.5, 0.6, 0.6995, 0.72, 0.72, 0.72)))
    assert plan["saved_seconds_per_day"] == 0


def test_blocks_of_a_tier_above_do_not_count_as_below() -> None:
    plan = plan_of(stats_of(found(0.9, 0.9, 0.9, 0.9, 0.9, 0.9), GROWING), "redis")
    assert plan["saved_seconds_per_day"] == pytest.approx(0.1 * 0.2 * 24 * 3600)
    assert advice(REDIS, plan).startswith("With --redis-memory 32 GiB in place of 16 GiB,")


def test_flat_curve_has_nothing_to_gain() -> None:
    plan = plan_of(stats_of(found(0.4, 0.6, 0.6, 0.602, 0.603, 0.604)))
    assert (plan["advice"], plan["advised_bytes"]) == ("shrink", 4 * GIB)
    assert advice(CPU, plan) == "Nothing to gain: even 64 GiB would find hardly more. 4 GiB would be enough."


def test_size_of_today_may_be_the_right_one() -> None:
    plan = plan_of(stats_of(found(0.4, 0.5, 0.6, 0.602, 0.603, 0.604)))
    assert (plan["advice"], plan["advised_bytes"], plan["saved_seconds_per_day"]) == ("keep", None, None)
    assert advice(CPU, plan) == "Nothing to gain: even 64 GiB would find hardly more."


def test_noise_of_the_sample_never_lowers_a_larger_size() -> None:
    plan = plan_of(stats_of(found(0.4, 0.5, 0.6, 0.59, 0.65, 0.64)))
    assert plan["hit_rates"] == [0.4, 0.5, 0.6, 0.6, 0.65, 0.65]


def test_few_prompts_give_no_advice() -> None:
    stats = stats_of(GROWING)
    few = replace(stats, reuse=replace(stats.reuse, counted={"cpu": LEAST_TOKENS - 1.0}))
    plan = plan_of(few)
    assert (plan["advice"], plan["advised_bytes"]) == ("unknown", None)
    assert advice(CPU, plan) == "Too little is known yet: 19999 of 20000 prompt tokens were counted."


def test_server_without_prompts_has_no_plan() -> None:
    assert tier_plans(EngineStats(), {"cpu": GIB}) == {}
    assert list(plan_lines({"cpu": {"state": "ok", "plan": None}})) == [
        "No prompt was looked up yet, so nothing can be planned."
    ]


def test_lines_have_one_curve_for_each_tier() -> None:
    plan = plan_of(stats_of(GROWING))
    lines = list(plan_lines({DEVICE.id: {"plan": None}, "cpu": {"plan": plan}}))
    assert lines[0].startswith("CPU memory: ")
    assert lines[1].strip() == "2 GiB 40 %, 4 GiB 50 %, 8 GiB 60 %, 16 GiB 70 %, 32 GiB 71 %, 64 GiB 72 %"
    assert len(lines) == 3


def test_time_of_computing_may_be_unknown() -> None:
    stats = stats_of(GROWING)
    plan = plan_of(replace(stats, reuse=replace(stats.reuse, computing=0.0)))
    assert plan["saved_seconds_per_day"] is None
    assert "not known yet" in advice(CPU, plan)
