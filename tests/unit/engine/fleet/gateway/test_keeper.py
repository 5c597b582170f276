"""Restarts of lost replicas: their timing, their budget, and the release of the former epoch."""

import asyncio
import gc
import weakref
from collections.abc import Callable, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from engine.api.errors import EngineError
from engine.config import CacheConfig, EngineConfig, ModelConfig
from engine.executor.core_shares import CoreShare
from engine.fleet.gateway import keeper as keeper_module
from engine.fleet.gateway.answer import RemoteAnswer
from engine.fleet.gateway.keeper import DIED, ReplicaKeeper
from engine.fleet.gateway.link import CLOSED, Link
from engine.fleet.placement.interface import MachinePart
from engine.fleet.placement.order import ReplicaOrder
from engine.fleet.wire.messages import ReplicaFacts
from engine.testing.replay_engine import ReplayEngine
from models.adapters.adapter import Adapter
from tests.unit.engine.fleet.gateway.test_answer import STOP, accepted, output
from tests.unit.engine.fleet.memory_fleet import SilentReplica

CONFIG = EngineConfig(
    model=ModelConfig(path=Path("model"), name="fake"),
    cache=CacheConfig(tiers=None, secret=b"a secret of the tests"),
)


class FakePlacement:
    """Replicas on one core, or on a core each. failures: raised by the next starts."""

    is_shared = False

    def __init__(self, sharers: int) -> None:
        self.sharers = sharers
        self.started: asyncio.Queue[int] = asyncio.Queue()
        self.failures: list[Exception] = []

    def shares(self, count: int, accelerators: Sequence[str]) -> list[MachinePart]:
        return [MachinePart(CoreShare((0,), self.sharers))] * count

    async def start(self, order: ReplicaOrder) -> SilentReplica:
        assert order.config.parallel.cpu_sharers == self.sharers
        if self.failures:
            raise self.failures.pop()
        self.started.put_nowait(order.index)
        return SilentReplica(order.epoch, order.token)


@pytest.fixture
def links(monkeypatch: pytest.MonkeyPatch) -> list[Link]:
    """Return the links that the keeper makes."""
    made: list[Link] = []

    def make(*arguments: Any) -> Link:
        made.append(Link(*arguments))
        return made[-1]

    monkeypatch.setattr(keeper_module, "Link", make)
    # A replica that computes nothing leaves nothing to flush.
    monkeypatch.setattr(keeper_module, "FLUSH_SECONDS", 0.0)
    return made


async def started(
    placement: FakePlacement, links: Sequence[Link], on_give_up: Callable[[str], None] = lambda _: None
) -> ReplicaKeeper:
    """Start two replicas, and have both serve."""
    keeper, starting = await connected(placement, links, on_give_up)
    for link in links:
        link.facts = facts_with()
        keeper.on_ready(link)
    await starting
    return keeper


def facts_with(*adapters: Adapter) -> ReplicaFacts:
    return cast(
        "ReplicaFacts",
        SimpleNamespace(
            namespace=SimpleNamespace(model_fingerprint=""),
            kv_fingerprint="same",
            model_window=64,
            max_model_len=64,
            adapters=adapters,
        ),
    )


async def connected(
    placement: FakePlacement, links: Sequence[Link], on_give_up: Callable[[str], None] = lambda _: None
) -> tuple[ReplicaKeeper, asyncio.Task[None]]:
    """Start two replicas that do not serve yet."""
    keeper = ReplicaKeeper(
        [CONFIG] * 2,
        placement,
        lambda _: None,
        "",
        on_link=lambda _: None,
        on_gone=lambda _: None,
        on_drained=lambda _: None,
        on_report=lambda *_: None,
        on_answers=lambda *_: None,
        on_give_up=on_give_up,
    )
    starting = asyncio.create_task(keeper.start())
    for _ in range(2):
        await placement.started.get()
    return keeper, starting


def lose(keeper: ReplicaKeeper, link: Link, answer: RemoteAnswer) -> None:
    """Lose a replica that had one answer."""
    answer.lose_replica(link.epoch)
    link.is_lost = True
    keeper.on_lost(link, DIED, [answer])


async def pass_turns() -> None:
    """Give the other tasks a hundred turns of the event loop."""
    for _ in range(100):
        await asyncio.sleep(0)


async def test_replica_with_other_adapters_is_refused(links: list[Link]) -> None:
    """Replicas continue each other's answers, so each name must have one content."""
    keeper, starting = await connected(FakePlacement(sharers=1), links)
    for link, digest in zip(links, "ab", strict=True):
        link.facts = facts_with(Adapter("poet", digest, True))
        keeper.on_ready(link)
    with pytest.raises(EngineError, match="replica 1 has read other adapters than the first one"):
        await starting
    await keeper.stop(0.0)


async def test_window_is_that_of_the_replica_with_least_memory(links: list[Link]) -> None:
    placement = FakePlacement(sharers=1)
    keeper = await started(placement, links)
    assert keeper.max_model_len == 64
    links[1].facts = cast("ReplicaFacts", SimpleNamespace(max_model_len=48))
    assert keeper.max_model_len == 48
    lose(keeper, links[1], accepted())
    assert keeper.max_model_len == 64
    await keeper.stop(0.0)


@pytest.mark.parametrize("ends", ["with a token", "with an end", "with the other replica"])
async def test_next_epoch_waits_until_answers_continue(links: list[Link], ends: str) -> None:
    placement, answer = FakePlacement(sharers=2), accepted()
    keeper = await started(placement, links)
    lose(keeper, links[0], answer)
    await pass_turns()
    assert placement.started.empty()
    if ends == "with a token":
        answer.take(output(0, 7))
    elif ends == "with an end":
        answer.take(output(0, end=STOP))
    else:
        links[1].is_lost = True
    assert await placement.started.get() == 0
    await keeper.stop(0.0)


async def test_next_epoch_on_its_own_cores_starts_at_once(links: list[Link]) -> None:
    placement, answer = FakePlacement(sharers=1), accepted()
    keeper = await started(placement, links)
    lose(keeper, links[0], answer)
    assert await placement.started.get() == 0
    assert answer.is_paused
    await keeper.stop(0.0)


async def test_replicas_lost_at_once_all_restart(links: list[Link], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(keeper_module, "PAUSES", (0.0,))
    placement = FakePlacement(sharers=1)
    keeper = await started(placement, links)
    for link in list(links):
        lose(keeper, link, accepted())
    async with asyncio.timeout(20):
        assert {await placement.started.get() for _ in range(2)} == {0, 1}
    assert [each.state for each in keeper.states] == ["starting"] * 2
    await keeper.stop(0.0)


async def test_replica_that_keeps_dying_is_tried_again_later(
    links: list[Link], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(keeper_module, "PAUSES", (0.0,))
    monkeypatch.setattr(keeper_module, "BUDGET_SECONDS", 0.5)
    placement, sentences = FakePlacement(sharers=1), list[str]()
    keeper = await started(placement, links, sentences.append)
    lose(keeper, links[0], accepted())
    assert await placement.started.get() == 0
    await pass_turns()
    lose(keeper, links[2], accepted())
    await pass_turns()
    assert [each.state for each in keeper.states] == ["failed", "ok"]
    assert keeper.states[0].last_loss == "its process (pid 1 on here) ended"
    assert placement.started.empty()
    async with asyncio.timeout(20):
        assert await placement.started.get() == 0
    assert [each.state for each in keeper.states] == ["starting", "ok"]
    assert sentences == []
    await keeper.stop(0.0)


async def test_loss_of_all_beyond_their_restarts_is_the_end(links: list[Link], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(keeper_module, "PAUSES", ())
    placement, sentences = FakePlacement(sharers=1), list[str]()
    keeper = await started(placement, links, sentences.append)
    lose(keeper, links[0], accepted())
    await pass_turns()
    assert sentences == []
    lose(keeper, links[1], accepted())
    await pass_turns()
    assert sentences == ["all replicas were lost, the last one because its process (pid 1 on here) ended"]
    assert placement.started.empty()
    await keeper.stop(0.0)


async def test_any_error_of_a_start_is_followed_by_another(links: list[Link], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(keeper_module, "AGAIN_LATER_SECONDS", 0.0)
    placement = FakePlacement(sharers=1)
    keeper = await started(placement, links)
    placement.failures = [ValueError("the place cannot be read"), EngineError("there is no room")]
    lose(keeper, links[0], accepted())
    async with asyncio.timeout(20):
        assert await placement.started.get() == 0
    assert keeper.states[0].last_loss == "ValueError: the place cannot be read"
    await keeper.stop(0.0)


async def test_reason_of_a_failed_start_outlives_its_connection(links: list[Link]) -> None:
    placement = FakePlacement(sharers=1)
    keeper = await started(placement, links)
    keeper.on_failed(links[0], "replica 0: the model is damaged")
    links[0].mark_lost(CLOSED)
    await pass_turns()
    assert keeper.states[0].last_loss == "replica 0: the model is damaged"
    await keeper.stop(0.0)


async def test_counts_of_a_drained_replica_stay(links: list[Link]) -> None:
    keeper = await started(FakePlacement(sharers=1), links)
    for link in links:
        link.stats = ReplayEngine().stats()
    keeper.drain(0)
    assert len(keeper.stats) == 2
    links[0].mark_lost(CLOSED)
    assert len(keeper.stats) == 1
    await keeper.stop(0.0)


async def test_nothing_keeps_a_lost_link(links: list[Link]) -> None:
    placement = FakePlacement(sharers=1)
    keeper = await started(placement, links)
    lost = weakref.ref(links[0])
    lose(keeper, links.pop(0), accepted())
    assert await placement.started.get() == 0
    await pass_turns()
    gc.collect()
    assert lost() is None
    await keeper.stop(0.0)
