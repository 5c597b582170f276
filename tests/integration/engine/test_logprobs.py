"""Logprobs of answers and prompts, on the native step and on torch."""

import math
from collections.abc import AsyncIterator, Sequence
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from transformers import AutoModelForCausalLM

from engine.api.generate_request import GenerateRequest
from engine.api.outputs import TokenLogprobs
from engine.api.sampling_params import SamplingParams
from engine.config import CacheConfig, DeviceConfig, EngineConfig, ModelConfig
from engine.loop.async_llm import AsyncLLMEngine
from engine.wiring.build import build_engine
from tests.conftest import default_cache_dir
from tests.tiny_models import make_tiny_model

PROMPT = [5 + at * 7 % 200 for at in range(150)]
DRAWN = SamplingParams(seed=3, max_tokens=20, ignore_eos=True, logprobs=3)


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_tiny_model(tmp_path_factory.mktemp("tiny") / "model", hidden=128, heads=2, kv_heads=1)


@pytest.fixture(params=["bfloat16", "float32"])
async def engine(request: pytest.FixtureRequest, model: Path) -> AsyncIterator[AsyncLLMEngine]:
    """Engine on the native step (bfloat16) and on torch (float32)."""
    config = EngineConfig(
        model=ModelConfig(path=model, name="tiny", dtype=request.param),
        cache=CacheConfig(tiers=None, secret=b"a secret of the tests", kv_memory=8 << 20),
        device=DeviceConfig(cache_dir=default_cache_dir()),
    )
    engine = build_engine(config, lambda _: None)
    await engine.start()
    yield engine
    await engine.stop(0.0)


async def logprobs_of(
    engine: AsyncLLMEngine, prompt: Sequence[int], params: SamplingParams
) -> tuple[list[int], list[TokenLogprobs], list[TokenLogprobs]]:
    """Generate an answer, and return its tokens, its logprobs and the logprobs of the prompt."""
    [asked] = await engine.generate(GenerateRequest(prompt_token_ids=prompt, params=params))
    async with asked as stream:
        outputs = [output async for output in stream]
    return (
        [token for output in outputs for token in output.token_ids],
        [each for output in outputs for each in output.logprobs],
        [each for output in outputs for each in output.prompt_logprobs],
    )


async def test_answer_has_the_same_logprobs_as_part_of_a_prompt(engine: AsyncLLMEngine) -> None:
    tokens, answer, nothing = await logprobs_of(engine, PROMPT, replace(DRAWN, frequency_penalty=1.0, top_k=40))
    assert nothing == []
    assert [each.token_id for each in answer] == tokens
    _, _, prompt = await logprobs_of(engine, [*PROMPT, *tokens], replace(DRAWN, prompt_logprobs=3, max_tokens=1))
    assert [each.token_id for each in prompt] == [*PROMPT[1:], *tokens]
    for again, before in zip(prompt[-len(tokens) :], answer, strict=True):
        assert again.logprob == pytest.approx(before.logprob, abs=1e-4)
        assert [token for token, _ in again.top] == [token for token, _ in before.top]


async def test_logprobs_match_transformers(engine: AsyncLLMEngine, model: Path) -> None:
    reference = AutoModelForCausalLM.from_pretrained(model, dtype=torch.float32)
    with torch.inference_mode():
        logits = reference(torch.tensor([PROMPT])).logits[0]
    expected = torch.log_softmax(logits, dim=-1)
    _, answer, prompt = await logprobs_of(
        engine, PROMPT, replace(DRAWN, temperature=0.0, prompt_logprobs=0, max_tokens=1)
    )
    close = 1e-3 if engine.config.model.dtype == "float32" else 0.03
    for row, each in enumerate(prompt):
        assert each.logprob == pytest.approx(float(expected[row, each.token_id]), abs=close)
        assert each.top == ()
    [first] = answer
    assert first.top[0] == (first.token_id, first.logprob)
    assert [logprob for _, logprob in first.top] == pytest.approx(expected[-1].topk(3).values.tolist(), abs=close)
    assert sum(math.exp(logprob) for _, logprob in first.top) <= 1


async def test_request_for_prompt_logprobs_shares_no_blocks(engine: AsyncLLMEngine) -> None:
    """Compute the whole prompt, since tokens restored from a block would have no logprobs."""
    asked = replace(DRAWN, prompt_logprobs=1, max_tokens=2)
    assert len((await logprobs_of(engine, PROMPT, asked))[2]) == len(PROMPT) - 1
    [drawn] = await engine.generate(GenerateRequest(prompt_token_ids=PROMPT, params=DRAWN))
    async with drawn as stream:
        last = [output async for output in stream][-1]
    assert last.usage is not None
    assert last.usage.kv.cached == 0
    assert len((await logprobs_of(engine, PROMPT, asked))[2]) == len(PROMPT) - 1
