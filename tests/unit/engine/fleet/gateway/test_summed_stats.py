"""Statistics of several replicas as those of one engine."""

from dataclasses import replace
from typing import Any

from cache_tiers.lower.tier import LowerTierStats
from cache_tiers.redis.backend import REDIS
from cache_tiers.store import CPUTierStats, StoreStats
from engine.fleet.gateway.summed_stats import EndedStats, of_ended, summed
from engine.loop.stats import EngineStats, TierStats, TokenStats
from engine.offload.reuse_notes import ReuseStats
from engine.testing.replay_engine import ReplayEngine

STATS = ReplayEngine().stats()
ONE = replace(
    STATS,
    requests=replace(STATS.requests, running=2),
    tokens=TokenStats(generated=100),
    blocks=replace(STATS.blocks, total=10, used=4),
)


def with_all(**changes: Any) -> EngineStats:
    cpu = CPUTierStats(used_bytes=10, capacity_bytes=20)
    redis = replace(
        LowerTierStats(tier=REDIS, state="ok", used_bytes=40, capacity_bytes=100, stored_blocks=7), **changes
    )
    return replace(ONE, tiers=TierStats(store=StoreStats(cpu, {REDIS.id: redis})))


def test_counts_and_current_values_are_added() -> None:
    both = summed([ONE, ONE])
    assert (both.requests.running, both.blocks.total, both.tokens.generated) == (4, 20, 200)
    assert sum(both.steps.seconds.counts) == 2 * sum(ONE.steps.seconds.counts)
    assert both.blocks.nbytes == ONE.blocks.nbytes
    assert summed([both]) == both


def test_replica_that_ended_keeps_only_its_counts() -> None:
    ended = of_ended(with_all(state="it does not answer", pending_writes=3))
    assert (ended.requests.running, ended.blocks.total, ended.blocks.used, ended.tokens.generated) == (0, 0, 0, 100)
    both = summed([ended, with_all()])
    assert (both.requests.running, both.tokens.generated) == (2, 200)
    assert both.tiers.store is not None
    redis = both.tiers.store.lower[REDIS.id]
    assert (redis.state, redis.pending_writes, redis.stored_blocks) == ("ok", 0, 14)
    assert both.tiers.store.cpu.capacity_bytes == 20


def test_replica_that_ended_keeps_its_cpu_time_but_no_hit_rates() -> None:
    planned = replace(ONE, reuse=ReuseStats(asked={"cpu": 2.0}, spent=0.5))
    both = summed([of_ended(planned), planned])
    assert (both.reuse.asked, both.reuse.spent) == ({"cpu": 2.0}, 1.0)


def test_shared_tier_shows_the_worse_state_and_one_capacity() -> None:
    both = summed([with_all(), with_all(state="it does not answer", used_bytes=50)])
    assert both.tiers.store is not None
    redis = both.tiers.store.lower[REDIS.id]
    assert (redis.state, redis.capacity_bytes, redis.used_bytes) == ("it does not answer", 100, 50)
    assert both.tiers.store.cpu.capacity_bytes == 40


def test_epoch_that_comes_back_is_counted_once() -> None:
    ended = EndedStats()
    ended.add(0, 1, ONE)
    assert summed(ended.counts).tokens.generated == 100
    ended.begin(0, 1)
    assert ended.counts == []
    ended.add(0, 1, ONE)
    ended.begin(0, 2)
    ended.add(0, 2, ONE)
    ended.add(1, 3, ONE)
    ended.begin(0, 4)
    assert summed(ended.counts).tokens.generated == 300
