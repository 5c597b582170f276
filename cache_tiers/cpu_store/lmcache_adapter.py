"""Callbacks for LMCache: the lower tiers as its L2 adapter, room in L1 on demand, and a listener for L1's contents.

Import this module before anything else of LMCache: it sets the variables that LMCache reads on import.
"""

# mypy: disable-error-code="import-untyped"

import os
import threading
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Final

# LMCache must not report usage over the network, print a banner or flood the log.
os.environ.setdefault("LMCACHE_TRACK_USAGE", "false")
os.environ.setdefault("LMCACHE_DISABLE_BANNER", "1")
os.environ.setdefault("LMCACHE_LOG_LEVEL", "ERROR")

import torch

if hasattr(torch, "npu") and torch.npu.is_available():
    # LMCache's own NPU platform imports kernels that this server does not use: see `npu.lmcache_plugin`.
    os.environ.setdefault("LMCACHE_DEVICE_BACKEND", "ebb-npu")

from cache_tiers.cpu.eviction_index import EvictionIndex
from cache_tiers.cpu.growing_memory import GrowingMemory
from cache_tiers.cpu_store.block_memory import Evictions
from cache_tiers.cpu_store.mailbox import Mailbox
from cache_tiers.cpu_store.numba_stand_in import numba_stand_in
from cache_tiers.lower.block import Block
from cache_tiers.lower.tiers import LowerTiers
from cache_tiers.owners.block_key import BlockKey, Owner, owner_of

with warnings.catch_warnings(), numba_stand_in():
    # LMCache's loggers use APIs that OpenTelemetry deprecates.
    warnings.simplefilter("ignore", DeprecationWarning)
    from lmcache import device_ops, torch_device_type
    from lmcache.lmcache_native import Bitmap
    from lmcache.v1.distributed import api
    from lmcache.v1.distributed.error import L1Error
    from lmcache.v1.distributed.internal_api import L1ManagerListener, L2StoreResult
    from lmcache.v1.distributed.l1_manager import L1Manager
    from lmcache.v1.distributed.l2_adapters import config as adapters
    from lmcache.v1.distributed.l2_adapters.base import L2AdapterInterface
    from lmcache.v1.distributed.l2_adapters.factory import register_l2_adapter_factory
    from lmcache.v1.memory_management import MemoryObj
    from lmcache.v1.platform import create_event_notifier

PINS_MEMORY: Final = torch_device_type != "cpu"
"""Whether LMCache allocates pinned memory, for the device that it has found."""

_ADAPTER: Final = "ebb_lower_tiers"


def object_key(key: BlockKey) -> api.ObjectKey:
    """Return LMCache's name for a block. The key already contains the namespace, including the tenant's salt."""
    return api.ObjectKey(chunk_hash=key, model_name="ebb", kv_rank=0)


def blocks_of(keys: list[api.ObjectKey], objects: list[MemoryObj]) -> list[Block]:
    """Convert LMCache's keys and memory objects to the lower tiers' blocks."""
    return [Block(key.chunk_hash, obj.byte_array.cast("B")) for key, obj in zip(keys, objects, strict=True)]


class HostMemory:
    """Host memory of L1, which evicts blocks at the moment when room is needed. Thread-safe.

    Blocks found in a lower tier are promised room until LMCache reserves it or drops them. Several lookups can end at
    once and stores arrive at any time, so none of them may count on room promised to another.
    """

    def __init__(
        self,
        l1: L1Manager,
        evictions: Evictions,
        block_nbytes: int,
        lower: LowerTiers,
        growing: GrowingMemory | None,
    ) -> None:
        """Manage the memory of `l1`. `growing` is that memory if it becomes resident with its use."""
        self._growing = growing
        self._l1 = l1
        self.evictions = evictions
        self._lower = lower
        memory = l1.get_l1_memory_desc()
        self._slot_nbytes = -(-block_nbytes // memory.align_bytes) * memory.align_bytes
        self._promised: set[BlockKey] = set()
        self._lock = threading.Lock()

    @property
    def num_slots(self) -> int:
        """Number of blocks for which memory is allocated."""
        used, _ = self._l1.get_memory_usage()
        return int(used // self._slot_nbytes)

    def make_room(self, num_blocks: int, owner: Owner) -> None:
        """Evict until `num_blocks` blocks of `owner` fit.

        Eviction stops early if every remaining block is in use or belongs to an owner that holds less for its weight.
        """
        used, capacity = self._l1.get_memory_usage()
        with self._lock:
            needed = num_blocks + len(self._promised)
        if self._growing is not None:
            # LMCache takes the free slot with the lowest address.
            self._growing.use(min(capacity, used + needed * self._slot_nbytes))
        missing = needed - (capacity - used) // self._slot_nbytes
        if missing > 0:
            index = self.evictions.index
            victims = index.pick(missing, self._can_go, owner)
            results = self._l1.delete([object_key(key) for key in victims])
            # A block that was locked after its selection stays in L1, unless it has been removed since.
            locked = [key for key in victims if results[object_key(key)] is L1Error.KEY_IS_LOCKED]
            index.insert(locked)
            index.remove([key for key in locked if self._l1.get_object_state(object_key(key)) is None])
            with self._lock:
                self.evictions.note([key for key in victims if results[object_key(key)] is L1Error.SUCCESS])

    def make_for_found(self, found: Sequence[BlockKey]) -> None:
        """Make room for blocks found in a lower tier and promise it to them until `end_promise`."""
        if found:
            with self._lock:
                self._promised.update(found)
            self.make_room(0, owner_of(found[-1]))

    def end_promise(self, keys: Sequence[BlockKey]) -> None:
        """End the promise to blocks that have their room or no longer need it."""
        with self._lock:
            self._promised.difference_update(keys)

    def _can_go(self, key: BlockKey) -> bool:
        """Return True unless the block is in use or about to be written to a lower tier.

        LMCache locks the blocks that it writes, but only some time after `commit`.
        """
        return self._l1.is_key_evictable(object_key(key)) and not self._lower.awaits_put(key)


@contextmanager
def host_memory_at(growing: GrowingMemory) -> Iterator[None]:
    """Have an L1 manager that is constructed now use this memory. LMCache would touch all pages of a pool."""
    before = device_ops.alloc_pinned_ptr
    device_ops.alloc_pinned_ptr = lambda _nbytes, _device: growing.address
    try:
        yield
    finally:
        device_ops.alloc_pinned_ptr = before


class _LowerAdapterConfig(adapters.L2AdapterConfigBase):  # type: ignore[misc]
    """The tiers and the room, in the form in which LMCache passes them to the adapter that it builds."""

    def __init__(self, lower: LowerTiers, host_memory: HostMemory) -> None:
        super().__init__()
        self.lower = lower
        self.host_memory = host_memory

    @classmethod
    def from_dict(cls, _values: dict[str, object]) -> "_LowerAdapterConfig":
        raise NotImplementedError("this configuration is created in code only")

    @classmethod
    def help(cls) -> str:
        return ""


class _LowerAdapter(L2AdapterInterface):  # type: ignore[misc]
    """LMCache's view of the lower tiers: numbered tasks whose results are fetched after an event is signalled."""

    def __init__(self, lower: LowerTiers, host_memory: HostMemory) -> None:
        super().__init__()
        self._lower = lower
        self._host_memory = host_memory
        self._events = [create_event_notifier() for _ in range(3)]
        self._stored: Mailbox[L2StoreResult] = Mailbox(self._events[0].notify)
        self._found: Mailbox[Bitmap] = Mailbox(self._events[1].notify)
        self._loaded: Mailbox[Bitmap] = Mailbox(self._events[2].notify)

    def get_store_event_fd(self) -> int:
        return int(self._events[0].fileno())

    def get_lookup_and_lock_event_fd(self) -> int:
        return int(self._events[1].fileno())

    def get_load_event_fd(self) -> int:
        return int(self._events[2].fileno())

    def submit_store_task(self, keys: list[api.ObjectKey], objects: list[MemoryObj]) -> int:
        task = self._stored.open()
        deferred = self._host_memory.evictions.deferred.turn_of(key.chunk_hash for key in keys)
        blocks = [block for block in blocks_of(keys, objects) if block.key not in deferred]
        nbytes = sum(block.payload.nbytes for block in blocks)
        self._lower.put(blocks, lambda stored: self._stored.put(task, L2StoreResult(stored, nbytes if stored else 0)))
        return task

    def pop_completed_store_tasks(self) -> dict[int, L2StoreResult]:
        return self._stored.take_all()

    def submit_lookup_and_lock_task(self, keys: list[api.ObjectKey], _layouts: dict[int, api.MemoryLayoutDesc]) -> int:
        task = self._found.open()

        def answered(found: list[bool]) -> None:
            try:
                # LMCache reserves memory for the blocks as soon as it receives this result.
                hits = [key.chunk_hash for key, there in zip(keys, found, strict=True) if there]
                self._host_memory.make_for_found(hits)
            finally:
                # Without a result, LMCache's prefetch and all later ones of these blocks would never end.
                self._found.put(task, _bitmap(found))

        self._lower.find([key.chunk_hash for key in keys], answered)
        return task

    def query_lookup_and_lock_result(self, task_id: int) -> Bitmap | None:
        return self._found.take(task_id)

    def submit_unlock(self, keys: list[api.ObjectKey]) -> None:
        """End the promises of a lookup. Lower tiers have no locks: a block removed before its load is a miss."""
        self._host_memory.end_promise([key.chunk_hash for key in keys])

    def submit_load_task(self, keys: list[api.ObjectKey], objects: list[MemoryObj]) -> int:
        self._host_memory.end_promise([key.chunk_hash for key in keys])
        task = self._loaded.open()
        self._lower.load(blocks_of(keys, objects), lambda loaded: self._loaded.put(task, _bitmap(loaded)))
        return task

    def query_load_result(self, task_id: int) -> Bitmap | None:
        return self._loaded.take(task_id)

    def report_status(self) -> dict[str, object]:
        return {"is_healthy": self._lower.available, "type": _ADAPTER}

    def close(self) -> None:
        """Close the events. The store closes the lower tiers first, so that no event is signalled afterwards."""
        for event in self._events:
            event.close()


def _bitmap(bits: Sequence[bool]) -> Bitmap:
    bitmap = Bitmap(len(bits))
    for index, bit in enumerate(bits):
        if bit:
            bitmap.set(index)
    return bitmap


adapters.register_l2_adapter_type(_ADAPTER, _LowerAdapterConfig)
register_l2_adapter_factory(_ADAPTER, lambda wanted, _l1_memory: _LowerAdapter(wanted.lower, wanted.host_memory))


class _IndexListener(L1ManagerListener):  # type: ignore[misc]
    """Listener that reports L1's insertions and removals to the index. Reads and reservations are ignored."""

    def __init__(self, eviction_index: EvictionIndex) -> None:
        super().__init__()
        self._index = eviction_index

    def on_l1_keys_write_finished(self, keys: list[api.ObjectKey]) -> None:
        self._index.insert([key.chunk_hash for key in keys])

    def on_l1_keys_finish_write_and_reserve_read(self, keys: list[api.ObjectKey]) -> None:
        self._index.insert([key.chunk_hash for key in keys])

    def on_l1_keys_deleted_by_manager(self, keys: list[api.ObjectKey]) -> None:
        self._index.remove([key.chunk_hash for key in keys])

    def on_l1_keys_reserved_read(self, _keys: list[api.ObjectKey]) -> None: ...

    def on_l1_keys_read_finished(self, _keys: list[api.ObjectKey]) -> None: ...

    def on_l1_keys_reserved_write(self, _keys: list[api.ObjectKey]) -> None: ...

    def on_l1_keys_accessed(self, _keys: list[api.ObjectKey]) -> None: ...


def lower_adapter(lower: LowerTiers, host_memory: HostMemory) -> adapters.L2AdapterConfigBase:
    """Return the adapter's entry in LMCache's configuration."""
    return _LowerAdapterConfig(lower, host_memory)


def index_listener(eviction_index: EvictionIndex) -> L1ManagerListener:
    """Return a listener that keeps `eviction_index` in step with LMCache's L1."""
    return _IndexListener(eviction_index)
