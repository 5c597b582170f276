"""Opening of the tiers below the device, in two steps, because the servers of lower tiers start in the meantime."""

from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass

from cache_tiers import registry
from cache_tiers.config import TierConfig
from cache_tiers.cpu.shared_pool import SharedMemoryError, SharedPool
from cache_tiers.lower.tier import FoundTier, Progress, TierError
from cache_tiers.owners.owners import Owners
from cache_tiers.store import KVTierStore
from cache_tiers.tier import TierId
from engine.api.errors import EngineError
from engine.config import EngineConfig

MIB = 1 << 20


@dataclass(frozen=True, slots=True)
class OpenTiers:
    """The tiers below the device.

    store: None if all of them are off.
    notes: for each lower tier, the reason why it is off, in a sentence; empty while it is on.
    shared_pool: the host memory's name for the processes that compute; None if this process does.
    keeps_blocks: whether a lower tier that is off may have blocks of earlier processes.
    """

    store: KVTierStore | None
    notes: Mapping[TierId, str]
    shared_pool: SharedPool | None = None
    keeps_blocks: bool = False


def find_lower_tiers(config: EngineConfig, progress: Progress, closing: ExitStack) -> list[FoundTier]:
    """Find each lower tier, in the order of the registry. `closing` stops the servers that are started here.

    A server that cannot start leaves its tier off. Raise EngineError for an invalid setting or a state directory in
    use.
    """
    if config.cache.tiers is None:
        note = "off" if config.cache.prefix_cache else "off: --no-prefix-cache"
        return [FoundTier(None, note) for _ in registry.LOWER_TIERS]
    try:
        return [kind.find(config.cache.tiers, progress, closing) for kind in registry.LOWER_TIERS]
    except TierError as error:
        raise EngineError(str(error)) from error


def share_lower_tiers(
    tiers: TierConfig, progress: Progress, closing: ExitStack
) -> tuple[TierConfig, dict[TierId, str]]:
    """Start the servers of lower tiers that several engines share. `closing` stops them.

    Return the settings for each engine, and for each tier that stays off the reason. Raise EngineError as
    `find_lower_tiers`.
    """
    notes = {}
    try:
        for kind in registry.LOWER_TIERS:
            shared = kind.share(tiers, progress, closing)
            tiers, notes[kind.tier.id] = shared.config, shared.note
    except TierError as error:
        raise EngineError(str(error)) from error
    return tiers, notes


def wants_tiers(config: EngineConfig) -> bool:
    """Return True unless the settings turn off every tier below the device."""
    tiers = config.cache.tiers
    if tiers is None:
        return False
    return tiers.cpu_memory != 0 or not all(kind.is_off(tiers) for kind in registry.LOWER_TIERS)


def import_store(config: EngineConfig) -> None:
    """Import what `open_tiers` needs, if any tier is on. LMCache, where it is installed, takes half a second."""
    if wants_tiers(config):
        import cache_tiers.cpu_store.open_store  # noqa: F401


def open_tiers(
    config: EngineConfig,
    block_nbytes: int,
    lower: list[FoundTier],
    progress: Progress,
    closing: ExitStack,
    *,
    cpu_bytes: int,
    fingerprint: bytes,
    owners: Owners,
) -> OpenTiers:
    """Allocate a CPU tier of `cpu_bytes` and open the lower tiers. `closing` closes the store.

    block_nbytes: bytes of a block, for all ranks together.
    lower: result of `find_lower_tiers`.
    fingerprint: identifies everything that may change a bit of the KV, for blocks that leave the process.
    owners: names and weights of the owners of blocks.

    Raise EngineError.
    """
    tiers = [kind.tier for kind in registry.LOWER_TIERS]
    found = dict(zip(tiers, lower, strict=True))
    notes = {tier.id: each.note if each.backend is None else "" for tier, each in found.items()}
    keeps_blocks = _keep_blocks(config.cache.tiers or config.cache.unused_tiers, lower)
    backends = [each.backend for each in lower if each.backend is not None]
    if config.cache.tiers is None or not (backends or cpu_bytes):
        return OpenTiers(None, notes, keeps_blocks=keeps_blocks)
    states = ", ".join(f"{tier.name} {each.note}" for tier, each in found.items())
    from cache_tiers.cpu_store.open_store import INSTALLED, open_store
    from cache_tiers.lower.sealed_value import BlockSeal

    progress(f"opening the cache tiers: {cpu_bytes // MIB} MiB of CPU memory ({INSTALLED.name}), {states}")
    try:
        store = open_store(
            block_nbytes=block_nbytes,
            cpu_bytes=cpu_bytes,
            lower=backends,
            off=[tier for tier, each in found.items() if each.backend is None],
            seal=BlockSeal(config.cache.secret, fingerprint),
            keep_in_cpu=cpu_bytes > 0,
            eviction=config.cache.tiers.eviction,
            owners=owners,
            shared=config.parallel.num_processes > 1,
        )
    except SharedMemoryError as error:
        raise EngineError(str(error)) from error
    closing.callback(store.close)
    for stats in store.stats().lower.values():
        if stats.capacity_bytes:
            tokens = stats.capacity_bytes // block_nbytes * config.cache.block_size
            progress(f"{stats.tier.name} keeps up to {stats.capacity_bytes // MIB} MiB, for {tokens} tokens")
    return OpenTiers(store, notes, store.shared_pool, keeps_blocks)


def _keep_blocks(tiers: TierConfig | None, lower: list[FoundTier]) -> bool:
    """Return whether any of the lower tiers that are off may have blocks of earlier processes."""
    kinds = zip(registry.LOWER_TIERS, lower, strict=True)
    return tiers is not None and any(kind.keeps_blocks(tiers) for kind, found in kinds if found.backend is None)
