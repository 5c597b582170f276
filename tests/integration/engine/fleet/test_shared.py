"""Two gateways that share one replica: their streams are apart, and both follow when the replica is replaced."""

import asyncio
import os
import signal
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from engine.async_llm import AsyncLLMEngine
from engine.config import EngineConfig
from engine.fleet.build import build_shared_fleet
from engine.fleet.remote_engine import RemoteEngine
from engine.fleet.shared_place import SharedPlace
from tests.integration.engine.fleet.answers import (
    GREEDY,
    KINDS,
    Reading,
    answers_of,
    prompt_of,
    reading,
    told,
    until_states,
)
from tests.shelf import Card, Shelf
from tests.sizes import MANY_PROCESSES

pytestmark = [pytest.mark.asyncio(loop_scope="package"), pytest.mark.xdist_group("fleet"), MANY_PROCESSES]


@pytest_asyncio.fixture(scope="module", loop_scope="package")
async def shelf() -> Shelf:
    return Shelf()


@pytest_asyncio.fixture(scope="module", loop_scope="package")
async def gateways(config: EngineConfig, shelf: Shelf) -> AsyncIterator[list[RemoteEngine]]:
    """Start two gateways on one replica, which ends with the last of them."""
    engines = [
        await asyncio.to_thread(build_shared_fleet, config, 1, lambda _: None, Card(shelf), "127.0.0.1")
        for _ in range(2)
    ]
    for engine in engines:
        await engine.start()
    yield engines
    for engine in engines:
        await engine.stop(0.0)
    place = shelf.published[0].place
    assert place is not None
    async with asyncio.timeout(20):
        # The process is a child of this one, and no gateway is left to wait for it.
        while not has_ended(place):  # noqa: ASYNC110
            await asyncio.sleep(0.01)


def has_ended(place: SharedPlace) -> bool:
    return os.waitpid(place.process.pid, os.WNOHANG)[0] != 0


async def begun(engine: RemoteEngine, kind: str, salt: int) -> list[Reading]:
    params, count = KINDS[kind]
    readers = await reading(engine, prompt_of(150, salt), params, count)
    for reader in readers:
        await reader.begun.wait()
    return readers


async def test_each_gateway_gets_its_own_streams(
    gateways: list[RemoteEngine], alone: AsyncLLMEngine, shelf: Shelf
) -> None:
    first, second = gateways
    readers = [await begun(first, "several", 900), await begun(second, "seeded", 901)]
    # A gateway that goes without a word takes only its own streams along, and then connects again to the same process.
    [link] = second._keeper.ready
    link.connection.abort()
    got = [[told(await reader.whole()) for reader in each] for each in readers]
    for kind, salt, here in (("several", 900, got[0]), ("seeded", 901, got[1])):
        params, count = KINDS[kind]
        assert here == [told(each) for each in await answers_of(alone, prompt_of(150, salt), params, count)]
    states = [(await until_states(each, "ok"))[0] for each in gateways]
    assert [(each.epoch, each.restarts) for each in states] == [(1, 0), (1, 0)]
    assert states[0].pid == states[1].pid
    assert shelf.last_epoch == 1
    # The counts of the process are not counted again because its connection broke.
    async with asyncio.timeout(20):
        while first.stats().generation_tokens != second.stats().generation_tokens:  # noqa: ASYNC110
            await asyncio.sleep(0.01)


async def test_keeper_replaces_a_killed_replica_for_both(gateways: list[RemoteEngine], alone: AsyncLLMEngine) -> None:
    readers = [(await reading(each, prompt_of(150, 910 + at), GREEDY))[0] for at, each in enumerate(gateways)]
    for reader in readers:
        await reader.begun.wait()
    [before] = gateways[1].stats().replicas
    assert before.pid is not None
    os.kill(before.pid, signal.SIGKILL)
    for at, reader in enumerate(readers):
        assert told(await reader.whole()) == told((await answers_of(alone, prompt_of(150, 910 + at), GREEDY))[0])
    states = [(await until_states(each, "ok"))[0] for each in gateways]
    assert [(each.epoch, each.restarts) for each in states] == [(before.epoch + 1, before.restarts + 1)] * 2
    assert states[0].pid == states[1].pid != before.pid
