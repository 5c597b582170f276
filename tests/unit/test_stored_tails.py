from cache_tiers.block_key import BlockKey, block_key
from engine.kv.stored_tails import StoredTail, StoredTails

A, B, C = (BlockKey(name * 32) for name in (b"a", b"b", b"c"))
HELD = tuple(range(10))


def holding() -> StoredTails:
    tails = StoredTails(most=2, least=3)
    assert tails.add(A, HELD)
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
    assert not tails.add(B, (1, 2))
    assert tails.find(7, B, (1, 2)) is None


def test_the_newest_stands_for_its_place_until_a_full_block_does() -> None:
    tails = holding()
    tails.add(A, (5, 6, 7))
    assert tails.find(0, A, HELD) is None
    assert tails.find(0, A, (5, 6, 7, 8)) == StoredTail(0, block_key(A, (5, 6, 7)), 3)
    tails.drop(A)
    assert tails.find(0, A, (5, 6, 7, 8)) is None


def test_of_too_many_the_longest_unused_is_forgotten() -> None:
    tails = holding()
    tails.add(B, HELD)
    tails.find(0, A, HELD)
    tails.add(C, HELD)
    assert [tails.find(0, parent, HELD) is not None for parent in (A, B, C)] == [True, False, True]
