"""Counts of what tiers of other sizes would find, for the tiers of an engine."""

from functools import partial

from cache_tiers.cpu.eviction import EvictionName, make_eviction
from cache_tiers.curves.reuse_curves import ReuseCurves
from cache_tiers.owners.owners import Owners
from cache_tiers.store import KVTierStore
from cache_tiers.tier import CPU, DEVICE, TierId
from engine.config import EngineConfig
from engine.offload.reuse_notes import ReuseNotes


def count_reuse(
    config: EngineConfig, store: KVTierStore | None, owners: Owners, *, num_blocks: int, block_nbytes: int
) -> ReuseNotes:
    """Begin to count the blocks that the engine's requests use.

    store: the tiers below the device; None if there are none. num_blocks: size of the device pool.
    """

    def capacities() -> dict[TierId, int]:
        found = {DEVICE.id: num_blocks}
        if store is not None:
            stats = store.stats()
            found[CPU.id] = stats.cpu.capacity_bytes // block_nbytes
            # The engines of a machine divide the tiers that they share by their use.
            engines = config.parallel.machine_share
            found |= {tier: each.capacity_bytes // block_nbytes // engines for tier, each in stats.lower.items()}
        return found

    def has_below() -> bool:
        return store is not None and store.link_speed() is not None

    eviction: EvictionName = config.cache.tiers.eviction if config.cache.tiers is not None else "lru"
    curves = ReuseCurves(capacities, lambda tier: partial(make_eviction, eviction if tier == CPU.id else "lru"), owners)
    return ReuseNotes(curves, owners, block_size=config.cache.block_size, has_below=has_below)
