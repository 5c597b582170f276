"""The check for leaks that the engine runs while it is idle."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from cache_tiers.leak_check import LeakCheck
from cache_tiers.owners.block_key import Owner
from engine.api.generate_request import GenerateRequest
from engine.api.sampling_params import SamplingParams
from engine.loop import engine_loop
from tests.model.toy_engine import ToyEngine
from tests.waiting import until

ANSWER = SamplingParams(temperature=0.0, max_tokens=4, seed=0)


@pytest.fixture
async def toy(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[ToyEngine]:
    """Start an engine that checks itself whenever it is idle."""
    monkeypatch.setattr(engine_loop, "CHECK_EVERY_SECONDS", 0.0)
    toy = ToyEngine()
    await toy.engine.start()
    yield toy
    await toy.engine.stop(0.0)


async def test_request_drops_the_check(toy: ToyEngine, monkeypatch: pytest.MonkeyPatch) -> None:
    pieces, ended = list[int](), list[int]()

    def endless() -> LeakCheck:
        try:
            while True:
                pieces.append(len(ended))
                yield 0.0
        finally:
            ended.append(1)

    monkeypatch.setattr(toy.engine._engine, "leak_check", endless)
    toy.engine._loop.wake.set()
    await asyncio.to_thread(until, lambda: len(pieces) > 10)
    [stream] = await toy.engine.generate(GenerateRequest(prompt_token_ids=[1, 2, 3], params=ANSWER))
    before = pieces.count(0)
    assert [output async for output in stream][-1].finish_reason is not None
    assert (pieces.count(0) - before, ended[:1]) == (0, [1])


async def test_failure_is_counted_each_time_and_logged_once(toy: ToyEngine, caplog: pytest.LogCaptureFixture) -> None:
    counts = toy.engine._engine._checks
    toy.scheduler.blocks.pool.allocate(1, Owner(b"nobody.."))
    for number in (1, 2, 3):
        toy.engine._loop.wake.set()
        await asyncio.to_thread(until, lambda least=number: counts["failed"] >= least)
    assert sum("leaking" in record.message for record in caplog.records) == 1
