"""A link that is lost while the replica admits requests."""

import asyncio

import pytest

from engine.fleet.answer import MAX_FRUITLESS
from engine.fleet.link import CLOSED, ReplicaLostError
from tests.unit.engine.fleet.memory_fleet import ASKED, asked, joined, settled


@pytest.mark.parametrize("end", ["died", "was drained"])
async def test_only_deaths_at_admission_count_against_requests(end: str) -> None:
    answer = asked()
    for epoch in range(MAX_FRUITLESS):
        assert answer.may_continue, epoch
        link, replica, lost = await joined(epoch)
        replica.scripted.admits.clear()
        beginning = asyncio.create_task(link.begin(ASKED, [answer]))
        await settled()
        if end == "was drained":
            link.drain(1.0)
        link.lose(CLOSED)
        with pytest.raises(ReplicaLostError):
            await beginning
        assert lost == []
    assert answer.may_continue == (end == "was drained")
