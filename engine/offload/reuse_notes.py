"""Ended requests, as counts of the curves of reuse."""

import time
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Final

from cache_tiers.cpu.eviction import EvictionName, make_eviction
from cache_tiers.curves.reuse_curves import FACTORS, Curve, ReuseCurves
from cache_tiers.owners.block_key import Owner
from cache_tiers.owners.owners import OTHERS, Owners
from cache_tiers.store import KVTierStore
from cache_tiers.tier import CPU, DEVICE, TierId
from engine.request.request import Request

_MOST_NAMED: Final = 8
_FRESH_SECONDS: Final = 5.0


@dataclass(frozen=True, slots=True, kw_only=True)
class ReuseStats:
    """Tokens of full blocks of prompts that each tier would find at other sizes. Recent requests count more.

    counted: tokens on which the figures of a tier are based.
    asked: tokens per second that were looked up.
    found: the part of these that a tier has with a multiple of its size, by the multiple as text.
    computing: seconds per second that computing all of these tokens would take; 0 if unknown.
    spent: CPU seconds that these counts have taken since the start.
    asked_by_tenant, found_by_tenant: the same for the largest tenants, by name, and for the others together.
    """

    counted: dict[TierId, float] = field(default_factory=dict)
    asked: dict[TierId, float] = field(default_factory=dict)
    found: dict[TierId, dict[str, float]] = field(default_factory=dict)
    computing: float = 0.0
    spent: float = 0.0
    asked_by_tenant: dict[TierId, dict[str, float]] = field(default_factory=dict)
    found_by_tenant: dict[TierId, dict[str, dict[str, float]]] = field(default_factory=dict)


class ReuseNotes:
    """Notes of the requests that ended, for the curves.

    has_below: returns whether a tier below CPU memory delivers blocks.
    """

    def __init__(self, curves: ReuseCurves, owners: Owners, *, block_size: int, has_below: Callable[[], bool]) -> None:
        self._curves = curves
        self._owners = owners
        self._block_size = block_size
        self._has_below = has_below
        self._stats = ReuseStats()
        self._made_at = float("-inf")

    def note(self, request: Request) -> None:
        """Count a request that ended while it ran. A request that leaves no KV is not counted."""
        if not (request.keeps_kv and request.num_published_blocks):
            return
        chain = request.block_keys[: request.num_published_blocks]
        cached = request.receipt.cached // self._block_size if request.receipt is not None else 0
        self._curves.note(
            chain,
            min(request.num_prompt_tokens // self._block_size, len(chain)),
            min(cached, len(chain)) if self._has_below() else 0,
            request.marked_blocks(self._block_size),
        )

    def stats(self, token_seconds: float) -> ReuseStats:
        """Return the figures, which may be some seconds old.

        token_seconds: time to compute a token of a prompt; 0 if unknown.
        """
        now = time.monotonic()
        if now - self._made_at >= _FRESH_SECONDS:
            made = self._make_stats()
            most_asked = max(made.asked.values(), default=0.0)
            self._made_at, self._stats = (
                now,
                replace(made, computing=most_asked * token_seconds, spent=self._curves.spent_seconds),
            )
        return self._stats

    def _make_stats(self) -> ReuseStats:
        stats = ReuseStats()
        per_second = self._block_size / max(1.0, self._curves.observed_seconds)
        for tier, curves in self._curves.curves().items():
            total = curves[None]
            stats.counted[tier] = total.asked * self._block_size
            stats.asked[tier] = total.asked * per_second
            stats.found[tier] = _by_factor(total, per_second)
            named = self._by_name(curves)
            stats.asked_by_tenant[tier] = {
                name: sum(each.asked for each in found) * per_second for name, found in named.items()
            }
            stats.found_by_tenant[tier] = {
                name: dict(sum((Counter(_by_factor(each, per_second)) for each in found), Counter()))
                for name, found in named.items()
            }
        return stats

    def _by_name(self, curves: Mapping[Owner | None, Curve]) -> dict[str, list[Curve]]:
        """Return the curves of each of the largest tenants by name, and of the others together."""
        named: dict[str, list[Curve]] = {}
        owned = {owner: curve for owner, curve in curves.items() if owner is not None}
        for owner in sorted(owned, key=lambda each: owned[each].asked, reverse=True):
            name = self._owners.name(owner) or OTHERS
            if name not in named and len(named) >= _MOST_NAMED:
                name = OTHERS
            named.setdefault(name, []).append(owned[owner])
        return named


def count_reuse(
    store: KVTierStore | None,
    owners: Owners,
    *,
    num_blocks: int,
    block_size: int,
    block_nbytes: int,
    eviction: EvictionName,
    num_engines: int,
) -> ReuseNotes:
    """Begin to count the blocks that the engine's requests use.

    store: the tiers below the device; None if there are none.
    num_blocks: size of the device pool. block_size: tokens of a block.
    eviction: the order in which blocks leave CPU memory.
    num_engines: number of engines on this machine, which divide the tiers that they share by their use.
    """

    def capacities() -> dict[TierId, int]:
        found = {DEVICE.id: num_blocks}
        if store is not None:
            stats = store.stats()
            found[CPU.id] = stats.cpu.capacity_bytes // block_nbytes
            found |= {tier: each.capacity_bytes // block_nbytes // num_engines for tier, each in stats.lower.items()}
        return found

    def has_below() -> bool:
        return store is not None and store.link_speed() is not None

    curves = ReuseCurves(capacities, lambda tier: partial(make_eviction, eviction if tier == CPU.id else "lru"), owners)
    return ReuseNotes(curves, owners, block_size=block_size, has_below=has_below)


def factor_name(factor: float) -> str:
    """Return the text that names a multiple of a tier's size."""
    return f"{factor:g}"


def _by_factor(curve: Curve, unit: float) -> dict[str, float]:
    return {factor_name(factor): found * unit for factor, found in zip(FACTORS, curve.found, strict=True)}
