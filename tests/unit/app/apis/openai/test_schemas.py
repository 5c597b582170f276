import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.apis.anthropic.messages_schema import MessagesRequest
from app.apis.openai.chat_schema import ChatCompletionRequest, to_messages
from app.apis.openai.completions_schema import CompletionRequest
from app.schemas.conversations import ConversationFields, NewMessage
from app.schemas.parsing import RequestModel, parse_body
from app.schemas.sampling import GenerationRequest
from engine.api.errors import InvalidRequestError
from models.chat.format import Message
from models.chat.tool_calls import ToolCall
from tests.sizes import Size

USER = {"role": "user", "content": "hi"}


def chat(**fields: Any) -> ChatCompletionRequest:
    return parse_body(ChatCompletionRequest, json.dumps({"model": "m", "messages": [USER], **fields}).encode())


def completion(**fields: Any) -> CompletionRequest:
    return parse_body(CompletionRequest, json.dumps({"model": "m", "prompt": "hi", **fields}).encode())


def refused(model: type[RequestModel], body: bytes | dict[str, Any]) -> InvalidRequestError:
    with pytest.raises(InvalidRequestError) as caught:
        parse_body(model, body if isinstance(body, bytes) else json.dumps(body).encode())
    return caught.value


@pytest.mark.parametrize(
    ("fields", "param"),
    [
        ({"messages": [{"role": "robot", "content": "x"}]}, "messages[0].role"),
        ({"messages": [USER, {"role": "user", "content": 5}]}, "messages[1].content"),
        ({"messages": [{**USER, "colour": "red"}]}, "messages[0].colour"),
        ({"messages": [{**USER, "tool_calls": [{"id": "1"}]}]}, "messages[0].tool_calls[0].function"),
        ({"messages": ["hi"]}, "messages[0]"),
        ({"messages": []}, "messages"),
        ({"messages": "hi"}, "messages"),
        ({"messages": [{"role": "user", "content": [{"type": "text"}]}]}, "messages[0].content[0].text"),
        ({"model": 7}, "model"),
        ({"model": ""}, "model"),
        ({"temperature": 2.1}, "temperature"),
        ({"temperature": "1"}, "temperature"),
        ({"temperature": True}, "temperature"),
        ({"top_p": 1.01}, "top_p"),
        ({"top_k": -2}, "top_k"),
        ({"top_k": 1.5}, "top_k"),
        ({"seed": 1 << 63}, "seed"),
        ({"max_tokens": 0}, "max_tokens"),
        ({"max_tokens": True}, "max_tokens"),
        ({"max_completion_tokens": "5"}, "max_completion_tokens"),
        ({"min_tokens": -1}, "min_tokens"),
        ({"ignore_eos": 1}, "ignore_eos"),
        ({"stop": ["x"] * 129}, "stop"),
        ({"stop": ["x" * 257]}, "stop[0]"),
        ({"stop": 5}, "stop"),
        ({"stream": "yes"}, "stream"),
        ({"stream_options": {"include_usage": 1}}, "stream_options.include_usage"),
        ({"n": 129}, "n"),
        ({"tools": [{"type": "function"}]}, "tools[0].function"),
        ({"structured_outputs": {"xml": 1}}, "structured_outputs.xml"),
        ({"guided_choice": []}, "guided_choice"),
        ({"logprobs": 1}, "logprobs"),
        ({"top_logprobs": 21}, "top_logprobs"),
        ({"response_format": {"type": "json_schema"}}, "response_format.json_schema"),
        ({"presence_penalty": 2.5}, "presence_penalty"),
        ({"frequency_penalty": -2.1}, "frequency_penalty"),
        ({"repetition_penalty": 0}, "repetition_penalty"),
        ({"min_p": 1.1}, "min_p"),
        ({"logit_bias": {"5": 101}}, "logit_bias.5"),
        ({"logit_bias": {"five": 1}}, "logit_bias.five"),
        ({"logit_bias": [5]}, "logit_bias"),
        ({"allowed_token_ids": []}, "allowed_token_ids"),
        ({"allowed_token_ids": [-1]}, "allowed_token_ids[0]"),
        ({"stop_token_ids": [10**12]}, "stop_token_ids[0]"),
        ({"stop_token_ids": [1] * 129}, "stop_token_ids"),
        ({"bad_words": "word"}, "bad_words"),
        ({"bad_words": [""]}, "bad_words[0]"),
        ({"include_stop_str_in_output": 1}, "include_stop_str_in_output"),
        ({"skip_special_tokens": "no"}, "skip_special_tokens"),
        ({"frobnicate": 1}, "frobnicate"),
    ],
)
def test_invalid_chat_field_is_rejected_by_name(fields: dict[str, Any], param: str) -> None:
    error = refused(ChatCompletionRequest, {"model": "m", "messages": [USER], **fields})
    assert error.param == param
    assert param in error.message
    assert error.status == 400


@pytest.mark.parametrize(
    ("fields", "param"),
    [
        ({"prompt": []}, "prompt"),
        ({"prompt": [[]]}, "prompt[0]"),
        ({"prompt": None}, "prompt"),
        ({"prompt": {"text": "x"}}, "prompt"),
        ({"prompt": [1, -2]}, "prompt[1]"),
        ({"prompt": [1, "x"]}, "prompt[1]"),
        ({"prompt": [True]}, "prompt[0]"),
        ({"echo": 1}, "echo"),
        ({"prompt": ["x"] * 129}, "prompt"),
        ({"suffix": "end"}, "suffix"),
        ({"logprobs": 21}, "logprobs"),
        ({"logprobs": True}, "logprobs"),
        ({"best_of": 129}, "best_of"),
        ({"messages": []}, "messages"),
    ],
)
def test_invalid_completion_field_is_rejected_by_name(fields: dict[str, Any], param: str) -> None:
    error = refused(CompletionRequest, {"model": "m", "prompt": "hi", **fields})
    assert error.param == param
    assert param in error.message


@pytest.mark.parametrize(
    "body",
    [
        b"{",
        b"[]",
        b'"text"',
        b"\xff\xfe",
        b'{"temperature": NaN}',
        b"[" * 100_000,
        b'{"metadata": ' + b"[" * 5_000 + b"]" * 5_000 + b"}",
        rb'{"model": "\ud800"}',
    ],
    ids=["cut", "list", "string", "not utf-8", "nan", "deep", "deep in a field", "lone surrogate"],
)
def test_body_that_is_no_json_object_is_rejected(body: bytes) -> None:
    assert refused(ChatCompletionRequest, body).code == "invalid_json"


@pytest.mark.parametrize(
    ("message", "param"),
    [
        ({"role": "user"}, "messages[0].content"),
        ({"role": "user", "content": "x", "tool_call_id": "1"}, "messages[0].tool_call_id"),
        (
            {"role": "user", "content": "x", "tool_calls": [{"id": "1", "function": {"name": "f", "arguments": "{}"}}]},
            "messages[0].tool_calls",
        ),
        ({"role": "tool", "content": "x"}, "messages[0].tool_call_id"),
    ],
)
def test_message_field_not_allowed_for_role_is_rejected(message: dict[str, Any], param: str) -> None:
    with pytest.raises(InvalidRequestError) as caught:
        chat(messages=[message]).turns()
    assert caught.value.param == param


CALLED: dict[str, Any] = {
    "role": "assistant",
    "tool_calls": [
        {"id": id_, "type": "function", "function": {"name": "f", "arguments": "{}"}} for id_ in ("one", "two")
    ],
}


def result_of(call: str) -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": call, "content": "x"}


ANSWER = {"role": "assistant", "content": "so"}


@pytest.mark.parametrize(
    "sent",
    [
        [USER, CALLED, result_of("two"), result_of("one"), ANSWER, USER],
        [result_of("one")],
        [USER, ANSWER, result_of("one")],
        [USER, CALLED, result_of("three")],
        [USER, CALLED, USER, result_of("one")],
    ],
)
def test_tool_results_are_taken_even_without_their_calls(sent: list[Any]) -> None:
    assert [turn.role for turn in to_messages(chat(messages=sent).messages)] == [each["role"] for each in sent]


@pytest.mark.parametrize("arguments", ['{"a": "b', "", "[1]", "{} and so on", '{"a": "\\ud83d"}'])
def test_arguments_of_a_cut_call_are_kept_as_text(arguments: str) -> None:
    call = {"id": "1", "type": "function", "function": {"name": "f", "arguments": arguments}}
    [turn] = chat(messages=[{"role": "assistant", "content": None, "tool_calls": [call]}]).turns()
    assert turn.tool_calls == (ToolCall("f", arguments),)


def test_neutral_field_values_are_accepted() -> None:
    request = chat(
        n=1,
        user="someone",
        metadata={"a": "b"},
        store=True,
        use_beam_search=False,
        length_penalty=1.0,
        cache_salt="x",
        prompt_cache_retention="24h",
        tools=None,
        tool_choice="auto",
        parallel_tool_calls=True,
        logprobs=False,
        frequency_penalty=0,
        presence_penalty=0.0,
        logit_bias={},
        response_format={"type": "text"},
        stream_options=None,
        stop=None,
        seed=None,
    )
    assert request.sampling_params() == chat().sampling_params()


def test_echoed_answer_is_accepted() -> None:
    echoed: dict[str, Any] = {
        "role": "assistant",
        "content": "yes",
        "refusal": None,
        "tool_calls": None,
        "annotations": [],
        "audio": None,
    }
    assert chat(messages=[USER, echoed, USER]).messages[1].text == "yes"


def test_calls_of_the_first_function_api_are_accepted() -> None:
    called = {"role": "assistant", "content": None, "function_call": {"name": "f", "arguments": "{}"}}
    result = {"role": "function", "name": "f", "content": "x"}
    assert chat(messages=[USER, called, result]).turns()[1:] == [
        Message("assistant", "", (ToolCall("f", "{}"),)),
        Message("tool", "x"),
    ]


def test_final_message_is_continued() -> None:
    begun = {"role": "assistant", "content": "So"}
    request = chat(messages=[USER, begun], continue_final_message=True, add_generation_prompt=False)
    assert (request.opening, request.turns()) == ("So", [Message("user", "hi")])
    assert chat(messages=[USER, begun]).opening == ""


@pytest.mark.parametrize(
    ("fields", "param"),
    [
        ({"continue_final_message": True}, "add_generation_prompt"),
        ({"add_generation_prompt": False}, "add_generation_prompt"),
        ({"continue_final_message": True, "add_generation_prompt": False}, "messages[0]"),
    ],
)
def test_final_message_that_cannot_be_continued_is_rejected(fields: dict[str, Any], param: str) -> None:
    with pytest.raises(InvalidRequestError) as caught:
        chat(**fields).turns()
    assert caught.value.param == param


def test_only_allowed_tools_are_offered() -> None:
    tools = [{"type": "function", "function": {"name": name}} for name in ("f", "g")]
    allowed = [{"type": "function", "function": {"name": "g"}}]
    choice = {"type": "allowed_tools", "allowed_tools": {"mode": "required", "tools": allowed}}
    offer = chat(tools=tools, tool_choice=choice).offer
    assert ([each["name"] for each in offer.functions], offer.choice) == (["g"], "required")
    with pytest.raises(InvalidRequestError) as caught:
        _ = chat(tools=tools[:1], tool_choice=choice).offer
    assert caught.value.param == "tool_choice.allowed_tools.tools"


@pytest.mark.parametrize(
    ("fields", "name", "value"),
    [
        ({"max_tokens": -1}, "max_tokens", None),
        ({"max_completion_tokens": -1}, "max_tokens", None),
        ({"repeat_penalty": 1.5}, "repetition_penalty", 1.5),
        ({"repeat_penalty": 1.5, "repetition_penalty": 1.2}, "repetition_penalty", 1.2),
    ],
)
def test_names_and_values_of_other_servers_are_understood(fields: dict[str, Any], name: str, value: Any) -> None:
    assert getattr(chat(**fields).sampling_params(), name) == value


def test_completion_of_minus_one_tokens_is_unlimited() -> None:
    assert completion(max_tokens=-1).sampling_params().max_tokens is None


@pytest.mark.parametrize(
    ("fields", "kept"),
    [({}, 10), ({"truncate_prompt_tokens": 4}, 4), ({"truncate_prompt_tokens": -1, "max_tokens": 3}, 5)],
)
def test_prompt_is_truncated_from_its_beginning(fields: dict[str, Any], kept: int) -> None:
    prompt = list(range(10))
    assert chat(**fields).kept(prompt, window=8) == prompt[-kept:]


def test_text_parts_are_joined() -> None:
    parts = [{"type": "text", "text": "one "}, {"type": "text", "text": "two"}]
    assert chat(messages=[{"role": "user", "content": parts}]).messages[0].text == "one two"


def test_sampling_fields_reach_the_engine() -> None:
    fields = {"temperature": 0, "top_p": 0.5, "top_k": 3, "seed": 11, "max_tokens": 9, "min_tokens": 2}
    params = chat(**fields, ignore_eos=True, stop=["a", "b"]).sampling_params()
    assert {name: getattr(params, name) for name in fields} == fields
    assert params.stop == ("a", "b")
    assert params.ignore_eos


def test_one_stop_string_needs_no_list() -> None:
    assert chat(stop="end").sampling_params().stop == ("end",)


def test_sixteen_stop_strings_are_accepted() -> None:
    assert len(chat(stop=[str(i) for i in range(128)]).sampling_params().stop) == 128


def test_top_k_of_minus_one_disables_it() -> None:
    assert chat(top_k=-1).sampling_params().top_k == 0


def test_negative_seed_is_distinct() -> None:
    seeds = {chat(seed=seed).sampling_params().seed for seed in (-1, 0, 1)}
    assert len(seeds) == 3
    assert all(seed is not None and 0 <= seed < 1 << 64 for seed in seeds)


@pytest.mark.parametrize("model", [ChatCompletionRequest, CompletionRequest])
@pytest.mark.parametrize(
    "value", ["1e309", "-1e309", "NaN", "1" + "0" * 4000, '"\\ud800"', "[" * 10_000 + "]" * 10_000]
)
def test_number_fields_reject_other_values(model: type[RequestModel], value: str) -> None:
    for name, schema in model.model_json_schema()["properties"].items():
        if any(kind.get("type") in ("integer", "number") for kind in schema.get("anyOf", ())):
            refused(model, f'{{"model": "m", "prompt": "x", "messages": [], "{name}": {value}}}'.encode())


def test_error_does_not_repeat_a_very_long_name() -> None:
    error = refused(ChatCompletionRequest, {"model": "m", "messages": [USER], "x" * 3_000_000: 1})
    assert len(error.message) < 300


def test_max_completion_tokens_overrides_max_tokens() -> None:
    request = chat(max_tokens=5, max_completion_tokens=7)
    assert request.sampling_params().max_tokens == 7
    assert request.client_field("max_tokens") == "max_completion_tokens"


def test_max_tokens_of_completion_defaults_to_sixteen() -> None:
    assert completion().sampling_params().max_tokens == 16


@pytest.mark.parametrize(
    ("prompt", "single"), [("a", "a"), (["a"], "a"), ([1, 2], [1, 2]), ([[1, 2]], [1, 2]), ([0], [0]), ("", "")]
)
def test_prompt_is_text_or_token_ids_or_a_list_of_one(prompt: Any, single: str | list[int]) -> None:
    assert completion(prompt=prompt).prompts() == [single]


@pytest.mark.parametrize("prompt", [["a", "b"], [[1], [2, 3]]])
def test_several_prompts_are_accepted(prompt: Any) -> None:
    assert completion(prompt=prompt).prompts() == prompt


def test_chat_top_logprobs_require_logprobs() -> None:
    assert chat(logprobs=True, top_logprobs=3).sampling_params().logprobs == 3
    assert chat(logprobs=True).sampling_params().logprobs == 0
    assert chat(logprobs=False).sampling_params().logprobs is None
    with pytest.raises(InvalidRequestError) as caught:
        chat(top_logprobs=3).sampling_params()
    assert caught.value.param == "top_logprobs"


def test_echo_with_logprobs_requests_prompt_logprobs() -> None:
    assert completion(logprobs=2, echo=True).sampling_params().prompt_logprobs == 2
    assert completion(logprobs=2).sampling_params().prompt_logprobs is None
    assert completion(echo=True).sampling_params().prompt_logprobs is None
    assert completion(logprobs=0).sampling_params().logprobs == 0


def test_message_without_parent_id_follows_head_unless_null() -> None:
    assert parse_body(NewMessage, b'{"content": "x"}').follows_head
    assert not parse_body(NewMessage, b'{"content": "x", "parent_id": null}').follows_head


def test_invalid_message_params_are_named_by_path() -> None:
    assert refused(NewMessage, {"content": "x", "params": {"temperature": 3}}).param == "params.temperature"
    assert refused(NewMessage, {"content": "x", "params": {"stop": [1]}}).param == "params.stop[0]"
    assert refused(NewMessage, {"content": ""}).param == "content"


def test_changes_hold_only_sent_fields() -> None:
    assert parse_body(ConversationFields, b'{"title": null}').changes() == {"title": None}
    assert parse_body(ConversationFields, b'{"params": {"top_k": 4}}').changes() == {"params": {"top_k": 4}}
    assert parse_body(ConversationFields, b"").changes() == {}


FIELDS = sorted(
    {
        *ChatCompletionRequest.model_fields,
        *ChatCompletionRequest.neutral,
        *CompletionRequest.model_fields,
        *MessagesRequest.neutral,
        "system",
        "stop_sequences",
    }
)
ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["role", "content", "type", "text"]), inner)
    ),
    max_leaves=8,
)


def refusal(model: type[GenerationRequest], body: bytes) -> InvalidRequestError | None:
    try:
        parse_body(model, body).sampling_params()
    except InvalidRequestError as error:
        return error
    return None


def test_arbitrary_body_is_accepted_or_rejected_with_message(size: Size) -> None:
    @given(fields=st.dictionaries(st.sampled_from(FIELDS), ANYTHING, max_size=4))
    @settings(max_examples=size.pick(small=20, full=300), deadline=None, derandomize=True)
    def check(fields: dict[str, Any]) -> None:
        for error in (
            refusal(ChatCompletionRequest, json.dumps({"model": "m", "messages": [USER], **fields}).encode()),
            refusal(CompletionRequest, json.dumps({"model": "m", "prompt": "x", **fields}).encode()),
            refusal(
                MessagesRequest, json.dumps({"model": "m", "messages": [USER], "max_tokens": 5, **fields}).encode()
            ),
        ):
            if error is not None:
                assert error.message
                assert error.param is None or "<" not in error.param

    check()
