"""The periodic log line of the engine's statistics."""

from collections import Counter
from dataclasses import replace

from cache_tiers.histogram import Histogram
from engine.loop.stats import EngineStats
from engine.loop.stats_log import StatsLog

SECONDS = Histogram.of_seconds()
STATS = EngineStats(
    running=0,
    waiting=0,
    loading=0,
    following=0,
    preempted=0,
    blocks_total=100,
    blocks_used=0,
    blocks_cached=0,
    block_nbytes=1,
    preemptions=0,
    reclaims=0,
    requests_finished={},
    generation_tokens=50,
    reused_tokens=Counter(redis=10),
    computed_tokens=7,
    unstored_blocks=0,
    checks={"clean": 3, "failed": 0},
    step_seconds=SECONDS,
    gap_seconds=SECONDS,
    batch_sizes=SECONDS,
    ttft_seconds=SECONDS,
    queue_seconds={},
    inter_token_seconds=SECONDS,
    tiers=None,
)


def test_line_reports_changes_since_previous_line() -> None:
    log = StatsLog(10.0, STATS, now=100.0)
    assert not log.is_due(109.0)
    assert log.is_due(110.0)
    later = replace(
        STATS, running=3, generation_tokens=450, reused_tokens=Counter(redis=74), computed_tokens=27, blocks_used=9
    )
    assert log.line(later, 120.0) == (
        "3 running, 0 waiting, 0 loading; 20 tokens/s generated; prompts: 20 tokens computed, 64 from Redis; "
        "9 of 100 blocks in use, 0 hold prefixes"
    )
    assert not log.is_due(129.0)
    assert "0 tokens/s generated; prompts: 0 tokens computed, none cached" in log.line(later, 130.0)
