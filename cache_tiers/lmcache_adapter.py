"""What LMCache calls: our Redis client as its L2 adapter, who makes room in L1, and who is told what comes and goes.

Imported before anything else of LMCache: what it reads when it is imported is set here.
"""

# mypy: disable-error-code="import-untyped"

import os
import threading
import warnings
from collections.abc import Sequence
from typing import Final

# It must not report usage over the network, print a banner or flood the log.
os.environ.setdefault("LMCACHE_TRACK_USAGE", "false")
os.environ.setdefault("LMCACHE_DISABLE_BANNER", "1")
os.environ.setdefault("LMCACHE_LOG_LEVEL", "ERROR")

import torch

if hasattr(torch, "npu") and torch.npu.is_available():
    # Its own NPU platform does not import without kernels that nobody needs here: see `npu.lmcache_plugin`.
    os.environ.setdefault("LMCACHE_DEVICE_BACKEND", "ebb-npu")

from cache_tiers.block_key import BlockKey, Owner, owner_of
from cache_tiers.cpu.residents import Residents
from cache_tiers.redis.block_client import RedisBlockClient
from cache_tiers.redis.block_commands import Block
from cache_tiers.redis.mailbox import Mailbox

with warnings.catch_warnings():
    # Its loggers use what OpenTelemetry deprecates.
    warnings.simplefilter("ignore", DeprecationWarning)
    from lmcache.lmcache_native import Bitmap
    from lmcache.v1.distributed import api
    from lmcache.v1.distributed.error import L1Error
    from lmcache.v1.distributed.internal_api import L1ManagerListener, L2StoreResult
    from lmcache.v1.distributed.l1_manager import L1Manager
    from lmcache.v1.distributed.l2_adapters import config as adapters
    from lmcache.v1.distributed.l2_adapters.base import L2AdapterInterface
    from lmcache.v1.distributed.l2_adapters.factory import register_l2_adapter_factory
    from lmcache.v1.distributed.storage_manager import StorageManager
    from lmcache.v1.memory_management import MemoryObj
    from lmcache.v1.platform import create_event_notifier

SMALLEST_WINDOW: Final = 8
"""Blocks that are asked for at once, at least."""

_ADAPTER: Final = "ebb_redis"


def object_key(key: BlockKey) -> api.ObjectKey:
    """LMCache's name for a block. The namespace, the tenant's salt included, is already inside the key."""
    return api.ObjectKey(chunk_hash=key, model_name="ebb", kv_rank=0)


def blocks_of(keys: list[api.ObjectKey], objects: list[MemoryObj]) -> list[Block]:
    """As the client takes them."""
    return [Block(key.chunk_hash, obj.byte_array.cast("B")) for key, obj in zip(keys, objects, strict=True)]


class Room:
    """Makes room in L1, at the moment when it is needed. Thread-safe.

    Blocks that Redis has are promised room until LMCache reserves it, or drops them. Several look-ups end at once, and
    blocks go down at any time: none of them may count on room that is promised to another.
    """

    def __init__(self, l1: L1Manager, residents: Residents, block_nbytes: int, client: RedisBlockClient | None) -> None:
        self.residents = residents
        self._l1 = l1
        self._client = client
        memory = l1.get_l1_memory_desc()
        self._slot_nbytes = -(-block_nbytes // memory.align_bytes) * memory.align_bytes
        self._promised: set[BlockKey] = set()
        self._lock = threading.Lock()
        self._num_evicted = 0
        self._num_lost = 0

    @property
    def num_evicted(self) -> int:
        """Blocks that made room, since the start."""
        return self._num_evicted

    @property
    def num_lost(self) -> int:
        """Of these, the blocks that Redis was not known to have, where there is a Redis."""
        return self._num_lost

    def make(self, num_blocks: int, owner: Owner) -> None:
        """Evict until so many blocks of `owner` fit, or all that is left is in use, or holds less for its weight."""
        used, capacity = self._l1.get_memory_usage()
        with self._lock:
            needed = num_blocks + len(self._promised)
        missing = needed - (capacity - used) // self._slot_nbytes
        if missing > 0:
            victims = self.residents.take_victims(missing, self._can_go, owner)
            results = self._l1.delete([object_key(key) for key in victims])
            # A block that was locked after it had been looked at stays, unless it has gone since then.
            locked = [key for key in victims if results[object_key(key)] is L1Error.KEY_IS_LOCKED]
            self.residents.came(locked)
            self.residents.went([key for key in locked if self._l1.get_object_state(object_key(key)) is None])
            gone = [key for key in victims if results[object_key(key)] is L1Error.SUCCESS]
            lost = [key for key in gone if self._client is not None and not self._client.num_known([key])]
            with self._lock:
                self._num_evicted += len(gone)
                self._num_lost += len(lost)

    def make_for_found(self, found: Sequence[BlockKey]) -> None:
        """Make room for blocks that Redis has, and promise it to them until `end_promise`."""
        if found:
            with self._lock:
                self._promised.update(found)
            self.make(0, owner_of(found[-1]))

    def end_promise(self, keys: Sequence[BlockKey]) -> None:
        """Note that these have room now, or need none."""
        with self._lock:
            self._promised.difference_update(keys)

    def _can_go(self, key: BlockKey) -> bool:
        """LMCache locks what it writes to Redis, but for a moment before it begins."""
        return self._l1.is_key_evictable(object_key(key)) and not (self._client and self._client.awaits_put(key))


class _RedisAdapterConfig(adapters.L2AdapterConfigBase):  # type: ignore[misc]
    """Carries what the adapter needs that LMCache builds."""

    def __init__(self, client: RedisBlockClient, room: Room) -> None:
        super().__init__()
        self.client = client
        self.room = room

    @classmethod
    def from_dict(cls, _values: dict[str, object]) -> "_RedisAdapterConfig":
        raise NotImplementedError("made in code only")

    @classmethod
    def help(cls) -> str:
        return ""


class _RedisAdapter(L2AdapterInterface):  # type: ignore[misc]
    """LMCache's view of the client: numbered tasks whose results are fetched after an event was signalled."""

    def __init__(self, client: RedisBlockClient, room: Room) -> None:
        super().__init__()
        self._client = client
        self._room = room
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
        nbytes = sum(obj.get_size() for obj in objects)
        blocks = blocks_of(keys, objects)
        self._client.put(blocks, lambda stored: self._stored.put(task, L2StoreResult(stored, nbytes if stored else 0)))
        return task

    def pop_completed_store_tasks(self) -> dict[int, L2StoreResult]:
        return self._stored.take_all()

    def submit_lookup_and_lock_task(self, keys: list[api.ObjectKey], _layouts: dict[int, api.MemoryLayoutDesc]) -> int:
        task = self._found.open()

        def answered(found: list[bool]) -> None:
            # LMCache reserves memory for what was found as soon as it hears of it.
            self._room.make_for_found([key.chunk_hash for key, there in zip(keys, found, strict=True) if there])
            self._found.put(task, _bitmap(found))

        self._client.find([key.chunk_hash for key in keys], answered)
        return task

    def query_lookup_and_lock_result(self, task_id: int) -> Bitmap | None:
        return self._found.take(task_id)

    def submit_unlock(self, keys: list[api.ObjectKey]) -> None:
        """End what a look-up promised. Redis has no locks: a block that goes away before its load is a miss."""
        self._room.end_promise([key.chunk_hash for key in keys])

    def submit_load_task(self, keys: list[api.ObjectKey], objects: list[MemoryObj]) -> int:
        self._room.end_promise([key.chunk_hash for key in keys])
        task = self._loaded.open()
        self._client.load(blocks_of(keys, objects), lambda loaded: self._loaded.put(task, _bitmap(loaded)))
        return task

    def query_load_result(self, task_id: int) -> Bitmap | None:
        return self._loaded.take(task_id)

    def report_status(self) -> dict[str, object]:
        return {"is_healthy": self._client.available, "type": _ADAPTER}

    def close(self) -> None:
        """The client is the store's to close: before this, so that nobody signals any more."""
        for event in self._events:
            event.close()


def _bitmap(bits: Sequence[bool]) -> Bitmap:
    bitmap = Bitmap(len(bits))
    for index, bit in enumerate(bits):
        if bit:
            bitmap.set(index)
    return bitmap


adapters.register_l2_adapter_type(_ADAPTER, _RedisAdapterConfig)
register_l2_adapter_factory(_ADAPTER, lambda wanted, _l1_memory: _RedisAdapter(wanted.client, wanted.room))


class _ResidentsListener(L1ManagerListener):  # type: ignore[misc]
    """Tells the residents what L1 does. Reads and reservations are nothing to them."""

    def __init__(self, residents: Residents) -> None:
        super().__init__()
        self._residents = residents

    def on_l1_keys_write_finished(self, keys: list[api.ObjectKey]) -> None:
        self._residents.came([key.chunk_hash for key in keys])

    def on_l1_keys_finish_write_and_reserve_read(self, keys: list[api.ObjectKey]) -> None:
        self._residents.came([key.chunk_hash for key in keys])

    def on_l1_keys_deleted_by_manager(self, keys: list[api.ObjectKey]) -> None:
        self._residents.went([key.chunk_hash for key in keys])

    def on_l1_keys_reserved_read(self, _keys: list[api.ObjectKey]) -> None: ...

    def on_l1_keys_read_finished(self, _keys: list[api.ObjectKey]) -> None: ...

    def on_l1_keys_reserved_write(self, _keys: list[api.ObjectKey]) -> None: ...

    def on_l1_keys_accessed(self, _keys: list[api.ObjectKey]) -> None: ...


def redis_adapter(client: RedisBlockClient, room: Room) -> adapters.L2AdapterConfigBase:
    """For LMCache's configuration: it builds the adapter of it."""
    return _RedisAdapterConfig(client, room)


def residents_listener(residents: Residents) -> L1ManagerListener:
    """For LMCache's L1."""
    return _ResidentsListener(residents)


def end_eviction(manager: StorageManager) -> None:
    """Nothing leaves host memory or Redis but by us: LMCache's own loops would wake every second for nothing, and hold
    up the end for as long. They have no other switch."""
    for controller in (*manager._eviction_controllers, manager._l2_eviction_controller):
        controller._stop_flag.set()
