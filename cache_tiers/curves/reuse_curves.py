"""Curves of the hits of each tier over its size, for all tenants together and for each of the largest."""

import time
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from cache_tiers.cpu.eviction import EvictionPolicy
from cache_tiers.curves.mini_tier import MiniTier, Samples, Use
from cache_tiers.owners.block_key import BlockKey, Owner, owner_of
from cache_tiers.owners.owners import Owners
from cache_tiers.tier import TierId

FACTORS: Final = (0.25, 0.5, 1.0, 2.0, 4.0, 8.0)
"""The sizes of a curve, as multiples of the tier's size."""

MOST_TENANTS: Final = 32
OTHERS: Final = Owner(b"")

HALF_LIFE_SECONDS: Final = 6 * 3600.0
FADE_SECONDS: Final = 600.0
MOST_PART_OF_CORE: Final = 0.01
_BUDGET_SECONDS: Final = 60.0
_MOST_AGE: Final = 1 << 13
"""Age in blocks up to which uses are known."""

PolicyOf = Callable[[TierId], Callable[[], EvictionPolicy]]


@dataclass(slots=True)
class _Counts:
    """Blocks of prompts, older ones with less weight.

    asked: all of them.
    sure, found, missed: for each size, blocks that were certainly found, and of a sample of the others those that were
        found and that were not.
    """

    asked: float = 0.0
    sure: list[float] = field(default_factory=lambda: [0.0] * len(FACTORS))
    found: list[float] = field(default_factory=lambda: [0.0] * len(FACTORS))
    missed: list[float] = field(default_factory=lambda: [0.0] * len(FACTORS))

    def add(self, other: "_Counts") -> None:
        self.asked += other.asked
        for own, more in ((self.sure, other.sure), (self.found, other.found), (self.missed, other.missed)):
            own[:] = [one + another for one, another in zip(own, more, strict=True)]

    def fade(self, part: float) -> None:
        self.asked *= part
        for each in (self.sure, self.found, self.missed):
            each[:] = [count * part for count in each]

    def hits(self) -> tuple[float, ...]:
        """Return, for each size, how many of the blocks a tier of that size has."""
        sampled = zip(self.sure, self.found, self.missed, strict=True)
        return tuple(
            sure + (self.asked - sure) * found / (found + missed) if found + missed else sure
            for sure, found, missed in sampled
        )


@dataclass(frozen=True, slots=True)
class Curve:
    """Predicted hits of one tier, in blocks. Older requests count less.

    asked: blocks of prompts that were looked up.
    found: those that the tier has at each of `FACTORS` times its size.
    """

    asked: float
    found: tuple[float, ...]


class _TierCurve:
    """Counts of one tier at all sizes."""

    def __init__(self, capacity: int, make_policy: Callable[[], EvictionPolicy], owners: Owners) -> None:
        self.sizes = [MiniTier(max(1, round(capacity * factor)), make_policy, owners) for factor in FACTORS]
        self._tenants: dict[Owner, _Counts] = {}

    def note(self, use: Use, samples: Samples, owner: Owner) -> None:
        if owner not in self._tenants and len(self._tenants) >= MOST_TENANTS:
            least = min(self._tenants, key=lambda each: self._tenants[each].asked)
            others = self._tenants.pop(least)
            self._tenants.setdefault(OTHERS, _Counts()).add(others)
        counts = self._tenants.setdefault(owner, _Counts())
        counts.asked += use.num_prompt
        for at, size in enumerate(self.sizes):
            sure, found, missed = size.use(use, samples)
            counts.sure[at] += sure
            counts.found[at] += found
            counts.missed[at] += missed

    def fade(self, part: float) -> None:
        for counts in self._tenants.values():
            counts.fade(part)

    def curves(self) -> dict[Owner | None, Curve]:
        """Return the curves of the tenants, and for None that of all together."""
        total = _Counts()
        for counts in self._tenants.values():
            total.add(counts)
        found: dict[Owner | None, Curve] = {None: Curve(total.asked, total.hits())}
        for owner, counts in self._tenants.items():
            found[owner] = Curve(counts.asked, counts.hits())
        return found


class ReuseCurves:
    """Predicted hits of each tier at other sizes, from the blocks that requests use. Not thread-safe.

    A tier counts everything that it and the tiers above it have. The work is bounded: a curve that takes more than
    `MOST_PART_OF_CORE` continues with half of its sample. The memory is bounded by the samples.

    capacities: returns the size of each tier in blocks, of those whose size is known.
    policy_of: returns what makes a tier's eviction policy.
    """

    def __init__(
        self,
        capacities: Callable[[], Mapping[TierId, int]],
        policy_of: PolicyOf,
        owners: Owners,
        *,
        clock: Callable[[], float] = time.monotonic,
        cpu_clock: Callable[[], float] = time.thread_time,
    ) -> None:
        self._capacities = capacities
        self._policy_of = policy_of
        self._owners = owners
        self._clock, self._cpu_clock = clock, cpu_clock
        self._tiers: dict[TierId, _TierCurve] = {}
        self._recent = _RecentUse()
        self._since = self._faded_at = self._budget_since = self._looked_at = clock()
        self._spent = self._spent_before = 0.0
        self._observed = 0.0
        self._find_tiers()

    def note(self, chain: Sequence[BlockKey], num_prompt: int, num_found: int, marked: range) -> None:
        """Count a request that ended.

        chain: keys of the blocks of prompt and answer, from the first block on.
        num_prompt: number of the prompt's full blocks.
        num_found: number of the first blocks that a tier below CPU memory had; 0 without such a tier.
        marked: indices of the blocks that the client marked for caching.
        """
        began, now = self._cpu_clock(), self._clock()
        self._fade(now)
        use = Use(chain, num_prompt, num_found, marked, self._recent.ages(chain[:num_prompt]))
        samples, owner = Samples(chain), owner_of(chain[-1])
        for tier in self._tiers.values():
            tier.note(use, samples, owner)
        self._recent.use(chain)
        self._spent += self._cpu_clock() - began
        self._bound_work(now)

    @property
    def spent_seconds(self) -> float:
        """CPU time that the curves have taken since the start."""
        return self._spent_before + self._spent

    @property
    def observed_seconds(self) -> float:
        """Time in which the counted requests came. Older time counts less, as older requests do."""
        return self._observed + self._clock() - self._faded_at

    def curves(self) -> dict[TierId, dict[Owner | None, Curve]]:
        """Return the curves of each tier by tenant, and for None those of all tenants together."""
        self._fade(self._clock())
        return {tier: each.curves() for tier, each in self._tiers.items()}

    def _find_tiers(self) -> None:
        for tier, capacity in self._capacities().items():
            if capacity and tier not in self._tiers:
                self._tiers[tier] = _TierCurve(capacity, self._policy_of(tier), self._owners)

    def _fade(self, now: float) -> None:
        if now - self._faded_at < FADE_SECONDS:
            return
        part = 0.5 ** ((now - self._faded_at) / HALF_LIFE_SECONDS)
        self._observed = part * (self._observed + now - self._faded_at)
        self._faded_at = now
        for tier in self._tiers.values():
            tier.fade(part)
        # The memory of a server may be unknown at the start.
        self._find_tiers()

    def _bound_work(self, now: float) -> None:
        seconds = now - self._budget_since
        if seconds < _BUDGET_SECONDS:
            return
        if self._spent > MOST_PART_OF_CORE * seconds:
            for tier in self._tiers.values():
                for size in tier.sizes:
                    size.coarsen()
        self._spent_before += self._spent
        self._spent, self._budget_since = 0.0, now


class _RecentUse:
    """The ages of recently used blocks. An age is the number of blocks that were used since.

    The end of a chain is evicted first, so the blocks before it in its chain count as used later.
    """

    def __init__(self, most_age: int = _MOST_AGE) -> None:
        self._most_age = most_age
        self._used_at: OrderedDict[BlockKey, int] = OrderedDict()
        self._now = 0

    def ages(self, chain: Sequence[BlockKey]) -> list[int]:
        """Return the ages of the leading blocks of `chain` that were used recently. They increase along a chain."""
        ages: list[int] = []
        for key in chain:
            used_at = self._used_at.get(key)
            if used_at is None:
                break
            ages.append(self._now - used_at)
        return ages

    def use(self, chain: Sequence[BlockKey]) -> None:
        """Count the blocks of `chain` as used now, the first one last."""
        self._now += len(chain)
        for index in range(len(chain) - 1, -1, -1):
            self._used_at.pop(chain[index], None)
            self._used_at[chain[index]] = self._now - index
        while self._used_at and self._now - next(iter(self._used_at.values())) > self._most_age:
            self._used_at.popitem(last=False)
