"""Tensor parallelism over two processes: answers equal those of one, KV is shared, and lost ranks are restarted."""

import asyncio
import os
import signal
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from cache_tiers.config import TierConfig
from engine.api.errors import EngineError
from engine.api.generate_request import GenerateRequest
from engine.api.outputs import RequestOutput
from engine.api.sampling_params import Pooling, SamplingParams
from engine.config import CacheConfig, EngineConfig, ModelConfig
from engine.executor import multiproc, rank_processes, step_timing
from engine.executor.multiproc import MultiprocExecutor
from engine.llm import LLM
from engine.loop.async_llm import AsyncLLMEngine
from engine.process.restart_budget import RestartBudget
from engine.wiring.build import build_engine
from models.interface.dense_context import DenseContext
from models.registry import load_model
from tests.integration.engine.fleet.answers import answers_of
from tests.integration.engine_rig import BLOCK, MIB, answer
from tests.integration.forked_engines import forked_engines
from tests.integration.real_server import serving
from tests.leaks import assert_no_leaks
from tests.redis_server import RedisServer
from tests.sizes import MANY_PROCESSES
from tests.tiny_models import make_tiny_model
from tests.waiting import until

pytestmark = pytest.mark.usefixtures("patient_loads")

PROMPTS = [[5 + (number * 7 + at * (number + 3)) % 200 for at in range(3 * BLOCK + 20)] for number in range(3)]
ANSWER = 24


@pytest.fixture(scope="module", autouse=True)
def _forked() -> Iterator[None]:
    with forked_engines():
        yield


@pytest.fixture(scope="module")
def config(tmp_path_factory: pytest.TempPathFactory) -> EngineConfig:
    """Engine configuration of one process. The model has a bias after an all-reduce, which is easily added twice."""
    folder = tmp_path_factory.mktemp("tensor-parallel")
    model = make_tiny_model(folder / "model", architecture="PanguEmbeddedForCausalLM", bias=True, seed=3)
    tiers = TierConfig(64 * MIB, f"unix://{folder / 'test.sock'}", 64 * MIB, folder)
    return EngineConfig(
        model=ModelConfig(path=model, name="tiny", dtype="float32"),
        cache=CacheConfig(tiers=tiers, secret=b"a secret of the tests", kv_memory=24 * 64 * 1024),
    )


@pytest.fixture(scope="module")
def redis(config: EngineConfig) -> Iterator[RedisServer]:
    assert config.cache.tiers is not None
    server = RedisServer(config.cache.tiers.state_dir)
    yield server
    server.kill()


@pytest.fixture(scope="module")
def alone(config: EngineConfig, redis: RedisServer) -> list[tuple[int, ...]]:
    """Answers of one process, which leaves its blocks in Redis."""
    with LLM(config) as llm:
        return [answer(llm, prompt, ANSWER).token_ids for prompt in PROMPTS]


@pytest.fixture(scope="module")
def pair(config: EngineConfig) -> EngineConfig:
    return config.with_fields(tensor_parallel_size=2)


@pytest.fixture(scope="module")
def llm(pair: EngineConfig, alone: list[tuple[int, ...]]) -> Iterator[LLM]:
    with LLM(pair) as llm:
        yield llm


def test_two_ranks_answer_as_one_without_sharing_its_blocks(llm: LLM, alone: list[tuple[int, ...]]) -> None:
    together = [answer(llm, prompt, ANSWER) for prompt in PROMPTS]
    assert [completion.token_ids for completion in together] == alone
    assert [completion.usage.kv.computed for completion in together] == [len(prompt) for prompt in PROMPTS]


def test_several_answers_share_their_prompt_on_every_rank(llm: LLM) -> None:
    params = SamplingParams(seed=2, max_tokens=8, ignore_eos=True)
    prompt = [token + 1 for token in PROMPTS[0]]
    first = llm.engine.add_request(GenerateRequest(prompt_token_ids=prompt, params=params))
    order = [first.request_id, *(llm.engine.add_fork(first.request_id, choice).request_id for choice in (1, 2))]
    told: dict[str, tuple[int, ...]] = dict.fromkeys(order, ())
    while llm.engine.has_unfinished_requests():
        for output in llm.engine.step():
            told[output.request_id] += output.token_ids
    alone = [llm.generate([prompt], replace(params, choice=choice))[0].outputs[0] for choice in range(3)]
    assert list(told.values()) == [completion.token_ids for completion in alone]


@pytest.mark.parametrize("pooling", ["mean", "last"])
def test_two_ranks_embed_as_the_whole_model(llm: LLM, config: EngineConfig, pooling: Pooling) -> None:
    request = GenerateRequest(prompt_token_ids=PROMPTS[1], params=SamplingParams(temperature=0.0, pooling=pooling))
    llm.engine.add_request(request)
    [last] = [output for _ in iter(llm.engine.has_unfinished_requests, False) for output in llm.engine.step()]
    model = load_model(config.model.path, torch.float32, torch.device("cpu"))
    ids = torch.tensor(PROMPTS[1])
    with torch.inference_mode():
        hidden = model.forward(ids, torch.arange(len(ids)), DenseContext(model.attention))
    expected = hidden.mean(dim=0) if pooling == "mean" else hidden[-1]
    assert last.embedding is not None
    found = torch.frombuffer(bytearray(last.embedding), dtype=torch.float32)
    torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-5)


def test_every_rank_restores_its_part_from_cpu_memory(llm: LLM, alone: list[tuple[int, ...]]) -> None:
    llm.engine.core.scheduler.blocks.pool.forget_free()
    again = answer(llm, PROMPTS[0], ANSWER)
    assert (again.usage.kv.reused["cpu"], again.usage.kv.computed) == (len(PROMPTS[0]) - 1, 1)
    assert again.token_ids == alone[0]


@pytest.mark.parametrize(
    ("rank", "kill", "loss"),
    [
        (1, signal.SIGKILL, "the process of rank 1 of 2 (pid {}) was killed by signal 9"),
        pytest.param(
            0, signal.SIGKILL, "the process of rank 0 of 2 (pid {}) was killed by signal 9", marks=MANY_PROCESSES
        ),
        pytest.param(1, signal.SIGSTOP, "rank 1 (pid {}) of 2 did not answer a step within", marks=MANY_PROCESSES),
    ],
)
def test_lost_rank_is_restarted_and_answers_are_the_same(
    llm: LLM,
    alone: list[tuple[int, ...]],
    monkeypatch: pytest.MonkeyPatch,
    rank: int,
    kill: signal.Signals,
    loss: str,
) -> None:
    executor = llm.engine.core.executor
    assert isinstance(executor, MultiprocExecutor)
    monkeypatch.setattr(executor, "_restarts", RestartBudget((0.0, 0.0, 0.0), seconds=600.0))
    params = SamplingParams(temperature=0.0, max_tokens=ANSWER, ignore_eos=True)
    told: dict[str, tuple[int, ...]] = {}
    for prompt in PROMPTS:
        told[llm.engine.add_request(GenerateRequest(prompt_token_ids=prompt, params=params)).request_id] = ()
    news: list[RequestOutput] = []
    # The limit is short for the lost ranks alone: the first step of new ones may take long on a busy machine.
    with monkeypatch.context() as patch:
        patch.setattr(step_timing, "LEAST_SECONDS", 3.0)
        while len(news) < 6:
            news += llm.engine.step()
        killed = executor.pids[rank]
        os.kill(killed, kill)
        while killed in executor.pids:
            news += llm.engine.step()
    while llm.engine.has_unfinished_requests():
        news += llm.engine.step()
    for output in news:
        told[output.request_id] += output.token_ids
    assert list(told.values()) == alone
    assert killed not in executor.pids
    # If rank 1 stops between two steps, rank 0 waits for it in the next one. The message then begins with rank 0.
    assert loss.format(killed) in executor.state.last_loss
    assert (executor.state.state, executor.state.pids) == ("ok", executor.pids)
    while not llm.engine.core.is_quiet:
        llm.engine.step()
    assert_no_leaks(llm.engine)


def test_ranks_that_hang_at_the_start_are_named_in_the_error(
    pair: EngineConfig, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rank_processes, "CALL_SECONDS", 0.0)
    late = r"rank 0 \(pid \d+\) and rank 1 \(pid \d+\) of 2 did not start within 0 s"
    with pytest.raises(EngineError, match=late):
        LLM(pair.with_fields(tiers=None))


@MANY_PROCESSES
async def test_health_reports_why_repeated_rank_deaths_end_the_engine(
    pair: EngineConfig, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(multiproc, "BACKOFF_SECONDS", ())
    async with serving(pair.with_fields(tiers=None), tmp_path) as (http, engine):
        workers = (await (await http.get("/health")).json())["workers"]
        assert [(rank["rank"], rank["state"]) for rank in workers["ranks"]] == [(0, "ok"), (1, "ok")]
        [asked] = await engine.generate(
            GenerateRequest(prompt_token_ids=PROMPTS[0], params=SamplingParams(max_tokens=500, ignore_eos=True))
        )
        async with asked as stream:
            await anext(stream)
            os.kill(workers["ranks"][1]["pid"], signal.SIGKILL)
            *_, last = [output async for output in stream]
        assert last.finish_reason == "abort"
        assert "the workers were lost 1 times" in engine.why_gave_up
        health = await (await http.get("/ready")).json()
        assert health["status"] == "failed"
        assert f"the process of rank 1 of 2 (pid {workers['ranks'][1]['pid']}) was killed" in health["reason"]
        assert health["workers"]["ranks"] == [{"rank": rank, "pid": None, "state": "failed"} for rank in range(2)]


def pid_of_rank(engine: AsyncLLMEngine, rank: int) -> int | None:
    workers = engine.stats().workers
    assert workers is not None
    return workers.pids[rank]


@MANY_PROCESSES
async def test_rank_that_dies_at_rest_is_restarted_before_a_request(
    pair: EngineConfig, alone: list[tuple[int, ...]]
) -> None:
    engine = await asyncio.to_thread(build_engine, pair.with_fields(tiers=None), lambda _: None)
    await engine.start()
    params = SamplingParams(temperature=0.0, max_tokens=ANSWER, ignore_eos=True)
    before = await answers_of(engine, PROMPTS[0], params)
    killed = pid_of_rank(engine, 1)
    assert killed is not None
    os.kill(killed, signal.SIGKILL)
    await asyncio.to_thread(until, lambda: pid_of_rank(engine, 1) not in (None, killed), timeout=60)
    after = await answers_of(engine, PROMPTS[0], params)
    assert [each.token_ids for each in (*before, *after)] == [alone[0], alone[0]]
    await engine.stop(0.0)


@MANY_PROCESSES
def test_every_rank_restores_its_part_from_redis_after_restart(
    llm: LLM, pair: EngineConfig, alone: list[tuple[int, ...]]
) -> None:
    assert llm.tiers.store is not None
    assert answer(llm, PROMPTS[1], ANSWER).token_ids == alone[1]
    assert llm.tiers.store.flush(10.0)
    with LLM(pair) as other:
        again = answer(other, PROMPTS[1], ANSWER)
    assert again.usage.kv.reused["redis"] == 3 * BLOCK
    assert again.token_ids == alone[1]
