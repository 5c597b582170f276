"""Erasures while a replica is drained."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from engine.fleet import keeper as keeper_module
from engine.trail import Trail
from tests.unit.engine.fleet.memory_fleet import MemoryFleet, settled


@pytest.fixture
async def fleet(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[MemoryFleet]:
    """Start two replicas, which start again one time each."""
    # Replicas in memory have nothing to flush.
    monkeypatch.setattr(keeper_module, "FLUSH_SECONDS", 0.0)
    fleet = MemoryFleet(4)
    await fleet.engine.start()
    yield fleet
    await fleet.engine.stop(0.0)


async def test_erasure_reaches_a_replica_that_is_drained(fleet: MemoryFleet) -> None:
    engines = [fleet.of(link) for link in fleet.links]
    fleet.engine.drain_replica(0)
    await fleet.engine.erase([Trail([1, 2, 3])])
    assert [[1, 2, 3] in each.erased for each in engines] == [True, True]
    # The next epoch takes its place.
    fleet.links[0].lose("it has ended")
    await settled()
    await asyncio.wait_for(fleet.engine.erase([Trail([4])]), 5)
    assert [[4] in fleet.of(link).erased for link in fleet.links] == [True, True]
    assert [4] not in engines[0].erased
