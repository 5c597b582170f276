"""A rank's copy of its part of the CPU tier's pool, and the pool on the engine's machine."""

import socket
from collections.abc import Iterator
from dataclasses import dataclass
from multiprocessing.connection import Connection

import pytest

from cache_tiers.transfer import Direction, TransferJob, TransferResult
from engine.executor.far_pool import FarPool, PoolServer

BLOCK = 10
FIRST, PART = 4, 3
"""The rank's part of a block."""
BLOCKS = 4


@dataclass
class Ends:
    """The rank's end, the engine's, and the pool."""

    rank: FarPool
    engine: PoolServer
    pool: bytearray

    def store(self, job_id: int, place: int, key: bytes, values: bytes) -> tuple[TransferResult, ...]:
        """Store a block as a step does: the rank writes its part, and waits until the engine has it."""
        job = TransferJob(job_id, Direction.STORE, 0, place * BLOCK, key)
        self.rank.prepare([], [job])
        begin = place * BLOCK + FIRST
        self.rank.memory[begin : begin + PART] = values
        return self.rank.settle([TransferResult(job_id, 0.5)], wait=True)

    def load(self, place: int, key: bytes) -> bytes:
        """Prepare a load and return the rank's bytes."""
        self.rank.prepare([TransferJob(99, Direction.LOAD, 0, place * BLOCK, key)], [])
        begin = place * BLOCK + FIRST
        return bytes(self.rank.memory[begin : begin + PART])


@pytest.fixture
def pipes() -> Iterator[tuple[Connection, Connection]]:
    ours, theirs = (Connection(end.detach()) for end in socket.socketpair())
    yield ours, theirs
    for pipe in (ours, theirs):
        if not pipe.closed:
            pipe.close()


@pytest.fixture
def ends(pipes: tuple[Connection, Connection]) -> Iterator[Ends]:
    ours, theirs = pipes
    pool = bytearray(BLOCKS * BLOCK)
    server = PoolServer(ours, memoryview(pool))
    yield Ends(FarPool(theirs, len(pool), FIRST, PART), server, pool)
    if not ours.closed:
        server.close()


def test_stored_part_is_in_the_pool_when_its_result_is_known(ends: Ends) -> None:
    assert ends.store(1, 2, b"key", b"abc") == (TransferResult(1, 0.5),)
    assert ends.pool == bytes(24) + b"abc" + bytes(13)


def test_own_block_is_loaded_without_the_engine(ends: Ends) -> None:
    ends.store(1, 2, b"key", b"abc")
    ends.engine.close()
    assert ends.load(2, b"key") == b"abc"


def test_block_that_only_the_engine_has_is_fetched_once(ends: Ends) -> None:
    ends.pool[14:17] = b"xyz"
    assert ends.load(1, b"from a lower tier") == b"xyz"
    ends.engine.close()
    assert ends.load(1, b"from a lower tier") == b"xyz"


def test_block_in_the_place_of_an_own_one_is_fetched(ends: Ends) -> None:
    ends.store(1, 2, b"key", b"abc")
    ends.pool[24:27] = b"new"
    assert ends.load(2, b"other key") == b"new"


def test_store_whose_copy_failed_is_fetched_again(ends: Ends) -> None:
    ends.store(1, 2, b"key", b"abc")
    ends.rank.prepare([], [TransferJob(2, Direction.STORE, 0, 20, b"other key")])
    failed = TransferResult(2, 0.1, error="the device failed")
    assert ends.rank.settle([failed], wait=True) == (failed,)
    ends.pool[24:27] = b"new"
    assert ends.load(2, b"key") == b"new"


def test_results_of_loads_are_complete_at_once(ends: Ends) -> None:
    loaded = TransferResult(7, 0.2)
    assert ends.rank.settle([loaded], wait=False) == (loaded,)


def test_forgotten_stores_have_no_results(ends: Ends) -> None:
    ends.rank.prepare([], [TransferJob(1, Direction.STORE, 0, 0, b"key")])
    ends.rank.settle([TransferResult(1, 0.5)], wait=False)
    ends.rank.forget()
    assert ends.rank.settle([], wait=True) == ()


def test_store_without_the_engine_is_an_error(ends: Ends) -> None:
    ends.engine.close()
    [result] = ends.store(1, 2, b"key", b"abc")
    assert result.error is not None
    assert result.error.startswith("the CPU tier on the engine's machine cannot be reached")


def test_range_beyond_the_pool_ends_the_connection(pipes: tuple[Connection, Connection]) -> None:
    ours, theirs = pipes
    pool = bytearray(BLOCK)
    server = PoolServer(ours, memoryview(pool))
    rank = FarPool(theirs, BLOCKS * BLOCK, FIRST, PART)
    with pytest.raises((EOFError, OSError)):
        rank.prepare([TransferJob(1, Direction.LOAD, 0, BLOCK, b"key")], [])
    server.close()
    assert pool == bytes(BLOCK)
