"""Calls in free answers of a real engine: whole ones, and equal tokens whatever steps and drafts ran ahead of them."""

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from app.prompts.tool_offer import ToolOffer
from engine.api.sampling_params import SamplingParams
from engine.llm import LLM
from engine.wiring import build
from models.chat.format import ChatFormat
from models.chat.tool_format import ToolFormat
from models.tokenizers.tokenizer import Tokenizer
from tests.integration.engine.grammar.marked_rig import CALL, END, PROMPTS, ask, config_of, marked_model
from tests.integration.engine.speculation.test_speculation import Remembered, make_drafts_free

TOOLS: list[dict[str, Any]] = [
    {
        "name": "look",
        "parameters": {"type": "object", "properties": {"on": {"type": "boolean"}}, "required": ["on"]},
        "strict": True,
    },
    {"name": "now"},
]
TOOLS[0]["parameters"]["additionalProperties"] = False
WAYS = {
    "greedy": SamplingParams(temperature=0.0),
    "drawn": SamplingParams(seed=11),
    "penalties": SamplingParams(seed=15, repetition_penalty=1.2),
    "log probabilities": SamplingParams(seed=16, logprobs=1),
}
RARE = ((CALL, 5.0),)
"""Bias with which an answer has a call now and then."""


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return marked_model(tmp_path_factory.mktemp("models") / "caller")


@pytest.fixture(scope="module")
def how(model: Path) -> ToolFormat:
    return ChatFormat.load(model, Tokenizer.load(model)).tools


@pytest.fixture(scope="module")
def plain(model: Path) -> Iterator[LLM]:
    with LLM(config_of(model)) as llm:
        yield llm


def offered(how: ToolFormat, ways: dict[str, SamplingParams], **more: Any) -> list[SamplingParams]:
    return [ToolOffer(functions=TOOLS).applied(replace(each, **more), how) for each in ways.values()]


def test_answers_without_calls_are_those_without_the_mask(plain: LLM, how: ToolFormat) -> None:
    free = ask(plain, PROMPTS, [replace(each, logit_bias=((CALL, -100.0),)) for each in WAYS.values()])
    assert ask(plain, PROMPTS, offered(how, WAYS, logit_bias=((CALL, -100.0),))) == free


def test_every_call_is_whole_and_followed_by_free_text(plain: LLM, how: ToolFormat) -> None:
    answers = ask(plain, PROMPTS, offered(how, WAYS, logit_bias=RARE))
    whole = 0
    for ids in answers:
        for call in plain.tokenizer.describe(ids).split("<tool_call>")[1:]:
            if "</tool_call>" in call:
                said = json.loads(call.partition("</tool_call>")[0])
                assert (said["name"], set(said["arguments"])) in (("look", {"on"}), ("now", set()))
                whole += 1
    assert whole > 3
    assert any(ids[ids.index(END) + 1 :] for ids in answers if END in ids)


def test_tokens_do_not_depend_on_drafts_and_preemptions(
    plain: LLM, how: ToolFormat, model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ways = offered(how, WAYS, logit_bias=RARE)
    expected = ask(plain, PROMPTS, ways)
    texts = [[*prompt, *ids] for prompt in PROMPTS for ids in expected]
    monkeypatch.setattr(build, "PromptLookup", lambda: Remembered(texts))
    make_drafts_free(monkeypatch)
    with LLM(config_of(model, prompt_lookup=True, blocks=8)) as llm:
        assert ask(llm, PROMPTS, ways) == expected
        assert llm.engine.stats().tokens.accepted.total() > 0
        assert llm.engine.stats().requests.preemptions > 0


def test_answer_resumed_at_any_token_is_the_same(plain: LLM, how: ToolFormat) -> None:
    [params] = offered(how, {"drawn": WAYS["drawn"]}, logit_bias=RARE)
    [whole] = ask(plain, PROMPTS[:1], [params])
    assert END in whole
    for count in range(1, len(whole), 7):
        assert ask(plain, PROMPTS[:1], [params], whole[:count]) == [whole]
