"""Answers whose replica dies or freezes: another replica continues them with the same tokens."""

import os
import signal

import pytest

from engine.api.errors import ConflictError, NotFoundError
from engine.api.sampling_params import Pooling, SamplingParams
from engine.fleet.placement.local import LocalReplica
from engine.fleet.remote_engine import RemoteEngine
from engine.loop.async_llm import AsyncLLMEngine
from tests.integration.engine.fleet.answers import (
    KINDS,
    answers_alone,
    answers_of,
    answers_through,
    begun_of_all_kinds,
    prompt_of,
    signalled,
    told,
    until_states,
)
from tests.sizes import MANY_PROCESSES

pytestmark = [pytest.mark.asyncio(loop_scope="package")]


@pytest.mark.parametrize(
    "number",
    [pytest.param(signal.SIGKILL, id="killed"), pytest.param(signal.SIGSTOP, id="frozen", marks=MANY_PROCESSES)],
)
async def test_answers_continue_on_another_replica(
    fleet: RemoteEngine, alone: AsyncLLMEngine, number: signal.Signals
) -> None:
    salt = 10 * number
    got, hit = await answers_through(fleet, signalled(number), salt)
    for kind, here, expected in zip(KINDS, got, await answers_alone(alone, salt), strict=True):
        assert here == expected, kind
    # The next epoch takes the place of the process, which is gone even if it was frozen.
    after = await until_states(fleet, "ok", "ok")
    [new] = [each for each in after if each.index == hit.index]
    assert new.epoch == max(each.epoch for each in after)
    assert new.restarts == hit.restarts + 1
    assert new.last_loss
    with pytest.raises(ProcessLookupError):
        os.kill(hit.pid or 0, 0)
    assert sum(each.answers for each in after) == 0


@MANY_PROCESSES
async def test_replica_that_wakes_up_after_its_loss_changes_nothing(
    fleet: RemoteEngine, alone: AsyncLLMEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    before, woken = await until_states(fleet, "ok", "ok"), list[int]()

    def wake(self: LocalReplica) -> None:
        """Let the frozen process continue at the moment of its loss, instead of killing it."""
        woken.append(self.pid)
        os.kill(self.pid, signal.SIGCONT)

    with monkeypatch.context() as patch:
        patch.setattr(LocalReplica, "kill", wake)
        got, hit = await answers_through(fleet, signalled(signal.SIGSTOP), 700)
    assert woken == [hit.pid]
    assert got == await answers_alone(alone, 700)
    # The process ends by itself, since its gateway is gone, and the other replica is not disturbed.
    after = await until_states(fleet, "ok", "ok")
    for state, former in zip(after, before, strict=True):
        assert state.restarts - former.restarts == (state.index == hit.index)


@pytest.mark.parametrize("pooling", ["mean", "last"])
async def test_embedding_of_a_replica_has_the_bits_of_one_engine(
    fleet: RemoteEngine, alone: AsyncLLMEngine, pooling: Pooling
) -> None:
    await until_states(fleet, "ok", "ok")
    params = SamplingParams(temperature=0.0, pooling=pooling)
    [here], [expected] = [await answers_of(each, prompt_of(150, 77), params) for each in (fleet, alone)]
    assert here.embedding is not None
    assert (here.embedding, here.finish_reason) == (expected.embedding, "stop")


async def test_first_output_has_the_cached_count_of_the_usage(fleet: RemoteEngine, alone: AsyncLLMEngine) -> None:
    await until_states(fleet, "ok", "ok")
    params = SamplingParams(temperature=0.0, max_tokens=3, ignore_eos=True)
    for engine in (fleet, alone):
        made = [(await answers_of(engine, prompt_of(300, 78), params))[0] for _ in range(2)]
        assert [each.cached for each in made] == [each.usage.kv.cached if each.usage else None for each in made]
        assert made[1].cached


@MANY_PROCESSES
async def test_drained_replica_restarts_without_a_trace(fleet: RemoteEngine, alone: AsyncLLMEngine) -> None:
    await until_states(fleet, "ok", "ok")
    begun = await begun_of_all_kinds(fleet, 500)
    busy = max(fleet.stats().replicas, key=lambda each: each.answers)
    fleet.drain_replica(busy.index)
    with pytest.raises(ConflictError):
        fleet.drain_replica(busy.index)
    with pytest.raises(ConflictError):
        fleet.drain_replica(1 - busy.index)
    got = [[told(await reader.whole()) for reader in readers] for readers in begun]
    assert got == await answers_alone(alone, 500)
    after = await until_states(fleet, "ok", "ok")
    assert after[busy.index].epoch == max(each.epoch for each in after)
    # A drain is no loss, and does not count towards the restarts that are left.
    assert after[busy.index].last_loss == busy.last_loss
    with pytest.raises(NotFoundError):
        fleet.drain_replica(2)
