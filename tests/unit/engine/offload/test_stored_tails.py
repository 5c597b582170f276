"""Index of stored partial blocks (tails): lookup by common prefix, replacement, eviction and erasure."""

import random

from cache_tiers.block_key import BlockKey, block_key
from cache_tiers.owners import Owners
from engine.kv_block import num_equal
from engine.offload.stored_tails import StoredTail, StoredTails

A, B, C = (BlockKey(b"somebody" + name * 24) for name in (b"a", b"b", b"c"))
HELD = tuple(range(10))


def add(tails: StoredTails, parent: BlockKey, token_ids: tuple[int, ...]) -> bool:
    return tails.add(parent, block_key(parent, token_ids), token_ids)


def holding() -> StoredTails:
    tails = StoredTails(Owners(), most=2, least=3)
    assert add(tails, A, HELD)
    return tails


def test_find_returns_longest_common_prefix() -> None:
    tails = holding()
    key = block_key(A, HELD)
    assert tails.find(7, A, (*HELD, 99)) == StoredTail(7, key, 10)
    assert tails.find(7, A, HELD[:6]) == StoredTail(7, key, 6)
    assert tails.find(7, A, (*HELD[:4], 99, 98)) == StoredTail(7, key, 4)
    assert tails.find(7, B, HELD) is None


def test_runs_below_minimum_are_neither_kept_nor_found() -> None:
    tails = holding()
    assert tails.find(7, A, (0, 1, 99)) is None
    assert not add(tails, B, (1, 2))
    assert tails.find(7, B, (1, 2)) is None


def test_chats_with_common_beginning_keep_separate_tails() -> None:
    tails = holding()
    other = (0, 1, 2, 3, 50, 51, 52)
    add(tails, A, other)
    assert tails.find(0, A, HELD) == StoredTail(0, block_key(A, HELD), 10)
    assert tails.find(0, A, (*other, 99)) == StoredTail(0, block_key(A, other), 7)


def test_longer_continuation_replaces_tail() -> None:
    tails = holding()
    longer = (*HELD, 10, 11)
    add(tails, A, longer)
    assert tails.find(0, A, HELD) == StoredTail(0, block_key(A, longer), 10)
    tails.drop(A, (*longer, 12, 13))
    assert tails.find(0, A, HELD) is None


def test_full_block_does_not_drop_tails_that_diverge() -> None:
    tails = holding()
    tails.drop(A, (*HELD[:4], 99, 98, 97))
    assert tails.find(0, A, HELD) is not None


def test_best_match_is_found_among_many_tails() -> None:
    source = random.Random(3)
    tails = StoredTails(Owners(), most=1000, least=3)
    runs = {tuple(source.choices(range(3), k=source.randint(3, 12))) for _ in range(300)}
    held = [run for run in runs if not any(run != other and other[: len(run)] == run for other in runs)]
    for run in held:
        add(tails, A, run)
    for _ in range(300):
        known = tuple(source.choices(range(3), k=14))
        found = tails.find(0, A, known)
        most = max(num_equal(run, known) for run in held)
        assert (found.num_tokens if found is not None else 0) == (most if most >= 3 else 0)


def test_least_recently_used_tail_is_evicted() -> None:
    tails = holding()
    add(tails, B, HELD)
    tails.find(0, A, HELD)
    add(tails, C, HELD)
    assert [tails.find(0, parent, HELD) is not None for parent in (A, B, C)] == [True, False, True]


def test_erased_tail_is_not_found() -> None:
    tails = StoredTails(Owners(), most=9, least=1)
    tails.add(A, B, (1, 2))
    tails.erase([A, B])
    assert tails.find(0, A, (1, 2)) is None
    assert tails.add(A, B, (1, 2))
