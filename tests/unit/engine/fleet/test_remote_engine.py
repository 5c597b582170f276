"""Requests that kill replica after replica or that no replica computes in time, and erasures during a drain."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace

import pytest

from app.domain.failures import failure_of
from cache_tiers.owners.block_key import KEY_BYTES, BlockKey
from engine.api.errors import EngineError, OverloadedError, TimeoutPassedError
from engine.api.urgency import Urgency
from engine.fleet.gateway import keeper as keeper_module
from engine.fleet.gateway.answer import FRUITLESS, MAX_FRUITLESS
from tests.unit.engine.fleet.memory_fleet import ASKED, CONFIG, MemoryFleet, settled

FIRST, SECOND = BlockKey(b"1" * KEY_BYTES), BlockKey(b"2" * KEY_BYTES)


@pytest.fixture
async def fleet(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[MemoryFleet]:
    """Start two replicas, which start again one time each."""
    # Replicas in memory have nothing to flush.
    monkeypatch.setattr(keeper_module, "FLUSH_SECONDS", 0.0)
    fleet = MemoryFleet(4)
    await fleet.engine.start()
    yield fleet
    await fleet.engine.stop(0.0)


async def test_request_that_kills_replicas_at_admission_fails(fleet: MemoryFleet) -> None:
    for link in fleet.links:
        fleet.of(link).admits.clear()
    generating = asyncio.create_task(fleet.engine.generate(ASKED))
    for _ in range(MAX_FRUITLESS):
        await fleet.lose_busy()
    with pytest.raises(EngineError) as failure:
        await asyncio.wait_for(generating, 5)
    assert failure.value.message == FRUITLESS
    # The next epochs serve other requests.
    await settled()
    [stream] = await fleet.engine.generate(ASKED)
    fleet.of(fleet.busy()).produce(7, end="stop")
    assert tuple((await anext(stream)).token_ids) == (7,)


async def test_request_outlives_lost_connections_at_admission(fleet: MemoryFleet) -> None:
    fleet.placement.survive = True
    for link in fleet.links:
        fleet.of(link).admits.clear()
    generating = asyncio.create_task(fleet.engine.generate(ASKED))
    for _ in range(2 * MAX_FRUITLESS):
        await fleet.lose_busy()
    for link in fleet.links:
        fleet.of(link).admits.set()
    [stream] = await asyncio.wait_for(generating, 5)
    fleet.of(fleet.busy()).produce(7, end="stop")
    assert tuple((await anext(stream)).token_ids) == (7,)


async def test_answer_that_kills_replicas_at_takeover_ends(fleet: MemoryFleet) -> None:
    [stream] = await fleet.engine.generate(ASKED)
    fleet.of(fleet.busy()).produce(7)
    assert tuple((await anext(stream)).token_ids) == (7,)
    await asyncio.sleep(0)
    for link in fleet.links:
        fleet.of(link).admits.clear()
    # The first loss is no attempt to continue the answer.
    for _ in range(1 + MAX_FRUITLESS):
        await fleet.lose_busy()
        for link in fleet.links:
            fleet.of(link).admits.clear()
    last = await asyncio.wait_for(anext(stream), 5)
    assert (last.finish_reason, last.error) == ("error", FRUITLESS)


async def test_erasure_reaches_a_replica_that_is_drained(fleet: MemoryFleet) -> None:
    engines = [fleet.of(link) for link in fleet.links]
    fleet.engine.drain_replica(0)
    await fleet.engine.erase([FIRST])
    assert [FIRST in each.erased for each in engines] == [True, True]
    # The next epoch takes its place.
    fleet.links[0].mark_lost("it has ended")
    await settled()
    assert await asyncio.wait_for(fleet.engine.erase([SECOND]), 5)
    assert [SECOND in fleet.of(link).erased for link in fleet.links] == [True, True]
    assert SECOND not in engines[0].erased


async def lose_all(fleet: MemoryFleet) -> None:
    """Lose both replicas. None takes their place."""
    for link in fleet.links:
        link.mark_lost("it has died")
    await settled()


TIMED = replace(ASKED, urgency=Urgency(timeout=0.2))


async def test_timeout_ends_an_answer_that_no_replica_continues() -> None:
    fleet = MemoryFleet(2)
    await fleet.engine.start()
    [stream] = await fleet.engine.generate(TIMED)
    fleet.of(fleet.busy()).produce(7, 8)
    assert tuple((await anext(stream)).token_ids) == (7, 8)
    await lose_all(fleet)
    async with asyncio.timeout(5):
        last = await anext(stream)
    assert last.finish_reason == "timeout"
    assert failure_of(last) is None, "an answer that was begun is cut short, and does not fail"
    assert last.usage is not None
    assert (last.usage.prompt_tokens, last.usage.completion_tokens, last.usage.kv.tokens) == (3, 2, 3)
    assert last.usage.ttft_ms < last.usage.total_ms
    assert not fleet.engine.requests_of("local")


async def test_timeout_ends_a_request_that_no_replica_takes() -> None:
    fleet = MemoryFleet(2)
    await fleet.engine.start()
    await lose_all(fleet)
    with pytest.raises(TimeoutPassedError):
        await asyncio.wait_for(fleet.engine.generate(TIMED), 5)


async def test_queue_timeout_ends_requests_without_a_place() -> None:
    fleet = MemoryFleet(2, CONFIG.with_fields(queue_timeout=0.2))
    await fleet.engine.start()
    [waiting] = await fleet.engine.generate(ASKED)
    await lose_all(fleet)
    with pytest.raises(OverloadedError) as refusal:
        await asyncio.wait_for(fleet.engine.generate(ASKED), 5)
    assert refusal.value.code == "queue_timeout"
    async with asyncio.timeout(5):
        last = await anext(waiting)
    assert last.finish_reason == "queue_timeout"
    assert isinstance(failure_of(last), OverloadedError)


async def test_next_replica_has_the_time_that_is_left() -> None:
    fleet = MemoryFleet(4)
    await fleet.engine.start()
    for link in fleet.links:
        fleet.of(link).admits.clear()
    generating = asyncio.create_task(fleet.engine.generate(replace(ASKED, urgency=Urgency(timeout=60.0))))
    await fleet.lose_busy()
    for link in fleet.links:
        fleet.of(link).admits.set()
    await asyncio.wait_for(generating, 5)
    timeout = fleet.of(fleet.busy()).requests[-1].urgency.timeout
    assert timeout is not None
    assert timeout < 60.0


async def test_erasure_is_not_done_while_one_replica_is_away(fleet: MemoryFleet) -> None:
    """Distinguish a lost connection from a lost process: the replica would keep the blocks."""
    fleet.links[1].mark_lost("its connection is lost")
    assert not await fleet.engine.erase([FIRST])
    await settled()
    assert await asyncio.wait_for(fleet.engine.erase([FIRST]), 5)


async def test_erasure_is_not_done_if_one_replica_cannot(fleet: MemoryFleet) -> None:
    fleet.of(fleet.links[1]).erases = False
    assert not await fleet.engine.erase([FIRST])
