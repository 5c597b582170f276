"""The CPU tier's pool in shared memory: the refusal of one that does not fit."""

import pytest

from cache_tiers.cpu.shared_pool import SharedMemoryError, SharedPool


def test_pool_beyond_shared_memory_is_refused_with_its_remedy() -> None:
    needs = "needs 1099511627776 MiB there. Lower --cpu-kv-memory, or give the container more shared memory"
    with pytest.raises(SharedMemoryError, match=needs):
        SharedPool.named(1 << 60).check_room()
    SharedPool.named(0).check_room()
