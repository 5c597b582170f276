"""A log line about the engine every few seconds while it is busy."""

from cache_tiers.registry import all_tiers
from engine.loop.stats import EngineStats


class StatsLog:
    """Differences between snapshots. Times are in seconds on one clock."""

    def __init__(self, interval: float, stats: EngineStats, now: float) -> None:
        self._interval = interval
        self._before = stats
        self._since = now

    def is_due(self, now: float) -> bool:
        """Return True if `interval` has passed since the last line."""
        return now - self._since >= self._interval

    def line(self, stats: EngineStats, now: float) -> str:
        """Describe what happened since the last line."""
        seconds, before = max(now - self._since, 1e-9), self._before
        self._before, self._since = stats, now
        generated = stats.tokens.generated - before.tokens.generated
        computed = stats.tokens.computed - before.tokens.computed
        reused = stats.tokens.reused - before.tokens.reused
        tiers = [(reused[tier.id], tier.name) for tier in all_tiers()]
        cached = ", ".join(f"{count} from {name}" for count, name in tiers if count) or "none cached"
        return (
            f"{stats.requests.running} running, {stats.requests.waiting} waiting, {stats.requests.loading} loading; "
            f"{generated / seconds:.0f} tokens/s generated; prompts: {computed} tokens computed, {cached}; "
            f"{stats.blocks.used} of {stats.blocks.total} blocks in use, {stats.blocks.cached} hold prefixes"
        )
