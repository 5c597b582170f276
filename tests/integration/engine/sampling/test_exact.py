"""Sampling with any settings: equal tokens alone, in a preempted batch, and resumed at any token."""

import asyncio
import itertools
from collections.abc import AsyncIterator, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from engine.api.generate_request import GenerateRequest
from engine.api.request_stream import RequestStream
from engine.api.sampling_params import SamplingParams
from engine.config import CacheConfig, DeviceConfig, EngineConfig, ModelConfig, SpeculationConfig
from engine.loop.async_llm import AsyncLLMEngine
from engine.wiring.build import build_engine
from tests.conftest import default_cache_dir
from tests.leaks import assert_no_leaks
from tests.tiny_models import make_tiny_model

BLOCKS, BLOCK_NBYTES = 9, 2 * 2 * 64 * 64 * 2
TOKENS = 60
SETTINGS = {
    "greedy": SamplingParams(temperature=0.0),
    "drawn": SamplingParams(),
    "another choice": SamplingParams(choice=1),
    "penalties": SamplingParams(temperature=0.0, repetition_penalty=1.3, frequency_penalty=0.4, presence_penalty=0.2),
    "penalties, drawn": SamplingParams(repetition_penalty=1.3, frequency_penalty=0.4, top_p=0.9, min_p=0.01),
    "biases": SamplingParams(logit_bias=((70, 3.0), (80, 3.5), (90, -100.0)), top_k=20),
    "allowed": SamplingParams(allowed_token_ids=tuple(range(60, 100)), bad_words=("a", "xy", "z ")),
    "least length": SamplingParams(min_tokens=40, stop_token_ids=tuple(range(50, 90))),
}


@pytest.fixture
async def engine(tmp_path: Path) -> AsyncIterator[AsyncLLMEngine]:
    model = make_tiny_model(tmp_path / "model", hidden=128, heads=2, kv_heads=1)
    config = EngineConfig(
        model=ModelConfig(path=model, name="tiny"),
        cache=CacheConfig(
            tiers=None, secret=b"a secret of the tests", kv_memory=BLOCKS * BLOCK_NBYTES, prefix_cache=False
        ),
        device=DeviceConfig(cache_dir=default_cache_dir()),
        # With drafts, the choice of the preempted request would depend on step times.
        speculation=SpeculationConfig(prompt_lookup=False),
    )
    engine = build_engine(config, lambda _: None)
    await engine.start()
    yield engine
    await engine.stop(0.0)


def asked(number: int, params: SamplingParams) -> tuple[list[int], SamplingParams]:
    prompt = [5 + (number * 31 + at * 7) % 200 for at in range(40)]
    return prompt, replace(params, seed=100 + number % 3, max_tokens=TOKENS, ignore_eos=True)


async def tokens_of(
    engine: AsyncLLMEngine, number: int, params: SamplingParams, produced: Sequence[int] = ()
) -> list[int]:
    prompt, seeded = asked(number, params)
    [asked_again] = await engine.generate(GenerateRequest(prompt_token_ids=prompt, params=seeded, produced=produced))
    async with asked_again as stream:
        return [*produced, *[token for output in [each async for each in stream] for token in output.token_ids]]


async def answers_of(engine: AsyncLLMEngine, number: int, params: SamplingParams, count: int) -> list[list[int]]:
    """Generate `count` answers to one prompt."""
    prompt, seeded = asked(number, params)
    streams = await engine.generate(GenerateRequest(prompt_token_ids=prompt, params=seeded, num_answers=count))

    async def tokens(stream: RequestStream) -> list[int]:
        return [token async for output in stream for token in output.token_ids]

    return await asyncio.gather(*map(tokens, streams))


def pairs(token_ids: Sequence[int], engine: AsyncLLMEngine) -> set[str]:
    """Collect the pairs of adjacent characters."""
    text = b"".join(map(engine.tokenizer.token_bytes, token_ids)).decode()
    return {first + second for first, second in itertools.pairwise(text)}


async def test_tokens_are_the_same_alone_and_in_a_preempted_batch(engine: AsyncLLMEngine) -> None:
    alone = [await tokens_of(engine, number, params) for number, params in enumerate(SETTINGS.values())]
    assert engine.stats().requests.preemptions == 0
    crowd = [tokens_of(engine, number, params) for number, params in enumerate(SETTINGS.values())]
    assert await asyncio.gather(*crowd) == alone
    assert engine.stats().requests.preemptions > 0
    assert_no_leaks(engine._engine)


async def test_several_answers_are_the_same_in_a_preempted_batch(
    engine: AsyncLLMEngine,
) -> None:
    names = ("drawn", "penalties, drawn", "biases")
    alone = [
        [await tokens_of(engine, number, replace(SETTINGS[name], choice=choice)) for choice in range(3)]
        for number, name in enumerate(names)
    ]
    assert all(len(set(map(tuple, answers))) == 3 for answers in alone)
    assert engine.stats().requests.preemptions == 0
    crowd = [answers_of(engine, number, SETTINGS[name], 3) for number, name in enumerate(names)]
    assert await asyncio.gather(*crowd) == alone
    assert engine.stats().requests.preemptions > 0
    assert_no_leaks(engine._engine)


@pytest.mark.parametrize("name", ["penalties", "penalties, drawn", "allowed", "another choice"])
async def test_answer_resumed_at_any_token_is_the_same(engine: AsyncLLMEngine, name: str) -> None:
    whole = await tokens_of(engine, 3, SETTINGS[name])
    for count in (1, 20, len(whole) - 1):
        assert await tokens_of(engine, 3, SETTINGS[name], whole[:count]) == whole


async def test_settings_have_their_documented_effect(engine: AsyncLLMEngine) -> None:
    greedy = await tokens_of(engine, 1, SETTINGS["greedy"])
    varied = await tokens_of(engine, 1, replace(SETTINGS["greedy"], frequency_penalty=2.0))
    assert len(set(varied)) > len(set(greedy))
    drawn, other = await tokens_of(engine, 1, SETTINGS["drawn"]), await tokens_of(engine, 1, SETTINGS["another choice"])
    assert drawn != other
    letters = SamplingParams(allowed_token_ids=tuple(engine.tokenizer.encode("abc", special=False)))
    assert {"ab", "ca"} <= pairs(await tokens_of(engine, 1, letters), engine)
    barred = await tokens_of(engine, 1, replace(letters, bad_words=("ab", "ca", "d")))
    assert {"ac", "bc"} <= pairs(barred, engine) <= {"aa", "ac", "ba", "bb", "bc", "cb", "cc"}
    least = await tokens_of(engine, 1, SETTINGS["least length"])
    assert not set(least[:40]) & set(range(50, 90))
    assert len(least) < TOKENS
