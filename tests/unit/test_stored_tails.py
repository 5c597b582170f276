import random

from cache_tiers.block_key import BlockKey, block_key
from cache_tiers.owners import Owners
from engine.kv.block import num_equal
from engine.kv.stored_tails import StoredTail, StoredTails

A, B, C = (BlockKey(b"somebody" + name * 24) for name in (b"a", b"b", b"c"))
HELD = tuple(range(10))


def add(tails: StoredTails, parent: BlockKey, token_ids: tuple[int, ...]) -> bool:
    return tails.add(parent, block_key(parent, token_ids), token_ids)


def holding() -> StoredTails:
    tails = StoredTails(Owners(), most=2, least=3)
    assert add(tails, A, HELD)
    return tails


def test_as_many_tokens_are_found_as_are_the_same() -> None:
    tails = holding()
    key = block_key(A, HELD)
    assert tails.find(7, A, (*HELD, 99)) == StoredTail(7, key, 10)
    assert tails.find(7, A, HELD[:6]) == StoredTail(7, key, 6)
    assert tails.find(7, A, (*HELD[:4], 99, 98)) == StoredTail(7, key, 4)
    assert tails.find(7, B, HELD) is None


def test_a_short_run_is_not_worth_it() -> None:
    tails = holding()
    assert tails.find(7, A, (0, 1, 99)) is None
    assert not add(tails, B, (1, 2))
    assert tails.find(7, B, (1, 2)) is None


def test_chats_that_begin_alike_have_a_tail_each() -> None:
    tails = holding()
    other = (0, 1, 2, 3, 50, 51, 52)
    add(tails, A, other)
    assert tails.find(0, A, HELD) == StoredTail(0, block_key(A, HELD), 10)
    assert tails.find(0, A, (*other, 99)) == StoredTail(0, block_key(A, other), 7)


def test_what_goes_on_from_a_tail_takes_its_place() -> None:
    tails = holding()
    longer = (*HELD, 10, 11)
    add(tails, A, longer)
    assert tails.find(0, A, HELD) == StoredTail(0, block_key(A, longer), 10)
    tails.drop(A, (*longer, 12, 13))
    assert tails.find(0, A, HELD) is None


def test_a_full_block_leaves_the_tails_of_others_alone() -> None:
    tails = holding()
    tails.drop(A, (*HELD[:4], 99, 98, 97))
    assert tails.find(0, A, HELD) is not None


def test_among_very_many_the_one_that_shares_most_is_found() -> None:
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


def test_of_too_many_the_longest_unused_is_forgotten() -> None:
    tails = holding()
    add(tails, B, HELD)
    tails.find(0, A, HELD)
    add(tails, C, HELD)
    assert [tails.find(0, parent, HELD) is not None for parent in (A, B, C)] == [True, False, True]


def test_an_erased_tail_is_not_known_any_more() -> None:
    tails = StoredTails(Owners(), most=9, least=1)
    tails.add(A, B, (1, 2))
    tails.erase([A, B])
    assert tails.find(0, A, (1, 2)) is None
    assert tails.add(A, B, (1, 2))
