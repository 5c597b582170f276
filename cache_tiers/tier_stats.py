"""Statistics of the tiers from those of their parts."""

from collections.abc import Mapping

from cache_tiers.block_key import Owner
from cache_tiers.redis.block_client import BlockClientStats
from cache_tiers.store import StoreStats


def tier_stats(
    cpu_used_bytes: int,
    cpu_capacity_bytes: int,
    cpu_evicted_blocks: int,
    cpu_lost_blocks: int,
    cpu_held_blocks: Mapping[Owner, int],
    redis: BlockClientStats,
) -> StoreStats:
    """Put together what a store tells of itself."""
    return StoreStats(
        cpu_used_bytes=cpu_used_bytes,
        cpu_capacity_bytes=cpu_capacity_bytes,
        redis_state=redis.state,
        redis_used_bytes=redis.used_bytes,
        redis_capacity_bytes=redis.limit_bytes,
        redis_pending_writes=redis.pending,
        redis_write_lag_seconds=redis.lag_seconds,
        redis_stored_blocks=redis.stored,
        redis_failed_blocks=redis.failed,
        redis_loaded_blocks=redis.loaded,
        redis_rejects={reject.name.lower(): count for reject, count in redis.rejected.items()},
        redis_speed=redis.speed,
        redis_retry_seconds=redis.retry_seconds,
        redis_refusal=redis.refusal,
        redis_lookup_seconds=redis.lookup_seconds,
        redis_store_seconds=redis.store_seconds,
        cpu_evicted_blocks=cpu_evicted_blocks,
        cpu_lost_blocks=cpu_lost_blocks,
        redis_shed_blocks=redis.shed,
        cpu_held_blocks=cpu_held_blocks,
        redis_evicted_keys=redis.evicted_keys,
    )
