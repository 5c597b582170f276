"""A link that is lost: what the replica sends later, and the requests that it was admitting."""

import asyncio

import pytest

from engine.api.outputs import joined as whole_of
from engine.fleet.gateway.answer import MAX_FRUITLESS
from engine.fleet.gateway.link import CLOSED, ReplicaLostError
from tests.unit.engine.fleet.memory_fleet import ASKED, asked, joined, settled


async def test_frames_of_a_lost_epoch_change_no_answer() -> None:
    frozen, zombie, lost = await joined(1)
    link, replica, _ = await joined(2)
    answer = asked()
    await frozen.begin(ASKED, [answer])
    zombie.scripted.produce(7)
    await settled()
    frozen.mark_lost("it sent nothing for 1 s")
    assert lost == [answer]
    answer.lose_replica(frozen.epoch)
    # The process wakes up and computes the next token, before another replica has the answer.
    zombie.scripted.produce(8)
    await settled()
    assert answer.continuation().produced == (7,)
    await link.begin(answer.continuation(), [answer])
    replica.scripted.produce(8)
    await settled()
    # So does its last token, which the other replica has not computed yet.
    zombie.scripted.produce(9, end="stop")
    await settled()
    assert answer.continuation().produced == (7, 8)
    replica.scripted.produce(9, end="stop")
    await settled()
    whole = whole_of([output async for output in answer.stream])
    assert (tuple(whole.token_ids), whole.text, whole.finish_reason) == ((7, 8, 9), " w7 w8 w9", "stop")
    assert not link.is_lost


@pytest.mark.parametrize("end", ["died", "was drained"])
async def test_only_deaths_at_admission_count_against_requests(end: str) -> None:
    answer = asked()
    for epoch in range(MAX_FRUITLESS):
        assert answer.may_continue(), epoch
        link, replica, lost = await joined(epoch)
        replica.scripted.admits.clear()
        beginning = asyncio.create_task(link.begin(ASKED, [answer]))
        await settled()
        if end == "was drained":
            link.drain(1.0)
        link.mark_lost(CLOSED)
        with pytest.raises(ReplicaLostError):
            await beginning
        assert lost == []
    assert answer.may_continue() == (end == "was drained")
