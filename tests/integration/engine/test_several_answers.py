"""Several answers to one prompt on real workers: identical to separate requests, with one copy of the prompt's KV."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

import pytest

from engine.api.generate_request import GenerateRequest
from engine.api.outputs import RequestOutput, joined
from engine.api.sampling_params import SamplingParams
from engine.config import CacheConfig, DeviceConfig, EngineConfig, ModelConfig
from engine.llm import LLM
from tests.conftest import default_cache_dir
from tests.leaks import assert_no_leaks
from tests.tiny_models import make_tiny_model

BLOCK = 64
DRAWN = SamplingParams(seed=11, max_tokens=30, ignore_eos=True)


@pytest.fixture(
    scope="module",
    params=[("bfloat16", True), ("bfloat16", False), ("float32", True)],
    ids=["native", "native, no prefix cache", "torch"],
)
def llm(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[LLM]:
    dtype, prefix_cache = request.param
    config = EngineConfig(
        model=ModelConfig(
            path=make_tiny_model(tmp_path_factory.mktemp("answers") / "model", hidden=128, heads=2, kv_heads=1),
            name="tiny",
            dtype=dtype,
        ),
        cache=CacheConfig(
            tiers=None,
            secret=b"a secret of the tests",
            kv_memory=16 * 2 * 2 * 64 * 64 * (2 if dtype == "bfloat16" else 4),
            prefix_cache=prefix_cache,
        ),
        device=DeviceConfig(cache_dir=default_cache_dir()),
    )
    with LLM(config) as made:
        yield made


def prompt_of(length: int) -> list[int]:
    return [5 + (length * 31 + at * 7) % 200 for at in range(length)]


def answers(
    llm: LLM, prompt: Sequence[int], params: SamplingParams, count: int, watch: Callable[[], None] = lambda: None
) -> list[RequestOutput]:
    """Generate `count` answers to one prompt and return them whole. watch: called after each step."""
    order = [llm.engine.add_request(GenerateRequest(prompt_token_ids=prompt, params=params)).request_id]
    order += [llm.engine.add_fork(order[0], choice).request_id for choice in range(1, count)]
    told: dict[str, list[RequestOutput]] = {request_id: [] for request_id in order}
    while llm.engine.has_unfinished_requests():
        for output in llm.engine.step():
            told[output.request_id].append(output)
        watch()
    assert_no_leaks(llm.engine)
    assert llm.engine.stats().blocks.used == 0
    return [joined(told[request_id]) for request_id in order]


@pytest.mark.parametrize("length", [40, 2 * BLOCK, 2 * BLOCK + 1, 150])
def test_each_answer_equals_a_lone_request_with_its_choice(llm: LLM, length: int) -> None:
    prompt = prompt_of(length)
    together = answers(llm, prompt, DRAWN, 4)
    assert len({answer.token_ids for answer in together}) == 4
    for choice, answer in enumerate(together):
        [alone] = answers(llm, prompt, replace(DRAWN, choice=choice), 1)
        assert answer.token_ids == alone.token_ids


def test_answers_share_the_blocks_of_their_prompt(llm: LLM) -> None:
    used: list[int] = []
    together = answers(llm, prompt_of(151), DRAWN, 5, lambda: used.append(llm.engine.stats().blocks.used))
    # Two full blocks are shared. Each answer has a third one that begins with the rest of the prompt.
    assert max(used) == 2 + 5
    assert [answer.usage.kv.computed for answer in together if answer.usage is not None] == [151, 1, 1, 1, 1]


def test_answers_share_the_logprobs_of_their_prompt(llm: LLM) -> None:
    params = replace(DRAWN, logprobs=1, prompt_logprobs=1, max_tokens=3)
    first, second = answers(llm, prompt_of(150), params, 2)
    assert len(first.prompt_logprobs) == 149
    assert first.prompt_logprobs == second.prompt_logprobs
    assert second.usage is not None
    assert second.usage.kv.computed == 1


def test_greedy_answers_are_identical(llm: LLM) -> None:
    params = SamplingParams(temperature=0.0, max_tokens=20, ignore_eos=True)
    assert len({answer.token_ids for answer in answers(llm, prompt_of(100), params, 3)}) == 1
