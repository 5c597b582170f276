"""The cost of a request, a login and a change of an administrator with few and with many people."""

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from math import inf
from pathlib import Path

import pytest

from tests.cpu_time import cpu_clock
from tests.integration.tenants import People, serving_people
from tests.loop_time import watched_loop
from tests.many_accounts import add_accounts
from tests.sizes import Size

FEW = 20
LEAST_TIMES = 20
TIMES = 100
MOST_GROWTH = 1.5
LEAST_SECONDS = 0.004
"""Times below this one count as this one: they are noise."""
MOST_LOOP_SECONDS = 0.02
MOST_IDLE = 0.01
"""Part of a core."""
IDLE_TIMES = 10

Step = Callable[[People, int], Awaitable[object]]


async def ask(people: People, number: int) -> None:
    # As a request does a second later.
    people.server.services.access.ring._read_at -= 1
    await people.alice.get("/api/account")


async def log_in(people: People, number: int) -> None:
    response = await people.stranger.post("/api/login", json={"key": people.keys["alice"]})
    assert response.status == 200, await response.text()


async def log_person_in(people: People, number: int) -> None:
    ring = people.server.services.access.ring
    await ring.begin_session(ring.people.by_id[f"{number % FEW:016x}"], "Firefox", 3600.0)


async def create_key(people: People, number: int) -> None:
    assert (await people.root.post("/api/admin/keys", json={"name": f"new-{number}"})).status == 201


async def disable(people: People, number: int) -> None:
    path = f"/api/admin/people/{number % FEW:016x}"
    assert (await people.root.patch(path, json={"disabled": number % 2 == 0})).status == 200


async def limit(people: People, number: int) -> None:
    response = await people.root.put("/api/admin/tenants/team-000001/limits", json={"concurrent_runs": number})
    assert response.status == 200


STEPS: tuple[Step, ...] = (ask, log_in, log_person_in, create_key, disable, limit)


@asynccontextmanager
async def serving_accounts(folder: Path, count: int) -> AsyncIterator[People]:
    """Serve `count` people from a separate database."""
    async with serving_people(folder) as people:
        await add_accounts(people.server.services.store, count)
        await people.server.services.access.ring.read()
        yield people


@pytest.fixture
async def many(tmp_path: Path, size: Size) -> AsyncIterator[People]:
    """Serve many people."""
    (tmp_path / "many").mkdir()
    async with serving_accounts(tmp_path / "many", size.pick(small=1000, full=20_000)) as people:
        yield people


@pytest.fixture
async def both(tmp_path: Path, many: People) -> AsyncIterator[tuple[People, People]]:
    """Serve few people and many people, each from a separate database."""
    (tmp_path / "few").mkdir()
    async with serving_accounts(tmp_path / "few", FEW) as few:
        yield few, many


async def test_costs_hardly_depend_on_the_number_of_people(both: tuple[People, People]) -> None:
    for step in STEPS:
        least, block = [inf, inf], inf
        for number in range(TIMES):
            for place, people in enumerate(both):
                with watched_loop() as longest:
                    began = time.perf_counter()
                    await step(people, number)
                    least[place] = min(least[place], time.perf_counter() - began)
            block = min(block, longest.seconds)
            few, many = (max(LEAST_SECONDS, seconds) for seconds in least)
            if number >= LEAST_TIMES and many <= MOST_GROWTH * few:
                break
        print(f"{step.__name__}: {least[0] * 1000:.1f} and {least[1] * 1000:.1f} ms, loop {block * 1000:.1f} ms")
        assert many <= MOST_GROWTH * few, step.__name__
        assert block <= MOST_LOOP_SECONDS, step.__name__


async def test_idle_server_with_many_people_computes_nothing(many: People, size: Size) -> None:
    clock = await cpu_clock(many.server.services.store)
    seconds = size.pick(small=1.0, full=10.0)
    least = inf
    for _ in range(IDLE_TIMES):
        before = clock()
        # The time that is measured.
        await asyncio.sleep(seconds)
        least = min(least, (clock() - before) / seconds)
        if least <= MOST_IDLE:
            break
    assert least <= MOST_IDLE
