"""Masks that wake within an answer on the NPU backend: calls and budgets of thoughts, with steps that run ahead."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from app.prompts.tool_offer import ToolOffer
from engine.api.sampling_params import SamplingParams
from engine.llm import LLM
from models.chat.format import ChatFormat
from models.tokenizers.tokenizer import Tokenizer
from tests.contract.npu_rig import npu_config, prompt
from tests.fake_npu.device import FakeNpu
from tests.integration.engine.grammar.marked_rig import ANSWER, CALL, THINK, ask, marked_model

PROMPTS = [[*prompt(salt, length), THINK] for salt, length in enumerate((20,))]
FREE = SamplingParams(seed=3, logit_bias=((THINK, -100.0), (ANSWER, -100.0), (CALL, -100.0)), min_tokens=14)


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return marked_model(
        tmp_path_factory.mktemp("contract") / "marked",
        architecture="PanguEmbeddedForCausalLM",
        hidden=96,
        head_dim=128,
        heads=6,
        kv_heads=2,
        bias=True,
        max_positions=1024,
    )


def test_thoughts_end_and_calls_are_whole_on_the_npu(npu: FakeNpu, model: Path) -> None:
    how = ChatFormat.load(model, Tokenizer.load(model)).tools
    nothing = {"type": "object", "properties": {}, "additionalProperties": False}
    offer = ToolOffer(functions=[{"name": "look", "parameters": nothing, "strict": True}])
    ending = replace(FREE, thinking_token_budget=9)
    calling = offer.applied(replace(ending, logit_bias=((THINK, -100.0), (CALL, 100.0)), min_tokens=0), how)
    with LLM(npu_config(model)) as llm:
        free = ask(llm, PROMPTS, [FREE], count=14)
        ended = ask(llm, PROMPTS, [ending], count=14)
        called = ask(llm, PROMPTS, [calling])
        for ids, without in zip(ended, free, strict=True):
            at = ids.index(ANSWER)
            assert 9 <= at <= 12
            assert ids[:at] == without[:at]
        texts = [llm.tokenizer.describe(ids[ids.index(ANSWER) + 1 :]) for ids in called]
    calls = [
        each.partition("</tool_call>")[0]
        for text in texts
        for each in text.split("<tool_call>")[1:]
        if "</tool_call>" in each
    ]
    assert calls
    assert {json.loads(call)["name"] for call in calls} == {"look"}
    assert sum(graph.replays for graph in npu.graphs) > 0
