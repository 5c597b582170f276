"""The queue of writes: none waits without a limit, and all but one are refused at once while the database is away."""

import asyncio
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from app.domain.storage_health import CommitUnknownError, StorageHealth, StorageUnavailableError
from app.storage import database as database_module
from app.storage.database import WriteQueue


class Hang:
    """Writes that wait until `end`."""

    def __init__(self) -> None:
        self.began = threading.Event()
        self.may_end = threading.Event()
        self.num_done = 0

    def write(self) -> int:
        self.began.set()
        assert self.may_end.wait(20)
        self.num_done += 1
        return self.num_done


@pytest.fixture
def hang() -> Iterator[Hang]:
    made = Hang()
    yield made
    made.may_end.set()


@pytest.fixture
def health() -> StorageHealth:
    return StorageHealth()


@pytest.fixture
def queue(health: StorageHealth, hang: Hang) -> Iterator[WriteQueue]:
    with ThreadPoolExecutor(1) as thread:
        yield WriteQueue(thread, health)
        hang.may_end.set()


async def test_write_that_cannot_begin_in_time_is_never_run(
    queue: WriteQueue, hang: Hang, health: StorageHealth, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = asyncio.create_task(queue.run(hang.write))
    await asyncio.to_thread(hang.began.wait)
    monkeypatch.setattr(database_module, "BEGIN_SECONDS", 0.01)
    with pytest.raises(StorageUnavailableError, match="nothing was stored"):
        await queue.run(hang.write)
    assert health.is_away
    hang.may_end.set()
    assert await first == 1
    assert await queue.run(lambda: hang.num_done) == 1


async def test_all_but_one_write_are_refused_while_away(queue: WriteQueue, hang: Hang, health: StorageHealth) -> None:
    health.fail(StorageUnavailableError("away"))
    first = asyncio.create_task(queue.run(hang.write))
    await asyncio.to_thread(hang.began.wait)
    with pytest.raises(StorageUnavailableError):
        await queue.run(hang.write)
    hang.may_end.set()
    assert await first == 1


async def test_write_that_hangs_is_in_doubt_until_its_end(
    queue: WriteQueue, hang: Hang, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(database_module, "BEGIN_SECONDS", 0.01)
    monkeypatch.setattr(database_module, "WRITE_SECONDS", 0.02)
    writing = asyncio.create_task(queue.run(hang.write))
    with pytest.raises(CommitUnknownError) as raised:
        await writing
    assert not raised.value.is_stored.done()
    hang.may_end.set()
    assert await asyncio.to_thread(raised.value.is_stored.result, 20)


async def test_write_of_a_cancelled_caller_runs_to_its_end(queue: WriteQueue, hang: Hang) -> None:
    writing = asyncio.create_task(queue.run(hang.write))
    await asyncio.to_thread(hang.began.wait)
    writing.cancel()
    with pytest.raises(asyncio.CancelledError):
        await writing
    hang.may_end.set()
    assert await queue.run(lambda: hang.num_done) == 1
