"""Bodies of Ollama's routes: accepted as its clients send them, and refused by the name of the field."""

import json
from typing import Any

import pytest

from app.apis.ollama.chat_schema import OllamaChatRequest
from app.apis.ollama.generate_schema import OllamaGenerateRequest
from app.apis.ollama.show_schema import OllamaShowRequest
from app.schemas.answer_forms import ANY_OBJECT
from app.schemas.parsing import RequestModel, parse_body
from engine.api.errors import InvalidRequestError
from engine.testing.replay_engine import ReplayEngine
from models.chat.format import Message
from models.chat.tool_calls import ToolCall
from models.thinking import PANGU_SUFFIXES, MarkedThinking, ThinkingMode

USER = {"role": "user", "content": "hi"}
CALL = {"function": {"name": "weather", "arguments": {"city": "Zürich"}}}
SCHEMA = {"type": "object", "properties": {"age": {"type": "integer"}}}


def chat(**fields: Any) -> OllamaChatRequest:
    return parse_body(OllamaChatRequest, json.dumps({"model": "m", "messages": [USER], **fields}).encode())


def generate(**fields: Any) -> OllamaGenerateRequest:
    return parse_body(OllamaGenerateRequest, json.dumps({"model": "m", "prompt": "hi", **fields}).encode())


def refused(model: type[RequestModel], body: dict[str, Any]) -> InvalidRequestError:
    with pytest.raises(InvalidRequestError) as caught:
        parse_body(model, json.dumps(body).encode())
    return caught.value


@pytest.mark.parametrize(
    ("fields", "param"),
    [
        ({"model": None}, "model"),
        ({"messages": "hi"}, "messages"),
        ({"messages": [{"role": "robot", "content": "x"}]}, "messages[0].role"),
        ({"messages": [USER, {"role": "user", "content": ["x"]}]}, "messages[1].content"),
        ({"messages": [{"role": "assistant", "tool_calls": [{}]}]}, "messages[0].tool_calls[0].function"),
        (
            {"messages": [{"role": "assistant", "tool_calls": [{"function": {"name": "f", "arguments": "{}"}}]}]},
            "messages[0].tool_calls[0].function.arguments",
        ),
        ({"tools": [{"type": "function", "function": {"name": "a b"}}]}, "tools[0].function.name"),
        ({"options": {"temperature": -1}}, "options.temperature"),
        ({"options": {"typical_p": 0.5}}, "options.typical_p"),
        ({"options": 5}, "options"),
        ({"format": "xml"}, "format"),
        ({"format": 1}, "format"),
        ({"think": "deeply"}, "think"),
        ({"think": 1}, "think"),
        ({"stream": "yes"}, "stream"),
        ({"top_logprobs": 21}, "top_logprobs"),
        ({"timeout": 0}, "timeout"),
        ({"_debug_render_only": True}, "_debug_render_only"),
    ],
)
def test_invalid_chat_field_is_rejected_by_name(fields: dict[str, Any], param: str) -> None:
    error = refused(OllamaChatRequest, {"model": "m", "messages": [USER], **fields})
    assert error.param == param
    assert param in error.message
    assert error.status == 400


@pytest.mark.parametrize("name", ["suffix", "template", "context"])
def test_unsupported_generate_field_is_rejected_by_name(name: str) -> None:
    value: Any = {"context": [1, 2]}.get(name, "x")
    error = refused(OllamaGenerateRequest, {"model": "m", "prompt": "hi", name: value})
    assert (error.param, error.code) == (name, "unsupported")


def test_empty_fields_of_the_go_client_are_accepted() -> None:
    empty = {"suffix": "", "system": "", "template": "", "images": None, "options": None, "format": None}
    assert generate(**empty, context=[], keep_alive="5m", raw=False).turns() == [Message("user", "hi")]
    assert chat(tools=None, options={}, keep_alive=-1, truncate=True, shift=False).offer.messages == []
    wanted = {"model": "m", "system": "", "template": "", "verbose": False, "options": None, "name": ""}
    assert parse_body(OllamaShowRequest, json.dumps(wanted).encode()).wanted == "m"


def test_stream_is_the_default() -> None:
    assert [chat().stream, chat(stream=None).stream, chat(stream=True).stream] == [True] * 3
    assert chat(stream=False).stream is False


def test_request_without_messages_or_prompt_is_valid() -> None:
    for body in (b'{"model": "m"}', b'{"model": "m", "messages": null}', b'{"model": "m", "messages": []}'):
        assert not parse_body(OllamaChatRequest, body).messages
    assert parse_body(OllamaGenerateRequest, b'{"model": "m"}').prompt is None


def test_messages_become_turns_with_tools_first() -> None:
    tool = {"type": "function", "function": {"name": "weather", "parameters": {"type": "object"}}}
    answer = {"role": "assistant", "thinking": "hm", "tool_calls": [{"id": "call_1", "type": "function", **CALL}]}
    result = {"role": "tool", "content": "21", "tool_name": "weather", "tool_call_id": "call_1"}
    tools, *turns = chat(messages=[USER, answer, result], tools=[tool]).turns()
    assert tools == Message("tools", json.dumps([tool]))
    assert turns == [
        Message("user", "hi"),
        Message("assistant", "", (ToolCall("weather", '{"city": "Zürich"}'),)),
        Message("tool", "21"),
    ]


def test_last_message_of_assistant_begins_the_answer() -> None:
    request = chat(messages=[USER, {"role": "assistant", "content": "The"}])
    assert (request.opening, [turn.role for turn in request.turns()]) == ("The", ["user"])


@pytest.mark.parametrize(
    ("messages", "param"),
    [
        ([{**USER, "tool_calls": [CALL]}], "messages[0].tool_calls"),
        ([USER, {"role": "assistant", "tool_calls": [CALL]}], "messages[1].tool_calls"),
    ],
)
def test_message_that_its_place_does_not_allow_is_rejected(messages: list[Any], param: str) -> None:
    with pytest.raises(InvalidRequestError) as caught:
        chat(messages=messages).turns()
    assert caught.value.param == param


def test_system_message_precedes_the_prompt_but_not_a_raw_one() -> None:
    assert generate(system="Be brief.").turns() == [Message("system", "Be brief."), Message("user", "hi")]
    with pytest.raises(InvalidRequestError) as caught:
        generate(system="Be brief.", raw=True).check_raw()
    assert caught.value.param == "system"
    generate(raw=True).check_raw()


def test_format_is_any_object_or_a_schema() -> None:
    assert chat().sampling_params().form is None
    assert chat(format="").sampling_params().form is None
    assert chat(format="json").sampling_params().form == ANY_OBJECT
    form = chat(format=SCHEMA).sampling_params().form
    assert form is not None
    assert json.loads(form.text) == SCHEMA


def test_logprobs_are_asked_for_by_their_switch() -> None:
    assert chat(top_logprobs=3).sampling_params().logprobs is None
    assert chat(logprobs=True).sampling_params().logprobs == 0
    assert chat(logprobs=True, top_logprobs=3).sampling_params().logprobs == 3


def test_options_reach_the_engine() -> None:
    params = chat(options={"num_predict": 5, "temperature": 0}).sampling_params({"temperature": 0.7, "top_p": 0.9})
    assert (params.max_tokens, params.temperature, params.top_p) == (5, 0, 0.9)


@pytest.mark.parametrize(
    ("think", "mode"),
    [(None, None), (False, "off"), (True, "slow"), ("low", "auto"), ("medium", "slow"), ("max", "slow")],
)
def test_think_selects_the_thinking_mode(think: Any, mode: ThinkingMode | None) -> None:
    engine = ReplayEngine()
    engine.chat_format.thinking = MarkedThinking(1, 2, PANGU_SUFFIXES)
    assert chat(think=think).thinking_mode(engine) == mode
    assert chat(think=think).shows_thoughts == (think is not False)


def test_model_that_cannot_think_refuses_only_to_think() -> None:
    assert chat(think=False).thinking_mode(ReplayEngine()) is None
    for think in (True, "low"):
        with pytest.raises(InvalidRequestError) as caught:
            chat(think=think).thinking_mode(ReplayEngine())
        assert caught.value.param == "think"


def test_engine_errors_use_field_names_of_client() -> None:
    names = ("prompt", "form", "logprobs", "max_tokens", "timeout")
    assert [chat().client_field(name) for name in names] == [
        "messages", "format", "top_logprobs", "options.num_predict", "timeout"
    ]  # fmt: skip
    assert generate().client_field("prompt") == "prompt"


def test_model_to_show_may_have_its_older_field() -> None:
    assert parse_body(OllamaShowRequest, b'{"name": "m"}').wanted == "m"
    with pytest.raises(InvalidRequestError) as caught:
        _ = parse_body(OllamaShowRequest, b'{"name": ""}').wanted
    assert caught.value.param == "model"
