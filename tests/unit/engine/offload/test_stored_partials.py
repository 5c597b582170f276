"""Index of stored partial blocks: lookup by common prefix, replacement, eviction and erasure."""

import random

from cache_tiers.owners.block_key import BlockKey, block_key
from cache_tiers.owners.owners import Owners
from engine.kv.block import common_prefix_len
from engine.offload.stored_partials import StoredPartial, StoredPartials

A, B, C = (BlockKey(b"somebody" + name * 24) for name in (b"a", b"b", b"c"))
HELD = tuple(range(10))


def add(partials: StoredPartials, parent: BlockKey, token_ids: tuple[int, ...]) -> bool:
    return partials.add(parent, block_key(parent, token_ids), token_ids)


def holding() -> StoredPartials:
    partials = StoredPartials(Owners(), most=2, least=3)
    assert add(partials, A, HELD)
    return partials


def test_find_returns_longest_common_prefix() -> None:
    partials = holding()
    key = block_key(A, HELD)
    assert partials.find(7, A, (*HELD, 99)) == StoredPartial(7, key, 10)
    assert partials.find(7, A, HELD[:6]) == StoredPartial(7, key, 6)
    assert partials.find(7, A, (*HELD[:4], 99, 98)) == StoredPartial(7, key, 4)
    assert partials.find(7, B, HELD) is None


def test_runs_below_minimum_are_neither_kept_nor_found() -> None:
    partials = holding()
    assert partials.find(7, A, (0, 1, 99)) is None
    assert not add(partials, B, (1, 2))
    assert partials.find(7, B, (1, 2)) is None


def test_chats_with_common_beginning_keep_separate_tails() -> None:
    partials = holding()
    other = (0, 1, 2, 3, 50, 51, 52)
    add(partials, A, other)
    assert partials.find(0, A, HELD) == StoredPartial(0, block_key(A, HELD), 10)
    assert partials.find(0, A, (*other, 99)) == StoredPartial(0, block_key(A, other), 7)


def test_longer_continuation_replaces_tail() -> None:
    partials = holding()
    longer = (*HELD, 10, 11)
    add(partials, A, longer)
    assert partials.find(0, A, HELD) == StoredPartial(0, block_key(A, longer), 10)
    partials.drop(A, (*longer, 12, 13))
    assert partials.find(0, A, HELD) is None


def test_full_block_does_not_drop_tails_that_diverge() -> None:
    partials = holding()
    partials.drop(A, (*HELD[:4], 99, 98, 97))
    assert partials.find(0, A, HELD) is not None


def test_best_match_is_found_among_many_tails() -> None:
    source = random.Random(3)
    partials = StoredPartials(Owners(), most=1000, least=3)
    runs = {tuple(source.choices(range(3), k=source.randint(3, 12))) for _ in range(300)}
    held = [run for run in runs if not any(run != other and other[: len(run)] == run for other in runs)]
    for run in held:
        add(partials, A, run)
    for _ in range(300):
        known = tuple(source.choices(range(3), k=14))
        found = partials.find(0, A, known)
        most = max(common_prefix_len(run, known) for run in held)
        assert (found.num_tokens if found is not None else 0) == (most if most >= 3 else 0)


def test_least_recently_used_tail_is_evicted() -> None:
    partials = holding()
    add(partials, B, HELD)
    partials.find(0, A, HELD)
    add(partials, C, HELD)
    assert [partials.find(0, parent, HELD) is not None for parent in (A, B, C)] == [True, False, True]


def test_erased_tail_is_not_found() -> None:
    partials = StoredPartials(Owners(), most=9, least=1)
    partials.add(A, B, (1, 2))
    partials.erase([A, B])
    assert partials.find(0, A, (1, 2)) is None
    assert partials.add(A, B, (1, 2))
