"""Sampling parameters stored with an answer, so that another process can resume it."""

import json
from dataclasses import fields

import pytest

from app.domain.sampling_json import RESOLVED, params_from_json, params_to_json
from engine.api.sampling_params import SamplingParams
from engine.api.structured_output import StructuredOutput

EVERYTHING = SamplingParams(
    temperature=0.5,
    top_p=0.9,
    top_k=7,
    min_p=0.1,
    repetition_penalty=1.1,
    presence_penalty=0.2,
    frequency_penalty=-0.3,
    logit_bias=((5, 1.5), (6, -100.0)),
    allowed_token_ids=(1, 2, 3),
    bad_words=("a b", "c"),
    seed=3,
    choice=2,
    stop=("x",),
    stop_token_ids=(9,),
    include_stop_str_in_output=True,
    max_tokens=5,
    min_tokens=1,
    ignore_eos=True,
    thinking_token_budget=100,
    reasoning_budget_message="Enough.",
    skip_special_tokens=False,
    is_read_for_calls=True,
    form=StructuredOutput("json", "{}"),
    call_form=StructuredOutput("calls", "start: "),
    call_openings=("<tool_call>",),
    logprobs=2,
    prompt_logprobs=1,
    pooling="mean",
)


@pytest.mark.parametrize("params", [EVERYTHING, SamplingParams()])
def test_sampling_params_round_trip(params: SamplingParams) -> None:
    assert params_from_json(json.loads(json.dumps(params_to_json(params)))) == params


def test_every_stored_parameter_is_in_the_round_trip() -> None:
    default = SamplingParams()
    same = {
        each.name for each in fields(SamplingParams) if getattr(EVERYTHING, each.name) == getattr(default, each.name)
    }
    assert same == RESOLVED


def test_params_stored_by_other_version_are_read() -> None:
    stored = {"temperature": 0.5, "stop": ["x"], "thinking": "slow"}
    assert params_from_json(stored) == SamplingParams(temperature=0.5, stop=("x",))


def test_params_without_effect_are_omitted() -> None:
    shown = params_to_json(SamplingParams(seed=1, max_tokens=9, eos_token_ids=(2,)))
    assert shown == {
        "temperature": 1.0,
        "top_p": 1.0,
        "top_k": 0,
        "seed": 1,
        "stop": [],
        "max_tokens": 9,
        "min_tokens": 0,
        "ignore_eos": False,
    }
