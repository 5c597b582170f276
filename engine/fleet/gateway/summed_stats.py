"""Statistics of all replicas as those of one engine."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass, replace
from typing import Any, cast

from cache_tiers.histogram import Histogram
from cache_tiers.lower.tier import LowerTierStats
from cache_tiers.store import CPUTierStats, StoreStats
from engine.loop.stats import BlockStats, EngineStats, RequestStats, StepStats, TierStats, TokenStats
from engine.offload.reuse_notes import ReuseStats

CURRENT: Mapping[type, frozenset[str]] = {
    RequestStats: frozenset({"running", "waiting", "loading", "following", "preempted"}),
    BlockStats: frozenset({"total", "used", "cached", "unstored", "tenants"}),
    TierStats: frozenset({"stores_refused", "cpu_tenants"}),
    ReuseStats: frozenset(field.name for field in fields(ReuseStats)) - {"spent"},
    CPUTierStats: frozenset({"used_bytes", "capacity_bytes", "held_blocks", "deferred_blocks"}),
    LowerTierStats: frozenset(
        {
            *("used_bytes", "capacity_bytes", "promised_bytes", "pending_writes", "write_lag_seconds"),
            *("retry_seconds", "refusal"),
        }
    ),
}
"""Fields that state a current value, which a replica that has ended no longer has. All others count since the start."""

GROUPS = (RequestStats, TokenStats, StepStats, BlockStats, TierStats, ReuseStats)

SHARED = frozenset({"used_bytes", "capacity_bytes", "evicted_blocks", "promised_bytes"})
"""Fields of a lower tier that describe the one server of all replicas."""


def summed(all_stats: Sequence[EngineStats]) -> EngineStats:
    """Return the sum of at least one set of statistics."""
    first, *others = all_stats
    for each in others:
        first = _sum(first, each)
    return first


def of_ended(stats: EngineStats) -> EngineStats:
    """Return the counts of a replica that has ended, without its current values."""
    return cast("EngineStats", _without_current(stats))


class EndedStats:
    """Counts of the epochs that were lost, each of them once.

    The connection to a shared replica may have broken alone. Then the same epoch comes back, and reports its counts.
    """

    def __init__(self) -> None:
        self._before: list[EngineStats] = []
        self._last: dict[int, tuple[int, EngineStats]] = {}

    @property
    def counts(self) -> list[EngineStats]:
        """The counts of all epochs that do not report any more."""
        return [*self._before, *(stats for _, stats in self._last.values())]

    def add(self, index: int, epoch: int, stats: EngineStats) -> None:
        """Keep the last statistics of an epoch of a replica, which is lost."""
        self.begin(index, epoch)
        self._last[index] = (epoch, of_ended(stats))

    def begin(self, index: int, epoch: int) -> None:
        """Note that an epoch of a replica reports from now on."""
        former, stats = self._last.pop(index, (epoch, None))
        if stats is not None and former != epoch:
            self._before = [summed([*self._before, stats])]


def _without_current(value: Any) -> Any:
    """Return `value` with empty current values, in the groups inside it too."""
    changes: dict[str, Any] = {}
    for field in fields(value):
        own = getattr(value, field.name)
        if field.name in CURRENT.get(type(value), ()):
            changes[field.name] = type(own)()
        elif isinstance(own, StoreStats):
            lower = {tier: _without_state(_without_current(each)) for tier, each in own.lower.items()}
            changes[field.name] = StoreStats(_without_current(own.cpu), lower)
        elif isinstance(own, GROUPS):
            changes[field.name] = _without_current(own)
    return replace(value, **changes)


def _without_state(stats: LowerTierStats) -> LowerTierStats:
    return replace(stats, state="ok") if stats.is_on else stats


def _sum(one: EngineStats, other: EngineStats) -> EngineStats:
    """Add the groups. The workers, replicas and routes are none of a replica's."""
    own = {field.name: getattr(one, field.name) for field in fields(one)}
    changes = {name: _of_group(value, getattr(other, name)) for name, value in own.items() if isinstance(value, GROUPS)}
    return replace(one, **changes)


def _of_group(one: Any, other: Any) -> Any:
    changes: dict[str, Any] = {}
    for field in fields(one):
        own, its = getattr(one, field.name), getattr(other, field.name)
        if field.name == "store":
            changes[field.name] = _of_tiers(own, its)
        elif field.name != "nbytes":
            changes[field.name] = _added(own, its)
    return replace(one, **changes)


def _added(one: Any, other: Any) -> Any:
    match one:
        case bool():
            return one or other
        case int() | float():
            return one + other
        case Histogram():
            total = one.copy()
            total.add(other)
            return total
        case Counter():
            return one + other
        case Mapping():
            return {
                key: _added(one[key], other[key]) if key in one and key in other else one.get(key, other.get(key))
                for key in (*one, *(key for key in other if key not in one))
            }
        case _:
            raise TypeError(f"{type(one).__name__} cannot be added")


def _of_tiers(one: StoreStats | None, other: StoreStats | None) -> StoreStats | None:
    if one is None or other is None:
        return one or other
    names = [field.name for field in fields(one.cpu)]
    cpu = replace(one.cpu, **{name: _added(getattr(one.cpu, name), getattr(other.cpu, name)) for name in names})
    lower = {tier: _of_lower(each, other.lower[tier]) for tier, each in one.lower.items() if tier in other.lower}
    return StoreStats(cpu, lower)


def _of_lower(one: LowerTierStats, other: LowerTierStats) -> LowerTierStats:
    """Add what the replicas did, and keep the worse of their states."""
    worse = other if one.state == "ok" else one
    changes: dict[str, Any] = {}
    for field in fields(one):
        own, its = getattr(one, field.name), getattr(other, field.name)
        if field.name in SHARED or field.name in ("write_lag_seconds", "retry_seconds"):
            changes[field.name] = max(own, its)
        elif field.name in ("state", "refusal"):
            changes[field.name] = getattr(worse, field.name)
        elif (not isinstance(own, str) and not is_dataclass(own)) or isinstance(own, Histogram):
            changes[field.name] = _added(own, its)
    return replace(one, **changes)
