"""The bound of the memory that waits to be written to several tiers."""

import itertools
from collections.abc import Sequence
from typing import Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cache_tiers.lower.block import Block
from cache_tiers.lower.block_values import BlockValues
from cache_tiers.lower.jobs import Job, PutJob
from cache_tiers.lower.sealed_value import FINGERPRINT_BYTES, BlockSeal
from cache_tiers.lower.write_account import WriteAccount, WriteLine
from cache_tiers.owners.block_key import Owner, owner_of
from cache_tiers.owners.owners import Owners

NBYTES: Final = 10
FLOOD, QUIET = Owner(b"flood..."), Owner(b"quiet...")
VALUES = BlockValues(BlockSeal(b"secret", bytes(FINGERPRINT_BYTES)), NBYTES)


class Tier:
    """A line of writes, and what became of them."""

    def __init__(self, account: WriteAccount) -> None:
        self.line: WriteLine = account.open_line()
        self.written: list[bytes] = []
        self.missed: list[bytes] = []

    def put(self, block: Block) -> list[Job]:
        job = PutJob(block, VALUES, lambda job: self.missed.append(job.block.key))
        return self.line.add(job, block, NBYTES, owner_of(block.key))

    def write(self, most: int = 1) -> None:
        for _ in range(most):
            if (job := self.line.take()) is not None:
                assert isinstance(job, PutJob)
                self.written.append(job.block.key)


def give_up(jobs: Sequence[Job]) -> None:
    for job in jobs:
        job.finish()


class Tiers:
    """Tiers that share an account."""

    def __init__(self, max_blocks: int, count: int) -> None:
        account = WriteAccount(max_blocks * NBYTES, Owners())
        self.each = [Tier(account) for _ in range(count)]

    def put(self, number: int, owner: Owner = FLOOD) -> bytes:
        block = Block(owner + number.to_bytes(24, "big"), memoryview(bytes(NBYTES)))
        for tier in self.each:
            give_up(tier.line.make_room(NBYTES))
        for tier in self.each:
            give_up(tier.put(block))
        return block.key


def test_block_counts_once_for_all_tiers() -> None:
    tiers = Tiers(4, 3)
    names = [tiers.put(number) for number in range(4)]
    assert not any(tier.missed for tier in tiers.each)
    tiers.put(4)
    assert all(tier.missed == [FLOOD + (4).to_bytes(24, "big")] for tier in tiers.each)
    for tier in tiers.each:
        tier.write(4)
        assert tier.written == names


@pytest.mark.parametrize("order", [1, -1])
def test_slow_tier_gives_up_only_its_own_writes(order: int) -> None:
    tiers = Tiers(4, 2)
    fast, slow = tiers.each[::order]
    names = []
    for number in range(100):
        names.append(tiers.put(number))
        fast.write()
    assert (fast.written, fast.missed) == (names, [])
    assert not slow.written
    assert slow.missed
    slow.write(100)
    assert slow.written == names[:3] + names[-1:], "the oldest writes stay, as a chain needs its beginning"
    assert sorted([*slow.written, *slow.missed]) == names


def test_slow_tier_gives_up_writes_of_the_owner_with_most() -> None:
    tiers = Tiers(4, 2)
    fast, slow = tiers.each
    for number in range(3):
        tiers.put(number)
    quiet = tiers.put(3, QUIET)
    fast.write(4)
    tiers.put(4, QUIET)
    assert slow.missed == [FLOOD + (2).to_bytes(24, "big")]
    slow.write(2)
    assert quiet in slow.written


PUTS = st.tuples(st.just("put"), st.sampled_from([FLOOD, QUIET]))
WRITES = st.tuples(st.just("write"), st.integers(0, 3))


@given(operations=st.lists(PUTS | WRITES, max_size=60), max_blocks=st.integers(1, 6), order=st.sampled_from([1, -1]))
def test_slow_tier_changes_nothing_for_the_fast_one(
    operations: Sequence[tuple[str, Owner | int]], max_blocks: int, order: int
) -> None:
    alone, both, numbers = Tiers(max_blocks, 1), Tiers(max_blocks, 2), itertools.count()
    [only] = alone.each
    fast, slow = both.each[::order]
    for _, value in operations:
        if isinstance(value, int):
            only.write(value)
            fast.write(value)
            if fast.line.nbytes == 0:
                slow.write()
        else:
            number = next(numbers)
            alone.put(number, value)
            both.put(number, value)
        assert (fast.written, fast.missed) == (only.written, only.missed)
        assert slow.line.nbytes <= max_blocks * NBYTES, "all that waits fits the bound"
    slow.write(len(operations))
    assert len(slow.written) + len(slow.missed) == next(numbers), "no write is lost without a note"
