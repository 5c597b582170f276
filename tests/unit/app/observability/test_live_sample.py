"""Samples of the live view, whose rates are differences of the counters in /metrics."""

from collections import Counter
from dataclasses import replace

import pytest

from app.observability.live_sample import Reading, sample_of
from app.schemas.response_bodies.live import TierSample
from cache_tiers.histogram import Histogram
from cache_tiers.lower.tier import LowerTierStats
from cache_tiers.redis.backend import REDIS
from cache_tiers.store import CPUTierStats, StoreStats
from engine.loop.stats import EngineStats, ReplicaState, RouteStats, TierStats, TokenStats
from engine.testing.replay_engine import ReplayEngine

CPU_STATS = CPUTierStats(used_bytes=10, capacity_bytes=100)
REDIS_STATS = LowerTierStats(tier=REDIS, state="ok", used_bytes=5, capacity_bytes=50, stored_blocks=4, loaded_blocks=2)


def tiers_of(redis: LowerTierStats = REDIS_STATS, cpu: CPUTierStats = CPU_STATS) -> StoreStats:
    """Build statistics of the tiers below the device."""
    return StoreStats(cpu, {REDIS.id: redis})


@pytest.fixture
def engine() -> ReplayEngine:
    engine = ReplayEngine()
    engine.tier_notes = {"redis": ""}
    return engine


def stats_of(engine: ReplayEngine) -> EngineStats:
    """Build statistics with tiers. A block has 1,000 bytes."""
    return replace(
        engine.stats(),
        tokens=TokenStats(asked=Counter(device=100, cpu=40, redis=20)),
        tiers=TierStats(store=tiers_of()),
    )


def with_tiers(stats: EngineStats, redis: LowerTierStats) -> EngineStats:
    return replace(stats, tiers=replace(stats.tiers, store=tiers_of(redis)))


def test_rates_are_per_second_and_hit_rates_over_a_minute(engine: ReplayEngine) -> None:
    before = stats_of(engine)
    after = replace(
        before,
        tokens=TokenStats(
            generated=30, prefilled=512, reused=Counter(cpu=24), asked=Counter(device=132, cpu=72, redis=28)
        ),
        blocks=replace(before.blocks, evicted=6),
        tiers=TierStats(
            copied_up=8,
            copied_down=2,
            store=tiers_of(
                replace(REDIS_STATS, stored_blocks=5, loaded_blocks=6, evicted_blocks=2),
                replace(CPU_STATS, evicted_blocks=4),
            ),
        ),
    )
    first, now = Reading.of(before, 10.0), Reading.of(after, 12.0)
    sample = sample_of(engine, after, now, first, first)
    assert sample["generated_tokens_per_second"] == 15
    assert sample["prompt_tokens_per_second"] == {"device": 0, "cpu": 12, "redis": 0, "disk": 0, "computed": 256}
    assert sample["breaker"] == "closed"
    moved = {
        tier: [told[name] for name in ("bytes_in_per_second", "bytes_out_per_second", "evictions_per_second")]
        for tier, told in sample["tiers"].items()
    }
    assert moved == {"device": [4000, 1000, 3], "cpu": [3000, 4500, 2], "redis": [500, 2000, 1]}
    assert {tier: told["hit_rate"] for tier, told in sample["tiers"].items()} == {
        "device": 0,
        "cpu": 0.75,
        "redis": 0,
    }


def test_batch_size_is_mean_of_steps_since_last_sample(engine: ReplayEngine) -> None:
    stats = stats_of(engine)
    first = Reading.of(stats, 10.0)
    for size in (2, 3):
        stats.steps.batch_sizes.observe(size)
    sample = sample_of(engine, stats, Reading.of(stats, 11.0), first, first)
    assert sample["batch_size"] == 2.5
    # Without a step there is no batch size.
    later = Reading.of(stats, 12.0)
    assert sample_of(engine, stats, later, later, later)["batch_size"] is None


def test_restarted_redis_gives_no_negative_rate(engine: ReplayEngine) -> None:
    before = with_tiers(stats_of(engine), replace(REDIS_STATS, evicted_blocks=9))
    after = stats_of(engine)
    sample = sample_of(engine, after, Reading.of(after, 2.0), Reading.of(before, 1.0), Reading.of(before, 1.0))
    assert sample["tiers"]["redis"]["evictions_per_second"] == 0


@pytest.mark.parametrize(("left", "breaker"), [(0.4, "open"), (0.0, "half-open")])
def test_unavailable_redis_is_shown_with_its_breaker(engine: ReplayEngine, left: float, breaker: str) -> None:
    redis = replace(REDIS_STATS, state="connection refused", retry_seconds=left)
    away = with_tiers(stats_of(engine), redis)
    now = Reading.of(away, 1.0)
    sample = sample_of(engine, away, now, now, now)
    assert sample["breaker"] == breaker
    assert "connection refused" in sample["tiers"]["redis"]["state"]


def test_disabled_tier_has_only_its_state(engine: ReplayEngine) -> None:
    engine.tier_notes = {"redis": "off: no redis-server"}
    stats = engine.stats()
    now = Reading.of(stats, 1.0)
    sample = sample_of(engine, stats, now, now, now)
    assert sample["tiers"]["redis"] == {"state": "off: no redis-server"}
    assert sample["breaker"] is None


def test_sample_names_tenants_of_device_and_cpu_memory(engine: ReplayEngine) -> None:
    stats = stats_of(engine)
    stats = replace(
        stats,
        blocks=replace(stats.blocks, tenants={"a": 1000}),
        tiers=replace(stats.tiers, cpu_tenants={"a": 2000, "(others)": 5}),
    )
    reading = Reading.of(stats, 10.0)
    tiers = sample_of(engine, stats, reading, reading, reading)["tiers"]
    assert tiers["device"]["tenants"] == {"a": 1000}
    assert tiers["cpu"]["tenants"] == {"a": 2000, "(others)": 5}
    assert tiers["redis"]["tenants"] == {}


def test_tier_that_is_on_has_every_field(engine: ReplayEngine) -> None:
    stats = stats_of(engine)
    reading = Reading.of(stats, 10.0)
    tiers = sample_of(engine, stats, reading, reading, reading)["tiers"]
    # A tier that is off may lack a field, so mypy does not miss it.
    assert {tier: sample.keys() for tier, sample in tiers.items()} == dict.fromkeys(
        tiers, TierSample.__annotations__.keys()
    )


def test_replicas_and_routes_are_those_of_the_fleet(engine: ReplayEngine) -> None:
    def fleet(reasons: dict[str, int], *waits: float) -> EngineStats:
        predicted, seen = Histogram.of_seconds(), Histogram.of_seconds()
        for wait in waits:
            predicted.observe(wait / 2)
            seen.observe(wait)
        state = ReplicaState(
            index=0, state="ok", epoch=3, machine="here", pid=7, answers=2, restarts=1, last_loss="it died"
        )
        return replace(stats_of(engine), replicas=(state,), routes=RouteStats(reasons, 4, predicted, seen))

    first = Reading.of(fleet({"prefix": 2}, 9.0), 10.0)
    after = fleet({"prefix": 6, "load": 2}, 9.0, 1.0, 3.0)
    sample = sample_of(engine, after, Reading.of(after, 12.0), first, first)
    assert sample["replicas"] == [{"index": 0, "state": "ok", "answers": 2, "restarts": 1}]
    assert sample["routes"] == {
        "reasons": {"prefix": 2, "load": 1},
        "takeovers": 4,
        "predicted_seconds": 1.0,
        "seen_seconds": 2.0,
    }
    alone = stats_of(engine)
    now = Reading.of(alone, 1.0)
    assert (sample_of(engine, alone, now, now, now)["replicas"], sample_of(engine, alone, now, now, now)["routes"]) == (
        [],
        None,
    )
