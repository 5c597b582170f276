"""Budgets of reasoning on a real engine: equal tokens up to the budget, whatever steps run ahead of it."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from engine.api.sampling_params import SamplingParams
from engine.api.structured_output import StructuredOutput
from engine.llm import LLM
from engine.wiring import build
from tests.integration.engine.grammar.marked_rig import ANSWER, COUNT, PROMPTS, THINK, ask, config_of, marked_model
from tests.integration.engine.speculation.test_speculation import Remembered, make_drafts_free

OPENED = [[*prompt, THINK] for prompt in PROMPTS]
NO_MARKS = ((THINK, -100.0), (ANSWER, -100.0))
PLAIN = SamplingParams(seed=11, min_tokens=COUNT, logit_bias=NO_MARKS)
WAYS = {
    "greedy": replace(PLAIN, temperature=0.0),
    "drawn": PLAIN,
    "penalties": replace(PLAIN, repetition_penalty=1.2),
}


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return marked_model(tmp_path_factory.mktemp("models") / "thinker")


def budgeted(params: SamplingParams, budget: int) -> SamplingParams:
    return replace(params, thinking_token_budget=budget, reasoning_budget_message="!")


def test_tokens_up_to_the_budget_are_those_without_one(model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with LLM(config_of(model)) as llm:
        bang = llm.tokenizer.encode("!", special=False)
        free = ask(llm, OPENED, list(WAYS.values()))
        plain = []
        for budget in (0, 17):
            ended = ask(llm, OPENED, [budgeted(params, budget) for params in WAYS.values()])
            for ids, without in zip(ended, free, strict=True):
                at = ids.index(ANSWER) - 1
                # A character that is incomplete at the budget takes at most three tokens more.
                assert budget <= at <= budget + 3
                assert ids[:at] == without[:at]
                assert ids[at] == bang[0]
                assert len(ids) == COUNT
            plain += ended
    monkeypatch.setattr(build, "PromptLookup", lambda: Remembered([[*p, *t] for p in OPENED for t in (*plain, *free)]))
    make_drafts_free(monkeypatch)
    with LLM(config_of(model, prompt_lookup=True, blocks=8)) as llm:
        drafted = []
        for budget in (0, 17):
            drafted += ask(llm, OPENED, [budgeted(params, budget) for params in WAYS.values()])
        assert drafted == plain
        assert llm.engine.stats().tokens.accepted.total() > 0
        assert llm.engine.stats().requests.preemptions > 0


def test_answer_resumed_at_any_token_is_the_same(model: Path) -> None:
    params = budgeted(WAYS["drawn"], 9)
    with LLM(config_of(model)) as llm:
        [whole] = ask(llm, OPENED[:1], [params])
        for count in range(1, 16, 2):
            assert ask(llm, OPENED[:1], [params], whole[:count]) == [whole]


def test_form_begins_after_thoughts_that_a_budget_ended(model: Path) -> None:
    form = StructuredOutput("json", json.dumps({"type": "object", "properties": {}, "additionalProperties": False}))
    params = SamplingParams(temperature=0.0, thinking_token_budget=7, form=form)
    with LLM(config_of(model)) as llm:
        for prompt in OPENED:
            done = llm.generate([prompt], params)[0].outputs[0]
            assert (done.text, done.finish_reason) == ("{}", "stop")
            assert 7 <= done.usage.reasoning_tokens <= 11
