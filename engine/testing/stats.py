"""Statistics of an engine that has done nothing."""

from collections import Counter

from cache_tiers.histogram import Histogram
from engine.loop.stats import EngineStats


def no_stats() -> EngineStats:
    """Return the statistics of an engine that has done nothing."""
    nothing = Histogram.of_seconds()
    return EngineStats(
        running=0,
        waiting=0,
        loading=0,
        following=0,
        preempted=0,
        blocks_total=1,
        blocks_used=0,
        blocks_cached=0,
        block_nbytes=1,
        preemptions=0,
        reclaims=0,
        requests_finished={},
        generation_tokens=0,
        reused_tokens=Counter(),
        computed_tokens=0,
        unstored_blocks=0,
        checks={"clean": 0, "failed": 0},
        step_seconds=nothing,
        gap_seconds=nothing,
        batch_sizes=Histogram.of_counts(),
        ttft_seconds=nothing,
        queue_seconds={},
        inter_token_seconds=nothing,
        tiers=None,
    )
