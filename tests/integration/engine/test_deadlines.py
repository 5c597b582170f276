"""Deadlines in the real engine, which end requests while the loop waits for the model and while the loop is idle."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from engine.api.errors import InvalidRequestError
from engine.api.generate_request import GenerateRequest
from engine.api.sampling_params import SamplingParams
from engine.api.urgency import Urgency
from engine.loop.async_llm import AsyncLLMEngine
from engine.wiring.build import build_engine
from tests.integration.engine_rig import engine_config
from tests.leaks import assert_no_leaks

LONG = SamplingParams(temperature=0.0, max_tokens=2000, ignore_eos=True)


@pytest.fixture
async def engine(shallow_model: Path, tmp_path: Path) -> AsyncIterator[AsyncLLMEngine]:
    config = engine_config(shallow_model, tmp_path / "state", blocks=40, prefix_cache=False)
    config = config.with_fields(max_num_seqs=1, queue_policy="fcfs", queue_timeout=0.3)
    engine = await asyncio.to_thread(build_engine, config, print)
    await engine.start()
    yield engine
    await engine.stop(0.0)
    assert_no_leaks(engine._engine)


async def test_each_request_ends_when_its_own_time_is_over(engine: AsyncLLMEngine) -> None:
    [running] = await engine.generate(
        GenerateRequest(prompt_token_ids=[5, 6, 7], params=LONG, urgency=Urgency(timeout=1.5))
    )
    first = await anext(running)
    assert first.token_ids
    [impatient] = await engine.generate(
        GenerateRequest(prompt_token_ids=[5, 6, 7], params=LONG, urgency=Urgency(timeout=0.1))
    )
    [patient] = await engine.generate(GenerateRequest(prompt_token_ids=[5, 6, 7], params=LONG))
    async with asyncio.timeout(20):
        last = [output async for output in impatient][-1]
        assert (last.finish_reason, last.token_ids) == ("timeout", ())
        last = [output async for output in patient][-1]
        assert last.finish_reason == "queue_timeout"
        assert last.error is not None
        assert last.retry_after is not None
        last = [output async for output in running][-1]
        assert last.finish_reason == "timeout"
    assert last.usage is not None
    assert 0 < last.usage.completion_tokens < 2000
    assert last.usage.total_ms >= 1500
    assert engine.stats().requests.finished == {"timeout": 2, "queue_timeout": 1}


async def test_a_priority_is_refused_where_it_would_mean_nothing(engine: AsyncLLMEngine) -> None:
    with pytest.raises(InvalidRequestError, match="order of arrival") as refused:
        await engine.generate(GenerateRequest(prompt_token_ids=[5], params=LONG, urgency=Urgency(priority=1)))
    assert refused.value.param == "priority"
    with pytest.raises(InvalidRequestError, match="above 0"):
        await engine.generate(GenerateRequest(prompt_token_ids=[5], params=LONG, urgency=Urgency(timeout=0.0)))
