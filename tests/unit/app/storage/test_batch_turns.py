"""Batch writes: tenants take turns, and batches are throttled while answers are generated."""

import asyncio
import time
from pathlib import Path

import pytest

from app.storage.batch_turns import BUSY_SHARE, LONGEST_PAUSE, BatchTurns
from app.storage.sqlite.database import SqliteDatabase


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Replace the monotonic clock with one that only `asyncio.sleep` and the tests advance."""
    now = [100.0]

    async def sleep(seconds: float) -> None:
        now[0] += seconds

    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    monkeypatch.setattr(asyncio, "sleep", sleep)
    return now


async def batches(turns: BatchTurns, clock: list[float], count: int, seconds: float) -> float:
    """Write `count` batches of `seconds` each. Return the elapsed seconds, pauses included."""
    began = clock[0]
    for _ in range(count):
        async with turns.turn("a") as begin:
            begin()
            clock[0] += seconds
    return clock[0] - began


async def test_idle_server_writes_batches_without_pauses(clock: list[float]) -> None:
    assert await batches(BatchTurns(), clock, 10, 0.02) == pytest.approx(0.2)


async def test_busy_server_limits_batches_to_their_share(clock: list[float]) -> None:
    turns = BatchTurns()
    turns.is_busy = lambda: True
    assert await batches(turns, clock, 11, 0.02) == pytest.approx(0.02 + 10 * 0.02 / BUSY_SHARE)


async def test_pause_after_slow_batch_is_capped(clock: list[float]) -> None:
    turns = BatchTurns()
    turns.is_busy = lambda: True
    assert await batches(turns, clock, 2, 30.0) == pytest.approx(60 + LONGEST_PAUSE)


async def test_wait_for_writer_is_not_charged_to_batch(clock: list[float]) -> None:
    turns = BatchTurns()
    turns.is_busy = lambda: True
    async with turns.turn("a") as begin:
        clock[0] += 5.0
        begin()
    began = clock[0]
    async with turns.turn("a"):
        assert clock[0] == began


async def test_tenants_take_turns_round_robin() -> None:
    turns, order = BatchTurns(), list[str]()
    held = asyncio.Event()

    async def hold() -> None:
        async with turns.turn("first"):
            await held.wait()

    async def write(tenant: str) -> None:
        async with turns.turn(tenant):
            order.append(tenant)

    holder = asyncio.create_task(hold())
    await asyncio.sleep(0)
    writers = [asyncio.create_task(write(tenant)) for tenant in ("a", "a", "a", "b", "c")]
    await asyncio.sleep(0)
    held.set()
    await asyncio.gather(holder, *writers)
    assert order == ["a", "b", "c", "a", "a"]


async def test_database_batch_waits_for_its_turn(tmp_path: Path) -> None:
    database = await SqliteDatabase.open(tmp_path / "conversations.db")
    try:
        async with database.batches.turn("other"):
            batch = asyncio.create_task(database.write_batch(lambda connection: "written"))
            # An ordinary write does not wait for the turn.
            await database.write(lambda connection: None)
            assert not batch.done()
        assert await batch == "written"
    finally:
        await database.close()
