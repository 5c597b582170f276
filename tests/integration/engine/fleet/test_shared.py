"""Two gateways that share one replica: their streams are apart, and both follow when the replica is replaced."""

import asyncio
import os
import signal
import threading
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from engine.config import EngineConfig
from engine.fleet.build import build_shared_fleet
from engine.fleet.placement.shared_place import PublishedReplica, SharedPlace
from engine.fleet.placement.shared_placement import SharedPlacement
from engine.fleet.placement.shared_starter import LocalStarter
from engine.fleet.remote_engine import RemoteEngine
from engine.loop.async_llm import AsyncLLMEngine
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

pytestmark = [pytest.mark.asyncio(loop_scope="package"), MANY_PROCESSES]


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
    await until_ended(place.process.pid)


async def until_ended(pid: int) -> None:
    """Wait for the end of a replica, which is a child of this process, once no gateway waits for it."""
    async with asyncio.timeout(20):
        while not has_ended(pid):  # noqa: ASYNC110
            await asyncio.sleep(0.01)


def has_ended(pid: int) -> bool:
    return os.waitpid(pid, os.WNOHANG)[0] != 0


async def begun(engine: RemoteEngine, kind: str, salt: int) -> list[Reading]:
    params, count = KINDS[kind]
    readers = await reading(engine, prompt_of(150, salt), params, count)
    for reader in readers:
        await reader.begun.wait()
    return readers


async def check_undisturbed(alone: AsyncLLMEngine, kinds: list[tuple[str, int]], readers: list[list[Reading]]) -> None:
    """Read the answers of each kind and salt to their ends. Assert that `alone` gives the same."""
    for (kind, salt), here in zip(kinds, readers, strict=True):
        params, count = KINDS[kind]
        got = [told(await reader.whole()) for reader in here]
        assert got == [told(each) for each in await answers_of(alone, prompt_of(150, salt), params, count)], kind


async def test_each_gateway_gets_its_own_streams(
    gateways: list[RemoteEngine], alone: AsyncLLMEngine, shelf: Shelf
) -> None:
    first, second = gateways
    kinds = [("several", 900), ("seeded", 901)]
    readers = [await begun(each, *kind) for each, kind in zip(gateways, kinds, strict=True)]
    # A gateway that goes without a word takes only its own streams along, and then connects again to the same process.
    [link] = second._keeper.ready
    link.connection.abort()
    await check_undisturbed(alone, kinds, readers)
    states = [(await until_states(each, "ok"))[0] for each in gateways]
    assert [(each.epoch, each.restarts) for each in states] == [(1, 0), (1, 0)]
    assert states[0].pid == states[1].pid
    assert shelf.last_epoch == 1
    # The thread that waited for the death of the process has ended with its connection.
    name = f"life-{states[0].pid}"
    async with asyncio.timeout(20):
        while sum(each.name == name for each in threading.enumerate()) != len(gateways):  # noqa: ASYNC110
            await asyncio.sleep(0.01)
    # The counts of the process are not counted again because its connection broke.
    async with asyncio.timeout(20):
        while first.stats().tokens.generated != second.stats().tokens.generated:  # noqa: ASYNC110
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


@pytest.mark.parametrize("moment", ["lost", "replaced"])
async def test_frozen_replica_that_wakes_up_changes_no_answer(
    gateways: list[RemoteEngine], alone: AsyncLLMEngine, moment: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Wake a frozen replica once both gateways have lost it, or instead of killing it for the next epoch."""
    [before] = await until_states(gateways[0], "ok")
    woken = list[int]()

    async def wake(_: LocalStarter, place: SharedPlace) -> None:
        woken.append(place.process.pid)
        os.kill(place.process.pid, signal.SIGCONT)

    monkeypatch.setattr(LocalStarter, "end", wake)
    kinds = [("several", 920), ("seeded", 921)]
    readers = [await begun(each, *kind) for each, kind in zip(gateways, kinds, strict=True)]
    frozen = before.pid or 0
    os.kill(frozen, signal.SIGSTOP)
    for each in gateways:
        await until_states(each, "starting")
    if moment == "lost":
        os.kill(frozen, signal.SIGCONT)
    await check_undisturbed(alone, kinds, readers)
    states = [(await until_states(each, "ok"))[0] for each in gateways]
    num_replaced = int(moment == "replaced")
    gained = [(each.epoch - before.epoch, each.restarts - before.restarts) for each in states]
    assert gained == [(num_replaced, num_replaced)] * 2
    assert states[0].pid == states[1].pid
    assert (states[0].pid == frozen) == (moment == "lost")
    assert woken == [frozen] * num_replaced
    if woken:
        # The former epoch still runs. Only its end by itself, after a minute, is not waited for.
        assert not has_ended(frozen)
        os.kill(frozen, signal.SIGKILL)
        await until_ended(frozen)


async def test_replaced_replica_is_left_although_it_still_serves(
    gateways: list[RemoteEngine], alone: AsyncLLMEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Let the keeper alone miss a replica, which it cannot end, as if the network between them were cut."""
    keeper, other = gateways
    [before] = await until_states(keeper, "ok")
    is_reachable = SharedPlacement._is_reachable

    async def cut(placement: SharedPlacement, published: PublishedReplica) -> bool:
        is_cut = placement is keeper._keeper._placement and published.epoch == before.epoch
        return not is_cut and await is_reachable(placement, published)

    async def leave(_: LocalStarter, place: SharedPlace) -> None:
        assert place.process.pid == before.pid

    monkeypatch.setattr(SharedPlacement, "_is_reachable", cut)
    monkeypatch.setattr(LocalStarter, "end", leave)
    kinds = [("several", 930), ("seeded", 931)]
    readers = [await begun(each, *kind) for each, kind in zip(gateways, kinds, strict=True)]
    keeper._keeper.ready[0].connection.abort()
    async with asyncio.timeout(60):
        while other.stats().replicas[0].epoch == before.epoch:  # noqa: ASYNC110
            await asyncio.sleep(0.01)
    await check_undisturbed(alone, kinds, readers)
    states = [(await until_states(each, "ok"))[0] for each in gateways]
    assert [(each.epoch, each.restarts) for each in states] == [(before.epoch + 1, before.restarts + 1)] * 2
    assert states[0].pid == states[1].pid != before.pid
    assert before.pid is not None
    assert not has_ended(before.pid)
    os.kill(before.pid, signal.SIGKILL)
    await until_ended(before.pid)
