"""The periodic log line of the engine's statistics."""

from collections import Counter

from engine.loop.stats import BlockStats, EngineStats, RequestStats, TokenStats
from engine.loop.stats_log import StatsLog

STATS = EngineStats(
    tokens=TokenStats(generated=50, reused=Counter(redis=10), computed=7),
    blocks=BlockStats(total=100),
)


def test_line_reports_changes_since_previous_line() -> None:
    log = StatsLog(10.0, STATS, now=100.0)
    assert not log.is_due(109.0)
    assert log.is_due(110.0)
    later = EngineStats(
        requests=RequestStats(running=3),
        tokens=TokenStats(generated=450, reused=Counter(redis=74), computed=27),
        blocks=BlockStats(total=100, used=9),
    )
    assert log.line(later, 120.0) == (
        "3 running, 0 waiting, 0 loading; 20 tokens/s generated; prompts: 20 tokens computed, 64 from Redis; "
        "9 of 100 blocks in use, 0 hold prefixes"
    )
    assert not log.is_due(129.0)
    assert "0 tokens/s generated; prompts: 0 tokens computed, none cached" in log.line(later, 130.0)
