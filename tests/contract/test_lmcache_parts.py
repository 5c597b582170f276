"""Parts of LMCache that it does not promise to keep. A version without one of them fails here, by its name."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from cache_tiers.cpu_store.open_store import INSTALLED, open_store
from cache_tiers.lower.sealed_value import FINGERPRINT_BYTES, BlockSeal

pytest.importorskip("lmcache")

if TYPE_CHECKING:
    from cache_tiers.cpu_store.lmcache_memory import LMCacheMemory


@pytest.fixture(scope="module")
def memory() -> Iterator["LMCacheMemory"]:
    """Open LMCache with 64 blocks."""
    from cache_tiers.cpu_store.lmcache_memory import LMCacheMemory

    seal = BlockSeal(b"secret", bytes(FINGERPRINT_BYTES))
    store = open_store(
        block_nbytes=4096, cpu_bytes=1 << 20, lower=[], seal=seal, keep_in_cpu=True, eviction="lru", kind=INSTALLED
    )
    assert isinstance(store.memory, LMCacheMemory)
    yield store.memory
    store.close()


@pytest.mark.parametrize("name", ["_eviction_controllers", "_l2_eviction_controller", "_store_controllers"])
def test_manager_of_lmcache_has(memory: "LMCacheMemory", name: str) -> None:
    assert hasattr(memory._manager, name)


@pytest.mark.parametrize(
    "name", ["_objects", "get_object_state", "get_staging_memory_usage", "is_key_evictable", "unsafe_read"]
)
def test_l1_of_lmcache_has(memory: "LMCacheMemory", name: str) -> None:
    assert hasattr(memory._l1, name)


def test_eviction_of_lmcache_ends_by_its_stop_flag(memory: "LMCacheMemory") -> None:
    controllers = (*memory._manager._eviction_controllers, memory._manager._l2_eviction_controller)
    assert [controller._stop_flag.is_set() for controller in controllers] == [True] * len(controllers)


@pytest.mark.parametrize("figure", ["in_flight_task_count", "pending_keys_count"])
def test_writes_of_lmcache_are_counted_in(memory: "LMCacheMemory", figure: str) -> None:
    [controller] = memory._manager._store_controllers.values()
    assert controller.report_status()[figure] == 0
