"""Places for costly work are shared among tenants."""

import asyncio
import random

import pytest

from engine.errors import OverloadedError
from engine.fair_places import FairPlaces


async def settle() -> None:
    for _ in range(3):
        await asyncio.sleep(0)


async def test_a_free_place_goes_to_the_tenant_with_the_fewest() -> None:
    places, served = FairPlaces(1), list[str]()

    async def work(tenant: str) -> None:
        async with places.place(tenant):
            served.append(tenant)
            await asyncio.sleep(0)

    await asyncio.gather(*(work(tenant) for tenant in ("flood",) * 6 + ("one", "two")))
    assert served[:4] == ["flood", "flood", "one", "two"] or served[:3] == ["flood", "one", "two"]
    assert len(served) == 8


async def test_a_tenant_with_too_many_in_line_is_refused() -> None:
    places = FairPlaces(1, most_waiting=2)
    await places.take("a")
    waiting = [asyncio.create_task(places.take("a")) for _ in range(2)]
    await settle()
    with pytest.raises(OverloadedError) as caught:
        await places.take("a")
    assert caught.value.retry_after > 0
    other = asyncio.create_task(places.take("b"))
    await settle()
    places.free("a")
    await settle()
    assert [other.done(), *(task.done() for task in waiting)].count(True) == 1
    for task in (other, *waiting):
        task.cancel()


async def test_no_place_is_lost_however_takers_are_cancelled() -> None:
    chance = random.Random(5)
    places = FairPlaces(3, most_of_one=2)
    running = 0
    most = 0

    async def work(tenant: str) -> None:
        nonlocal running, most
        async with places.place(tenant):
            running += 1
            most = max(most, running)
            try:
                for _ in range(chance.randrange(4)):
                    await asyncio.sleep(0)
            finally:
                running -= 1

    tasks = list[asyncio.Task[None]]()
    for _ in range(400):
        tasks.append(asyncio.create_task(work(chance.choice("abc"))))
        if chance.random() < 0.4:
            chance.choice(tasks).cancel()
        if chance.random() < 0.5:
            await asyncio.sleep(0)
    await asyncio.gather(*tasks, return_exceptions=True)
    assert most == 3
    async with asyncio.timeout(5):
        await asyncio.gather(*(places.take(tenant) for tenant in "aab"))
