"""Opening of the tiers below the device.

LMCache manages host memory where it is installed: it has no wheels for some versions of Python and some processors.
Importing this module then takes half a second.
"""

from collections.abc import Sequence
from functools import partial
from importlib.util import find_spec
from typing import Final

from cache_tiers.cpu.eviction import EvictionName, make_eviction
from cache_tiers.cpu.eviction_index import EvictionIndex
from cache_tiers.cpu.pool import pool_bytes
from cache_tiers.cpu_store.block_memory import Evictions, MemoryKind, MemoryOptions
from cache_tiers.cpu_store.tier_store import TierStore
from cache_tiers.lower.async_tier import AsyncTier
from cache_tiers.lower.backend import TierBackend
from cache_tiers.lower.sealed_value import BlockSeal
from cache_tiers.lower.tier import LowerTierOptions
from cache_tiers.lower.tiers import LowerTiers
from cache_tiers.owners.owners import Owners
from cache_tiers.owners.shares import MemoryShares
from cache_tiers.tier import Tier

if find_spec("lmcache") is not None:
    from cache_tiers.cpu_store.lmcache_memory import LMCACHE as _INSTALLED
else:
    from cache_tiers.cpu_store.plain_memory import PLAIN as _INSTALLED

INSTALLED: Final[MemoryKind] = _INSTALLED
"""The way to manage host memory that is installed."""

_SMALLEST_WINDOW: Final = 8
_LARGEST_WINDOW: Final = 32
_WINDOWS_IN_POOL: Final = 8


def open_store(
    *,
    block_nbytes: int,
    cpu_bytes: int,
    lower: Sequence[TierBackend],
    seal: BlockSeal,
    keep_in_cpu: bool,
    eviction: EvictionName,
    off: Sequence[Tier] = (),
    owners: Owners | None = None,
    shared: bool = False,
    kind: MemoryKind = INSTALLED,
) -> TierStore:
    """Build the tiers. Private host memory becomes resident with its use. Pinned and shared memory is allocated here.

    cpu_bytes: size of the CPU tier. Without `keep_in_cpu`, the size of the staging pool, but at least 64 MiB.
    lower: the tiers below CPU memory, the nearest first. They do not have to be reachable.
    seal: signs and checks blocks that leave the process.
    keep_in_cpu: keep blocks in host memory after they went to a lower tier or to the device. If False, host memory is
        only a staging pool.
    eviction: the order in which blocks of one owner leave host memory.
    off: registered tiers that are off.
    owners: names and weights of the owners of blocks.
    shared: put host memory where other processes can map it.
    kind: manages host memory.

    Raise ValueError if all tiers are off, SharedMemoryError if there is too little shared memory.
    """
    if not (lower or keep_in_cpu):
        raise ValueError("no tier to open: the CPU tier and all lower tiers are off")
    owners = owners if owners is not None else Owners()
    size = pool_bytes(cpu_bytes, block_nbytes, staging=not keep_in_cpu)
    # Blocks that wait to be written cannot be evicted. A staging pool before a single tier refuses new blocks rather
    # than drop waiting ones. Before several tiers, a slow one must not fill it.
    waiting = size if not keep_in_cpu and len(lower) == 1 else max(size // 2, 2 * block_nbytes)
    max_window = _max_window(size, block_nbytes)
    options = MemoryOptions(size, block_nbytes, max_window, keeps_blocks=keep_in_cpu, shared=shared)
    lower_options = LowerTierOptions(block_nbytes, waiting, seal, owners)
    tiers = LowerTiers([AsyncTier(each, lower_options) for each in lower], owners, off=off)
    evictions = Evictions(EvictionIndex(partial(make_eviction, eviction), MemoryShares(owners)), tiers, owners)
    try:
        memory = kind.open(options, tiers, evictions)
    except BaseException:
        tiers.close()
        raise
    return TierStore(memory, tiers, evictions, keeps_in_cpu=keep_in_cpu, max_window=max_window)


def _max_window(pool_nbytes: int, block_nbytes: int) -> int:
    """Return the window size at which several windows of several loads fit the pool.

    A tiny pool keeps the smallest window, and loads then bring fewer blocks than requested.
    """
    return max(_SMALLEST_WINDOW, min(_LARGEST_WINDOW, pool_nbytes // (_WINDOWS_IN_POOL * block_nbytes)))
