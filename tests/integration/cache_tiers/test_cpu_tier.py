"""The CPU tier alone: host memory, on LMCache and by Ebb itself, behind the interface of the store."""

import sys
import threading
from itertools import pairwise
from resource import RUSAGE_THREAD, getrusage

import pytest

from cache_tiers.cpu_store.block_memory import MemoryKind
from cache_tiers.cpu_store.open_store import open_store
from tests.store_rig import BLOCK, POOL, SEAL, Rig, Rigs, key, keys, on_each_memory, payload

pytest_plugins = ["tests.store_fixtures"]
pytestmark = on_each_memory


@pytest.fixture
def rig(rigs: Rigs) -> Rig:
    return rigs.open(None)


def test_committed_blocks_are_loaded_bit_for_bit(rig: Rig) -> None:
    assert rig.put(keys(range(20))) == keys(range(20))
    assert rig.counts(keys(range(8))) == (8, 0)
    assert rig.counts(keys(range(8, 16))) == (8, 0)
    assert rig.counts(keys(range(16, 20))) == (4, 0)


def test_prefetch_finds_the_longest_prefix(rig: Rig) -> None:
    rig.put([key(0), key(1), key(3)])
    assert rig.counts(keys(range(5))) == (2, 0)
    assert rig.counts(keys(range(2, 5))) == (0, 0)
    assert rig.counts([]) == (0, 0)


def test_block_is_visible_only_once_committed(rig: Rig) -> None:
    slots = rig.store.reserve([key(1)])
    assert not rig.store.contains(key(1))
    assert rig.counts([key(1)]) == (0, 0)
    rig.store.pool[slots[0].offset : slots[0].offset + BLOCK] = payload(key(1))
    rig.store.commit([key(1)])
    assert rig.store.contains(key(1))
    assert rig.counts([key(1)]) == (1, 0)


def test_reserve_skips_blocks_stored_or_being_written(rig: Rig) -> None:
    rig.put([key(1)])
    assert [slot.key for slot in rig.store.reserve(keys(range(3)))] == [key(0), key(2)]
    assert rig.store.reserve(keys(range(3))) == []
    rig.store.discard([key(0), key(2)])


def test_discarded_slot_is_invisible_and_free_again(rig: Rig) -> None:
    before = rig.store.stats().cpu.used_bytes
    rig.store.reserve(keys(range(8)))
    assert rig.store.stats().cpu.used_bytes == before + 8 * BLOCK
    rig.store.discard(keys(range(8)))
    assert rig.store.stats().cpu.used_bytes == before
    assert rig.counts(keys(range(8))) == (0, 0)


def test_slots_are_disjoint_and_inside_the_pool(rig: Rig) -> None:
    offsets = sorted(slot.offset for slot in rig.store.reserve(keys(range(100))))
    assert all(right - left >= BLOCK for left, right in pairwise(offsets))
    assert offsets[0] >= 0
    # The memory becomes resident with its use, from its beginning on.
    assert offsets[-1] + BLOCK == 100 * BLOCK
    rig.store.discard(keys(range(100)))


def test_full_pool_evicts_only_as_much_as_needed(rig: Rig) -> None:
    many = keys(range(1000))
    taken = rig.put(many)
    assert 200 < len(taken) < 1000
    assert taken == many[: len(taken)], "the store must accept the blocks that fit, in order"
    fresh = keys(range(2000, 2008))
    assert rig.put(fresh) == fresh
    assert rig.counts(fresh) == (8, 0)
    assert rig.counts(taken[8:16]) == (8, 0), "more blocks were evicted than necessary"


def test_recently_used_chain_is_evicted_last_and_from_its_end(rig: Rig) -> None:
    first = keys(range(8))
    for name in keys(range(150)):
        rig.put([name])
    rig.store.touch(first, 8, range(0))
    for name in keys(range(150, 390)):
        rig.put([name])
    assert rig.counts(first) == (8, 0)
    assert not any(rig.store.contains(name) for name in keys(range(8, 16)))
    for name in keys(range(390, 620)):
        rig.put([name])
    left = [rig.store.contains(name) for name in first]
    assert left == sorted(left, reverse=True), "a chain must be evicted from its end"
    stats = rig.store.stats()
    assert stats.cpu.evicted_blocks == 620 - stats.cpu.used_bytes // BLOCK


def test_block_being_read_is_not_evicted(rig: Rig) -> None:
    rig.put(keys(range(8)))
    held = rig.wait(rig.store.prefetch(keys(range(8)), lower=True))
    for name in keys(range(8, 600)):
        rig.put([name])
    for slot in held.slots:
        assert rig.store.pool[slot.offset : slot.offset + BLOCK] == payload(slot.key)
    rig.store.release(keys(range(8)))


def test_clear_keeps_blocks_being_read_until_released(rig: Rig) -> None:
    rig.put(keys(range(8)))
    rig.wait(rig.store.prefetch(keys(range(4)), lower=True))
    assert not rig.store.clear_cpu()
    assert [rig.store.contains(name) for name in keys(range(8))] == [True] * 4 + [False] * 4
    rig.store.release(keys(range(4)))
    for name in keys(range(100, 400)):
        rig.put([name])
    assert not any(rig.store.contains(name) for name in keys(range(8)))


def test_each_reader_of_a_block_has_its_own_lock(rig: Rig) -> None:
    rig.put([key(1)])
    handles = [rig.store.prefetch([key(1)], lower=False) for _ in range(3)]
    for handle in handles:
        assert rig.wait(handle).sources == ("cpu",)
    rig.store.release([key(1), key(1)])
    with pytest.raises(AssertionError, match="1 read locks"):
        rig.store.check()
    rig.store.release([key(1)])


def test_double_release_is_refused(rig: Rig) -> None:
    rig.put([key(1)])
    with pytest.raises(ValueError, match="not reserved"):
        rig.store.commit([key(1)])
    with pytest.raises(ValueError, match="not reserved"):
        rig.store.discard([key(2)])
    rig.fetch([key(1)])
    with pytest.raises(ValueError, match="not locked"):
        rig.store.release([key(1)])


def test_prefetch_result_is_handed_out_once(rig: Rig) -> None:
    rig.put([key(1)])
    handle = rig.store.prefetch([key(1)], lower=True)
    assert len(rig.wait(handle).slots) == 1
    assert rig.wait(handle).slots == ()
    rig.store.release([key(1)])


def test_abandon_reclaims_slots_locks_and_prefetches(rig: Rig) -> None:
    rig.put(keys(range(4)))
    taken = rig.store.prefetch(keys(range(3)), lower=False)
    for _ in range(2):
        rig.store.poll(rig.store.prefetch(keys(range(2)), lower=False))
    rig.store.reserve(keys(range(4, 8)))
    assert rig.store.abandon() == [taken]
    result = rig.store.poll(taken)
    assert result is not None
    rig.store.release([slot.key for slot in result.slots])
    rig.store.check()
    assert rig.counts(keys(range(8))) == (4, 0)
    assert rig.put(keys(range(4, 8))) == keys(range(4, 8))


def test_check_names_resources_without_an_owner(rig: Rig) -> None:
    rig.store.reserve([key(1)])
    with pytest.raises(AssertionError, match="1 reserved slots"):
        rig.store.check()
    rig.store.discard([key(1)])
    handle = rig.store.prefetch([key(1)], lower=True)
    with pytest.raises(AssertionError, match="1 prefetches"):
        rig.store.check()
    rig.wait(handle)


def test_prefetch_window_is_bounded(rig: Rig) -> None:
    most = rig.store.max_window
    with pytest.raises(ValueError, match=f"at most {most} keys"):
        rig.store.prefetch(keys(range(most + 1)), lower=False)


def test_flush_without_redis_returns_at_once(rig: Rig) -> None:
    rig.put(keys(range(8)))
    assert rig.store.flush(0.0)
    stats = rig.store.stats()
    assert (
        stats.lower["redis"].state,
        stats.pending_writes,
        stats.lower["redis"].write_lag_seconds,
    ) == ("off", 0, 0.0)
    assert (stats.cpu.used_bytes, stats.cpu.capacity_bytes) == (8 * BLOCK, POOL)


def test_pool_of_two_blocks_works(rigs: Rigs) -> None:
    rig = rigs.open(None, cpu_bytes=2 * BLOCK)
    assert rig.put(keys(range(3))) == keys(range(2))
    assert rig.counts(keys(range(3))) == (2, 0)


def test_reserved_slots_are_backed_by_memory(rigs: Rigs) -> None:
    """Fault pages in beforehand: the first write to a page costs more than the copy, and would delay a request."""

    store, some = rigs.open(None, cpu_bytes=256 << 20).store, bytes([1]) * BLOCK
    num_faults = 0
    for name in keys(range(1000)):
        [slot] = store.reserve([name])
        for thread in threading.enumerate():
            if thread.name == "grow-memory":
                thread.join()
        before = getrusage(RUSAGE_THREAD).ru_minflt
        store.pool[slot.offset : slot.offset + BLOCK] = some
        num_faults += getrusage(RUSAGE_THREAD).ru_minflt - before
        store.commit([name])
    assert num_faults < 16


def test_store_without_any_tier_is_refused(rigs: Rigs) -> None:
    with pytest.raises(ValueError, match="all lower tiers are off"):
        rigs.open(None, keep_in_cpu=False)


def test_leak_check_visits_few_blocks_at_a_time(rig: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.modules[type(rig.store.memory).__module__], "PIECE", 8)
    rig.put(keys(range(100)))
    assert len(list(rig.store.leak_check())) == 100 // 8


def test_shared_pool_is_mapped_by_others_until_it_is_closed(memory_kind: MemoryKind) -> None:
    store = open_store(
        block_nbytes=BLOCK,
        cpu_bytes=4 * BLOCK,
        lower=[],
        seal=SEAL,
        keep_in_cpu=True,
        eviction="lru",
        shared=True,
        kind=memory_kind,
    )
    shared_pool = store.shared_pool
    assert shared_pool is not None
    assert Rig(store).put(keys(range(4))) == keys(range(4))
    # As a process does that computes.
    mapped = shared_pool.map()
    result = store.poll(store.prefetch(keys(range(4)), lower=False))
    assert result is not None
    for slot in result.slots:
        assert mapped[slot.offset : slot.offset + BLOCK] == payload(slot.key)
    mapped[-1] = store.pool[-1] ^ 255
    assert mapped[-1] == store.pool[-1]
    store.release(keys(range(4)))
    store.check()
    store.close()
    with pytest.raises(FileNotFoundError):
        shared_pool.map()
