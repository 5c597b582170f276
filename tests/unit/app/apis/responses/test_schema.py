import json
from typing import Any

import pytest

from app.apis.responses.schema import ResponseRequest
from app.schemas.parsing import parse_body
from engine.api.errors import InvalidRequestError


def parsed(**fields: Any) -> ResponseRequest:
    return parse_body(ResponseRequest, json.dumps({"model": "m", "input": "hi", **fields}).encode())


USER = {"role": "user", "content": "hi"}


@pytest.mark.parametrize(
    ("fields", "param"),
    [
        ({"input": ""}, "input"),
        ({"input": []}, "input"),
        ({"input": 5}, "input"),
        ({"input": ["hi"]}, "input[0]"),
        ({"input": [{"role": "tool", "content": "x"}]}, "input[0].role"),
        ({"input": [USER, {"role": "user", "content": 5}]}, "input[1].content"),
        ({"input": [USER, {"role": "user"}]}, "input[1].content"),
        ({"input": [{**USER, "colour": "red"}]}, "input[0].colour"),
        ({"input": [{"type": "item_reference"}]}, "input[0].id"),
        ({"input": [{"role": "user", "content": [{"type": "input_text"}]}]}, "input[0].content[0].text"),
        ({"model": ""}, "model"),
        ({"instructions": 5}, "instructions"),
        ({"conversation": {"name": "x"}}, "conversation.id"),
        ({"conversation": 5}, "conversation"),
        ({"max_output_tokens": 0}, "max_output_tokens"),
        ({"max_tokens": 5}, "max_tokens"),
        ({"temperature": 3}, "temperature"),
        ({"metadata": {"k": 5}}, "metadata.k"),
        ({"metadata": {"k" * 65: "v"}}, f"metadata.{'k' * 65}"),
        ({"text": {"format": {"type": "json_schema", "name": "x"}}}, "text.format.schema"),
        ({"reasoning": {"depth": 3}}, "reasoning.depth"),
        ({"truncation": "first"}, "truncation"),
        ({"include": ["message.output_text.logprobs", "usage"]}, "include[1]"),
        ({"top_logprobs": 21}, "top_logprobs"),
        ({"tools": [{"type": "web_search", "name": "f"}]}, "tools[0].type"),
        ({"tool_choice": "any"}, "tool_choice"),
        ({"prompt": {"id": "x"}}, "prompt"),
        ({"stream": "yes"}, "stream"),
        ({"priority": 1.5}, "priority"),
        ({"stop": ["x"]}, "stop"),
    ],
)
def test_invalid_field_is_rejected_by_name(fields: dict[str, Any], param: str) -> None:
    with pytest.raises(InvalidRequestError) as caught:
        parsed(**fields)
    assert caught.value.param == param


def test_neutral_field_values_are_accepted() -> None:
    parsed(
        tools=[],
        tool_choice="auto",
        parallel_tool_calls=True,
        include=[],
        truncation="disabled",
        text={"format": {"type": "text"}, "verbosity": "low"},
        reasoning={"effort": "low", "summary": "auto"},
        user="me",
        service_tier="auto",
        prompt_cache_key="k",
        safety_identifier="s",
        stream_options={"include_obfuscation": False},
        top_logprobs=0,
        metadata=None,
        conversation=None,
        store=None,
    )


def test_limit_and_sampling_fields_reach_the_engine() -> None:
    request = parsed(max_output_tokens=5, temperature=0.5, top_p=0.9, top_k=-1, seed=-1, ignore_eos=True, min_tokens=2)
    params = request.sampling_params()
    assert (params.max_tokens, params.temperature, params.top_p, params.top_k) == (5, 0.5, 0.9, 0)
    assert (params.seed, params.ignore_eos, params.min_tokens) == ((1 << 64) - 1, True, 2)
    assert request.client_field("max_tokens") == "max_output_tokens"
    assert request.client_field("prompt") == "input"
    assert request.client_field("top_k") == "top_k"


def test_conversation_is_an_id_or_an_object() -> None:
    assert parsed(conversation="conv_1").conversation_id == parsed(conversation={"id": "conv_1"}).conversation_id
    assert parsed().conversation_id is None
