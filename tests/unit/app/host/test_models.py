"""The table of models: which ones are in memory, which one leaves, and what a request for another one gets."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest

from app.host import models as models_module
from app.host.idle import is_busy
from app.host.model_room import NoRoomError
from engine.api.errors import EbbError, EngineError, NotReadyError, OverloadedError, TimeoutPassedError
from engine.api.generate_request import GenerateRequest
from engine.api.outputs import RequestOutput
from engine.api.sampling_params import SamplingParams
from engine.api.urgency import Urgency
from tests.unit.app.host.model_table import GIB, LoadedModel, Models

Make = Callable[..., Models]


@pytest.fixture
async def make() -> AsyncIterator[Make]:
    """Return a maker of tables, whose engines are stopped after the test."""
    made: list[Models] = []

    def make_models(*names: str, **plan: Any) -> Models:
        made.append(Models(names, **plan))
        return made[-1]

    yield make_models
    for each in made:
        await each.table.stop(0.0)


def request(max_tokens: int = 3, timeout: float | None = None, tenant: str = "local") -> GenerateRequest:
    params = SamplingParams(max_tokens=max_tokens, ignore_eos=True)
    return GenerateRequest(prompt_token_ids=[1, 2, 3], params=params, urgency=Urgency(timeout=timeout), tenant=tenant)


async def answer(models: Models, name: str, **wanted: Any) -> list[RequestOutput]:
    [stream] = await models[name].backend.generate(request(**wanted))
    return [output async for output in stream]


async def begun(models: Models, name: str, tenant: str = "local") -> "tuple[Any, LoadedModel]":
    """Begin an answer that does not end by itself, and return its stream with the engine."""
    await models.table.ready(models[name])
    engine = models[name].engine
    assert isinstance(engine, LoadedModel)
    engine.hold()
    [stream] = await models[name].backend.generate(request(tenant=tenant))
    return stream, engine


async def test_request_loads_its_model_and_oldest_one_leaves(make: Make) -> None:
    models = make("ant", "bee", "cat")
    for name in ("ant", "bee", "ant"):
        assert (await answer(models, name))[-1].finish_reason == "length"
    assert models.loaded == {"ant", "bee"}
    assert (await answer(models, "cat"))[-1].finish_reason == "length"
    assert models.loaded == {"ant", "cat"}
    assert [each.model_name for each in models.loads] == ["ant", "bee", "cat"]
    assert models.loads[1].is_stopped


async def test_idle_model_leaves_before_one_that_answers(make: Make) -> None:
    models = make("ant", "bee", "cat")
    _, ant = await begun(models, "ant")
    await answer(models, "bee")
    await answer(models, "cat")
    assert models.loaded == {"ant", "cat"}
    ant.allow(None)


async def test_drained_model_ends_its_answers_and_new_ones_wait(make: Make) -> None:
    models = make("ant", "bee", most=1)
    stream, ant = await begun(models, "ant")
    other = asyncio.create_task(answer(models, "bee"))
    await models.until("ant", "draining")
    later = asyncio.create_task(answer(models, "ant"))
    ant.allow(None)
    assert [output async for output in stream][-1].finish_reason == "length"
    assert (await other)[-1].finish_reason == "length"
    assert (await later)[-1].finish_reason == "length"
    assert [each.model_name for each in models.loads] == ["ant", "bee", "ant"]


async def test_pinned_model_stays_and_refusal_names_it(make: Make) -> None:
    models = make("ant", "bee", most=1, pinned=["ant"])
    await models.table.start(lambda _: None)
    with pytest.raises(NoRoomError, match=r"all places .*--models-max 1.*; ant stay in memory"):
        await answer(models, "bee")
    assert models.loaded == {"ant"}
    assert (await answer(models, "ant"))[-1].finish_reason == "length"


async def test_model_that_cannot_fit_is_refused_with_the_numbers(make: Make) -> None:
    models = make("ant", "bee", needs=2 * GIB)
    models.free = 3 * GIB
    await answer(models, "ant")
    models.needs = 4 * GIB
    with pytest.raises(NoRoomError, match=r"needs 4\.4 GiB \(weights 4 GiB, .*\), and 640 MiB are available"):
        await answer(models, "bee")
    assert models.loaded == {"ant"}


async def test_model_leaves_for_memory_although_there_is_a_place(make: Make) -> None:
    models = make("ant", "bee", needs=2 * GIB)
    models.free = 3 * GIB
    await answer(models, "ant")
    await answer(models, "bee")
    assert models.loaded == {"bee"}


async def test_accelerator_has_one_model_and_the_cpu_another(make: Make) -> None:
    models = make("ant", "bee", "cat", most=3, places={"cuda": 1})
    models["ant"].kind = models["bee"].kind = "cuda"
    for name in ("ant", "cat", "bee"):
        await answer(models, name)
    assert models.loaded == {"bee", "cat"}


async def test_model_stays_for_its_least_time(make: Make) -> None:
    models = make("ant", "bee", most=1, least_seconds=0.3)
    await answer(models, "ant")
    loaded_at = models["ant"].loaded_at
    await answer(models, "bee")
    assert time.monotonic() - loaded_at >= 0.3


async def test_failed_load_has_its_reason_and_is_tried_again_later(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    models = make("ant", "bee")
    models.failing["bee"] = EngineError("the weights are damaged")
    waiting = [asyncio.create_task(answer(models, "bee")) for _ in range(2)]
    for each in waiting:
        with pytest.raises(NotReadyError, match="'bee' could not be loaded: the weights are damaged"):
            await each
    # Without another attempt, which would succeed.
    with pytest.raises(NotReadyError, match="the weights are damaged"):
        await answer(models, "bee")
    monkeypatch.setattr(models_module, "AGAIN_SECONDS", 0.0)
    assert (await answer(models, "bee"))[-1].finish_reason == "length"


@pytest.mark.parametrize(
    ("own", "queue_timeout", "error"),
    [(None, 0.05, OverloadedError), (0.05, 0.0, TimeoutPassedError), (0.05, 5.0, TimeoutPassedError)],
)
async def test_wait_for_a_model_ends_at_the_limits(
    make: Make, own: float | None, queue_timeout: float, error: type[EbbError]
) -> None:
    models = make("ant", "bee", most=1, queue_timeout=queue_timeout)
    _, ant = await begun(models, "ant")
    with pytest.raises(error, match="'bee' was not in memory in time: waiting until ant is unloaded"):
        await answer(models, "bee", timeout=own)
    ant.allow(None)


async def test_model_that_fails_for_good_is_marked_and_others_answer(make: Make) -> None:
    models = make("ant", "bee")
    stream, ant = await begun(models, "ant")
    await answer(models, "bee")
    ant.give_up("its process was killed")
    await models.until("ant", "failed")
    assert [output async for output in stream][-1].finish_reason == "abort"
    with pytest.raises(NotReadyError, match="its process was killed"):
        await answer(models, "ant")
    assert (await answer(models, "bee"))[-1].finish_reason == "length"
    assert not models["ant"].backend.is_broken


async def test_model_leaves_after_its_time_but_not_during_an_answer(make: Make) -> None:
    models = make("ant", "bee")
    stream, ant = await begun(models, "ant")
    models.table.set_keep_alive(models["ant"], 0.0)
    ant.allow(2)
    await ant.until_produced(stream, 2)
    assert models["ant"].state == "loaded"
    ant.allow(None)
    await models.until("ant", "unloaded")
    # The next load has the usual time again, which is endless.
    await answer(models, "ant")
    assert models["ant"].expires_in == float("inf")


async def test_work_of_idle_time_does_not_load_a_model(make: Make) -> None:
    models = make("ant", "bee", most=1)
    await answer(models, "ant")
    await answer(models, "bee")
    assert is_busy(models["ant"].backend)
    assert not is_busy(models["bee"].backend)
    assert not await models["ant"].backend.prefixes.warm("chat", [1, 2], tenant="local")
    assert len(models.loads) == 2


async def test_prompts_can_be_made_of_an_unloaded_model(make: Make) -> None:
    models = make("ant", "bee", most=1)
    with pytest.raises(NotReadyError, match="has not been loaded yet"):
        _ = models["ant"].backend.tokenizer
    await answer(models, "ant")
    await answer(models, "bee")
    assert models["ant"].state == "unloaded"
    assert models["ant"].backend.tokenizer.encode("a", special=False)
    assert (models["ant"].backend.kv_fingerprint, models["bee"].backend.kv_fingerprint) == ("kv-ant", "kv-bee")


async def test_limits_and_deletions_of_a_tenant_cover_all_models(make: Make) -> None:
    models = make("ant", "bee")
    streams, engines = zip(*[await begun(models, name, tenant="ann") for name in ("ant", "bee")], strict=True)
    ids = {each.request_id for each in streams}
    assert set(models["bee"].backend.requests_of("ann")) == ids
    before = models["ant"].backend.tenant_salt("ann")
    await models["ant"].backend.delete_tenant("ann")
    assert models["bee"].backend.tenant_salt("ann") == models["ant"].backend.tenant_salt("ann") != before
    for stream, engine in zip(streams, engines, strict=True):
        engine.allow(None)
        assert [output async for output in stream][-1].finish_reason == "abort"


async def test_erasure_reaches_all_models_and_is_repeated_without_any(make: Make) -> None:
    models = make("ant", "bee")
    backend = models["ant"].backend
    assert not await backend.erase([])
    await answer(models, "ant")
    await answer(models, "bee")
    assert await backend.erase([])
    models.loads[1].num_unerased = 1
    assert not await backend.erase([])


async def test_statistics_keep_the_counts_of_models_that_left(make: Make) -> None:
    models = make("ant", "bee", most=1)
    await answer(models, "ant")
    await answer(models, "bee")
    assert models.table.stats().tokens.generated == 6
