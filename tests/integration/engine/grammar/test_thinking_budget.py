"""Budgets of reasoning on a real engine: equal tokens up to the budget, whatever steps run ahead of it."""

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from tokenizers import AddedToken

from engine import build
from engine.config import EngineConfig
from engine.generate_request import GenerateRequest
from engine.llm import LLM
from engine.request import Request
from engine.sampling_params import SamplingParams
from engine.structured_output import StructuredOutput
from tests.conftest import default_cache_dir
from tests.integration.engine.speculation.test_speculation import Remembered, make_drafts_free
from tests.tiny_models import make_tiny_model
from tests.tiny_tokenizer import BYTE_VOCAB, byte_tokenizer

THINK, ANSWER = BYTE_VOCAB, BYTE_VOCAB + 1
COUNT = 60
PROMPTS = [[*(5 + (number * 31 + at * 7) % 200 for at in range(30 + 40 * number)), THINK] for number in range(3)]
WAYS = {
    "greedy": SamplingParams(temperature=0.0, min_tokens=COUNT),
    "drawn": SamplingParams(seed=11, min_tokens=COUNT),
    "penalties": SamplingParams(seed=15, repetition_penalty=1.2, min_tokens=COUNT),
    "log probabilities": SamplingParams(seed=16, logprobs=1, min_tokens=COUNT),
}


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = make_tiny_model(tmp_path_factory.mktemp("models") / "thinker", vocab=BYTE_VOCAB + 2, seed=3)
    library = byte_tokenizer()
    library.add_tokens([AddedToken(mark, special=True, normalized=False) for mark in ("<think>", "</think>")])
    library.save(str(path / "tokenizer.json"))
    return path


def config_of(model: Path, *, speculation: bool = False, blocks: int = 60) -> EngineConfig:
    block_nbytes = 2 * 2 * 2 * 16 * 64 * 4
    return EngineConfig(
        model,
        "tiny",
        None,
        b"secret",
        dtype="float32",
        cpu_kernels="torch",
        kv_memory=blocks * block_nbytes,
        prefix_cache=False,
        cache_dir=default_cache_dir(),
        speculation=speculation,
        max_num_batched_tokens=96,
    )


def asked(llm: LLM, params: Sequence[SamplingParams], produced: Sequence[int] = ()) -> list[Request]:
    """Return requests of each prompt with all `params`, computed together with steps that run ahead."""
    requests = [
        llm.engine.add_request(GenerateRequest(prompt, replace(each, max_tokens=COUNT), produced=produced))
        for prompt in PROMPTS
        for each in params
    ]
    step = None
    while step is not None or llm.engine.has_unfinished_requests():
        step = step or llm.engine.core.begin_step()
        if step is not None:
            following = None if step.output.is_awaited else llm.engine.core.begin_step()
            llm.engine.finish_step(step)
            step = following
    return requests


def budgeted(params: SamplingParams, budget: int) -> SamplingParams:
    return replace(params, thinking_token_budget=budget, reasoning_budget_message="!")


def test_tokens_up_to_the_budget_are_those_without_one(model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with LLM(config_of(model)) as llm:
        bang = llm.tokenizer.encode("!", special=False)
        free = [request.output_token_ids for request in asked(llm, list(WAYS.values()))]
        plain = []
        for budget in (0, 1, 17):
            ended = asked(llm, [budgeted(params, budget) for params in WAYS.values()])
            for request, without in zip(ended, free, strict=True):
                assert THINK not in without[:20]
                assert ANSWER not in without[:20]
                at = request.output_token_ids.index(ANSWER) - 1
                # A character that is incomplete at the budget takes at most three tokens more.
                assert budget <= at <= budget + 3
                assert request.output_token_ids[:at] == without[:at]
                assert request.output_token_ids[at] == bang[0]
                assert len(request.output_token_ids) == COUNT
            plain += [request.output_token_ids for request in ended]
        llm.engine.check()
    monkeypatch.setattr(build, "PromptLookup", lambda: Remembered([[*p, *t] for p in PROMPTS for t in (*plain, *free)]))
    make_drafts_free(monkeypatch)
    with LLM(config_of(model, speculation=True, blocks=14)) as llm:
        drafted = []
        for budget in (0, 1, 17):
            requests = asked(llm, [budgeted(params, budget) for params in WAYS.values()])
            drafted += [request.output_token_ids for request in requests]
        assert drafted == plain
        assert llm.engine.stats().accepted_tokens > 0
        assert llm.engine.stats().preemptions > 0


def test_answer_resumed_at_any_token_is_the_same(model: Path) -> None:
    params = budgeted(WAYS["drawn"], 9)
    with LLM(config_of(model)) as llm:
        whole = asked(llm, [params])[0].output_token_ids
        for count in range(1, 20):
            assert asked(llm, [params], whole[:count])[0].output_token_ids == whole


def test_form_begins_after_thoughts_that_a_budget_ended(model: Path) -> None:
    form = StructuredOutput("json", json.dumps({"type": "object", "properties": {}, "additionalProperties": False}))
    params = SamplingParams(temperature=0.0, thinking_token_budget=7, form=form)
    with LLM(config_of(model)) as llm:
        for prompt in PROMPTS:
            done = llm.generate([prompt], params)[0].outputs[0]
            assert (done.text, done.finish_reason) == ("{}", "stop")
            assert 7 <= done.usage.reasoning_tokens <= 11
