from typing import Any

import pytest

from cache_tiers.leak_check import PIECE
from cache_tiers.owners.block_key import BlockKey, Owner, block_key
from engine.kv import block_pool
from engine.kv.block import KVCacheBlock
from engine.kv.block_pool import BlockPool
from tests.leaks import assert_no_leaks

ME = Owner(b"myself..")
A, B = BlockKey(ME + b"a" * 24), BlockKey(ME + b"b" * 24)


def test_released_prefix_is_found_until_its_block_is_allocated() -> None:
    evicted: list[BlockKey] = []
    pool = BlockPool(2, on_evict=evicted.append)
    [block] = pool.allocate(1, ME)
    pool.publish(block, A, (1, 2))
    pool.release([block])
    assert pool.find(A, (1, 2)) is block
    pool.allocate(2, ME)
    assert pool.find(A, (1, 2)) is None
    assert (evicted, pool.num_evicted) == ([A], 1)


def test_blocks_without_prefix_are_allocated_first() -> None:
    pool = BlockPool(3)
    first, second = pool.allocate(2, ME)
    pool.publish(first, A, (1,))
    pool.release([first, second])
    taken = pool.allocate(2, ME)
    assert first not in taken
    assert pool.find(A, (1,)) is first


def test_least_recently_used_prefix_is_evicted_first() -> None:
    pool = BlockPool(2)
    first, second = pool.allocate(2, ME)
    pool.publish(first, A, (1,))
    pool.publish(second, B, (2,))
    pool.release([first])
    pool.release([second])
    pool.acquire(first)
    pool.release([first])
    pool.allocate(1, ME)
    assert pool.find(A, (1,)) is first
    assert pool.find(B, (2,)) is None


def test_equal_key_with_other_tokens_is_no_hit() -> None:
    pool = BlockPool(1)
    [block] = pool.allocate(1, ME)
    pool.publish(block, A, (1, 2))
    assert pool.find(A, (1, 3)) is None


def test_block_in_use_is_never_allocated() -> None:
    pool = BlockPool(1)
    [block] = pool.allocate(1, ME)
    pool.acquire(block)
    pool.release([block])
    with pytest.raises(IndexError, match="0 free"):
        pool.allocate(1, ME)


def test_first_of_two_blocks_with_one_key_stays_published() -> None:
    pool = BlockPool(2)
    first, second = pool.allocate(2, ME)
    assert pool.publish(first, A, (1,))
    assert not pool.publish(second, A, (1,))
    assert pool.find(A, (1,)) is first


def test_check_detects_block_neither_free_nor_used() -> None:
    pool = BlockPool(2)
    [block] = pool.allocate(1, ME)
    assert_no_leaks(pool)
    block.ref_count = 0
    with pytest.raises(AssertionError, match="neither free nor used"):
        assert_no_leaks(pool)


def test_erased_block_is_never_found_and_allocated_first() -> None:
    evicted: list[BlockKey] = []
    pool = BlockPool(3, on_evict=evicted.append)
    used, free, _ = pool.allocate(3, ME)
    pool.publish(used, A, (1,))
    pool.publish(free, B, (2,))
    pool.release([_, free])
    pool.erase([A, B, A, BlockKey(b"unknown")])
    assert_no_leaks(pool)
    assert (pool.find(A, (1,)), pool.find(B, (2,)), evicted) == (None, None, [A, B])
    assert pool.allocate(1, ME) == [free]
    assert pool.num_evicted == 0
    pool.release([used])
    assert_no_leaks(pool)


def test_erased_tail_is_not_found() -> None:
    pool = BlockPool(1)
    [block] = pool.allocate(1, ME)
    assert pool.publish_partial(block, A, (1, 2))
    pool.release([block])
    assert pool.find_partial(A, (1, 2)) is not None
    pool.erase([block_key(A, (1, 2))])
    assert_no_leaks(pool)
    assert pool.find_partial(A, (1, 2)) is None


def test_leak_check_visits_few_blocks_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    visited = set[int]()

    class WatchedBlock(KVCacheBlock):
        def __getattribute__(self, name: str) -> Any:
            if name == "ref_count":
                visited.add(object.__getattribute__(self, "block_id"))
            return object.__getattribute__(self, name)

    monkeypatch.setattr(block_pool, "KVCacheBlock", WatchedBlock)
    pool = BlockPool(20 * PIECE)
    for number in range(10 * PIECE):
        owner = Owner(b"owner%03d" % (number % 300))
        [block] = pool.allocate(1, owner)
        pool.publish(block, BlockKey(owner + b"%024d" % number), (number,))
        if number % 3:
            pool.release([block])
    largest, seen = 0, set[int]()
    visited.clear()
    for _ in pool.leak_check():
        largest, seen = max(largest, len(visited)), seen | visited
        visited.clear()
    assert largest <= PIECE
    assert len(seen | visited) == pool.num_blocks
