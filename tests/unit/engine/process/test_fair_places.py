"""Places for costly work are shared among tenants."""

import asyncio
import random
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.api.errors import OverloadedError
from engine.process.fair_places import FairPlaces


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


@given(st.lists(st.tuples(st.sampled_from("abcd"), st.booleans()), max_size=60), st.integers(1, 3), st.integers(1, 3))
async def test_the_waiting_tenant_with_the_fewest_places_is_next(
    steps: list[tuple[str, bool]], num_places: int, most_of_one: int
) -> None:
    places = FairPlaces(num_places, most_of_one=most_of_one)
    waiting, held = list[tuple[str, asyncio.Task[None]]](), Counter[str]()
    for tenant, takes in steps:
        if takes:
            waiting.append((tenant, asyncio.create_task(places.take(tenant))))
        elif held[tenant]:
            held[tenant] -= 1
            places.free(tenant)
        before = Counter({name: number for name, number in held.items() if number})
        await settle()
        for name in [name for name, task in waiting if task.done()]:
            others = [other for other, task in waiting if not task.done() and before[other] < most_of_one]
            assert all(before[name] <= before[other] for other in others)
            held[name] += 1
        waiting = [(name, task) for name, task in waiting if not task.done()]
        assert held.total() <= num_places
        may_take = [name for name, _ in waiting if held[name] < most_of_one]
        assert held.total() == num_places or not may_take, "a place is free while a tenant that may take it waits"
    for _, task in waiting:
        task.cancel()


async def test_call_too_many_takes_last_place_of_longest_line() -> None:
    places = FairPlaces(1, most_waiting=None, most_in_all=4)
    await places.take("flood")
    flood = [asyncio.create_task(places.take("flood")) for _ in range(3)]
    await settle()
    other = asyncio.create_task(places.take("other"))
    await settle()
    assert [task.done() for task in (*flood, other)] == [False, False, True, False]
    assert isinstance(flood[-1].exception(), OverloadedError)
    with pytest.raises(OverloadedError):
        await places.take("other")
    for task in (*flood, other):
        task.cancel()
