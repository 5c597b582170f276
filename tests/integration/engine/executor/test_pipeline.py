"""Pipelines over processes: answers equal those of one process bit for bit, and a lost stage costs time only."""

import json
import os
import signal
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from cache_tiers.config import TierConfig
from engine.api.errors import EngineError
from engine.api.generate_request import GenerateRequest
from engine.api.outputs import TokenLogprobs
from engine.api.sampling_params import SamplingParams
from engine.api.structured_output import StructuredOutput
from engine.config import CacheConfig, EngineConfig, ModelConfig, ParallelConfig, SpeculationConfig
from engine.executor.multiproc import MultiprocExecutor
from engine.llm import LLM
from engine.process.restart_budget import RestartBudget
from engine.request.request import Request
from engine.wiring import build
from tests.conftest import default_cache_dir
from tests.integration.engine.speculation.test_speculation import Remembered, make_drafts_free
from tests.integration.engine_rig import BLOCK, MIB, answer
from tests.leaks import assert_no_leaks
from tests.redis_server import RedisServer
from tests.sizes import MANY_PROCESSES
from tests.tiny_models import make_tiny_model

pytestmark = pytest.mark.usefixtures("patient_loads")

LAYERS = 5
BLOCK_NBYTES = LAYERS * 2 * 64 * BLOCK * 2
PROMPTS = [[5 + (number * 7 + at * (number + 3)) % 200 for at in range(3 * BLOCK + 50)] for number in range(3)]
ANSWER = 24
FORM = json.dumps({"type": "array", "items": {"type": "boolean"}, "minItems": 30})
WAYS = {
    "greedy": SamplingParams(temperature=0.0),
    "drawn": SamplingParams(seed=11),
    "filtered": SamplingParams(seed=12, temperature=0.7, top_k=20, top_p=0.9),
    "penalties": SamplingParams(seed=13, repetition_penalty=1.2, frequency_penalty=0.5),
    "bad words": SamplingParams(seed=14, bad_words=("ab", "xyz")),
    "logprobs": SamplingParams(seed=15, logprobs=3, prompt_logprobs=2),
    "form": SamplingParams(seed=16, form=StructuredOutput("json", FORM)),
}
Told = tuple[tuple[int, ...], Sequence[TokenLogprobs]]


def answers(llm: LLM, prompts: Sequence[Sequence[int]] = PROMPTS, ways: Sequence[str] = tuple(WAYS)) -> list[Told]:
    """Answer all prompts in all ways at once, and schedule each step before the oldest one in flight has ended."""
    core, asked = llm.engine.core, list[Request]()
    for prompt in prompts:
        for name in ways:
            params = replace(WAYS[name], max_tokens=ANSWER, ignore_eos=WAYS[name].form is None)
            asked.append(llm.engine.add_request(GenerateRequest(prompt_token_ids=list(prompt), params=params)))
    while llm.engine.has_unfinished_requests() or not core.is_quiet:
        core.fill()
        if not core.in_flight:
            llm.engine.step()
            continue
        oldest = core.in_flight[0]
        if not oldest.output.is_awaited:
            core.begin_step()
        llm.engine.finish_step(oldest)
    assert_no_leaks(llm.engine)
    return [(tuple(request.output_token_ids), request.prompt_logprobs) for request in asked]


def config_of(model: Path, folder: Path, *, blocks: int = 200) -> EngineConfig:
    tiers = TierConfig(64 * MIB, f"unix://{folder / 'test.sock'}", 64 * MIB, folder)
    config = EngineConfig(
        model=ModelConfig(path=model, name="tiny"),
        cache=CacheConfig(tiers=tiers, secret=b"a secret of the tests", kv_memory=blocks * BLOCK_NBYTES),
    )
    return config.with_fields(cache_dir=default_cache_dir(), prompt_lookup=False, max_num_batched_tokens=96)


@pytest.fixture(scope="module")
def config(tmp_path_factory: pytest.TempPathFactory) -> EngineConfig:
    """Engine configuration of one process, which computes with the native step."""
    folder = tmp_path_factory.mktemp("pipeline")
    model = make_tiny_model(folder / "model", layers=LAYERS, hidden=128, heads=2, kv_heads=1, seed=3)
    return config_of(model, folder)


@pytest.fixture(scope="module")
def redis(config: EngineConfig) -> Iterator[RedisServer]:
    assert config.cache.tiers is not None
    server = RedisServer(config.cache.tiers.state_dir)
    yield server
    server.kill()


@pytest.fixture(scope="module")
def alone(config: EngineConfig, redis: RedisServer) -> list[Told]:
    """Answers of one process, which leaves its blocks in Redis."""
    with LLM(config) as llm:
        return answers(llm)


@pytest.fixture(scope="module")
def pipeline(config: EngineConfig) -> EngineConfig:
    return config.with_fields(pipeline_parallel_size=2)


@pytest.fixture(scope="module")
def llm(pipeline: EngineConfig, alone: list[Told]) -> Iterator[LLM]:
    with LLM(pipeline) as llm:
        yield llm


def test_two_stages_answer_as_one_process_bit_for_bit(llm: LLM, alone: list[Told]) -> None:
    assert answers(llm) == alone
    executor = llm.engine.core.executor
    assert isinstance(executor, MultiprocExecutor)
    assert sum(executor.partition.layers) == LAYERS


def test_every_stage_restores_its_layers_from_cpu_memory(llm: LLM, alone: list[Told]) -> None:
    llm.engine.core.scheduler.blocks.pool.forget_free()
    again = answer(llm, PROMPTS[0], ANSWER)
    assert (again.usage.kv.reused["cpu"] > 2 * BLOCK, again.usage.kv.computed < BLOCK) == (True, True)
    assert again.token_ids == alone[0][0]


@MANY_PROCESSES
@pytest.mark.parametrize("stage", [0, 1])
def test_lost_stage_is_restarted_and_answers_are_the_same(
    llm: LLM, alone: list[Told], monkeypatch: pytest.MonkeyPatch, stage: int
) -> None:
    executor = llm.engine.core.executor
    assert isinstance(executor, MultiprocExecutor)
    monkeypatch.setattr(executor, "_restarts", RestartBudget((0.0, 0.0, 0.0), seconds=600.0))
    params = SamplingParams(temperature=0.0, max_tokens=ANSWER, ignore_eos=True)
    told: dict[str, tuple[int, ...]] = {}
    for prompt in PROMPTS:
        told[llm.engine.add_request(GenerateRequest(prompt_token_ids=prompt, params=params)).request_id] = ()
    killed = 0
    while llm.engine.has_unfinished_requests():
        for output in llm.engine.step():
            told[output.request_id] += output.token_ids
        if not killed and sum(map(len, told.values())) > 6:
            killed = executor.pids[stage]
            os.kill(killed, signal.SIGKILL)
    assert list(told.values()) == [alone[index * len(WAYS)][0] for index in range(len(PROMPTS))]
    assert f"the process of rank {stage} of 2 (pid {killed}) was killed by signal 9" in executor.state.last_loss
    while not llm.engine.core.is_quiet:
        llm.engine.step()
    assert_no_leaks(llm.engine)


@MANY_PROCESSES
def test_every_stage_restores_its_layers_from_redis(
    llm: LLM, pipeline: EngineConfig, alone: list[Told], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also let the pipeline verify right and wrong drafts, with few blocks."""
    assert llm.tiers.store is not None
    assert llm.tiers.store.flush(10.0)
    texts = [[*PROMPTS[index // len(WAYS)], *tokens] for index, (tokens, _) in enumerate(alone)]
    make_drafts_free(monkeypatch)
    monkeypatch.setattr(build, "PromptLookup", lambda: Remembered(texts))
    with LLM(pipeline.with_fields(prompt_lookup=True, kv_memory=14 * BLOCK_NBYTES)) as other:
        again = answer(other, PROMPTS[1], ANSWER)
        assert again.usage.kv.reused["redis"] == 3 * BLOCK
        assert again.token_ids == alone[len(WAYS)][0]
        assert answers(other) == alone
        stats = other.engine.stats()
    assert stats.requests.preemptions > 0
    assert 0 < stats.tokens.accepted.total() < stats.tokens.drafted.total()


@MANY_PROCESSES
def test_stages_of_ranks_answer_as_ranks(tmp_path: Path) -> None:
    model = make_tiny_model(tmp_path / "model", architecture="PanguEmbeddedForCausalLM", bias=True, layers=3, seed=3)
    ranks = EngineConfig(
        model=ModelConfig(path=model, name="tiny", dtype="float32"),
        cache=CacheConfig(tiers=None, secret=b"secret", kv_memory=8 * MIB),
        parallel=ParallelConfig(tensor_parallel_size=2),
        speculation=SpeculationConfig(prompt_lookup=False),
    )
    told = []
    for config in (ranks, ranks.with_fields(pipeline_parallel_size=2)):
        with LLM(config) as llm:
            told.append(answers(llm, ways=("greedy", "drawn", "logprobs")))
    assert [tokens for tokens, _ in told[0]] == [tokens for tokens, _ in told[1]]


def test_more_stages_than_layers_are_refused(tmp_path: Path) -> None:
    config = EngineConfig(
        model=ModelConfig(path=make_tiny_model(tmp_path), name="tiny"),
        cache=CacheConfig(tiers=None, secret=b"secret"),
        parallel=ParallelConfig(pipeline_parallel_size=3),
    )
    with pytest.raises(EngineError, match="--pipeline-parallel-size 3: 2 layers cannot be divided among 3 stages"):
        MultiprocExecutor(config, print)
