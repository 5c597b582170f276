import json
from typing import Any

import pytest

from app.apis.anthropic.messages_schema import CountTokensRequest, MessagesRequest
from app.schemas.parsing import RequestModel, parse_body
from engine.api.errors import InvalidRequestError, NotFoundError
from models.chat.format import Message

USER = {"role": "user", "content": "hi"}


def messages(**fields: Any) -> MessagesRequest:
    body = {"model": "m", "max_tokens": 5, "messages": [USER], **fields}
    return parse_body(MessagesRequest, json.dumps(body).encode())


def refused(model: type[RequestModel], body: dict[str, Any]) -> InvalidRequestError:
    with pytest.raises(InvalidRequestError) as caught:
        parse_body(model, json.dumps(body).encode())
    return caught.value


@pytest.mark.parametrize(
    ("fields", "param"),
    [
        ({"max_tokens": None}, "max_tokens"),
        ({"max_tokens": -1}, "max_tokens"),
        ({"messages": []}, "messages"),
        ({"messages": "hi"}, "messages"),
        ({"messages": ["hi"]}, "messages[0]"),
        ({"messages": [{"role": "tool", "content": "x"}]}, "messages[0].role"),
        ({"messages": [{"role": "user"}]}, "messages[0].content"),
        ({"messages": [{"role": "user", "content": None}]}, "messages[0].content"),
        ({"messages": [USER, {"role": "user", "content": ["hi"]}]}, "messages[1].content[0]"),
        ({"messages": [{"role": "user", "content": [{"type": {}, "text": "x"}]}]}, "messages[0].content[0].type"),
        ({"messages": [{**USER, "name": "x"}]}, "messages[0].name"),
        ({"system": 5}, "system"),
        ({"system": [{"type": "text"}]}, "system[0].text"),
        ({"stop": ["x"]}, "stop"),
        ({"stop_sequences": ["x"] * 129}, "stop_sequences"),
        ({"temperature": 3}, "temperature"),
        ({"top_p": 2}, "top_p"),
        ({"top_k": 0.5}, "top_k"),
        ({"stream": "yes"}, "stream"),
        ({"tools": [{"name": "x"}]}, "tools[0].input_schema"),
        ({"tool_choice": {"type": "some"}}, "tool_choice.type"),
        ({"tool_choice": {"type": "tool"}}, "tool_choice.name"),
        ({"thinking": {"type": "between_turns"}}, "thinking.type"),
        ({"thinking": {"type": "adaptive", "display": "all"}}, "thinking.display"),
        (
            {"messages": [{"role": "assistant", "content": [{"type": "thinking", "text": "x"}]}]},
            "messages[0].content[0].text",
        ),
        ({"output_config": {"format": {"type": "json_schema"}}}, "output_config.format.schema"),
        ({"output_config": {"length": 1}}, "output_config.length"),
        ({"diagnostics": {"previous_message_id": 1}}, "diagnostics.previous_message_id"),
        ({"mcp_servers": [{}]}, "mcp_servers"),
        ({"container": "x"}, "container"),
        ({"frobnicate": 1}, "frobnicate"),
    ],
)
def test_invalid_field_is_rejected_by_name(fields: dict[str, Any], param: str) -> None:
    error = refused(MessagesRequest, {"model": "m", "max_tokens": 5, "messages": [USER], **fields})
    assert error.param == param
    assert param in error.message


def test_max_tokens_is_required_except_for_counting() -> None:
    assert refused(MessagesRequest, {"model": "m", "messages": [USER]}).param == "max_tokens"
    assert refused(CountTokensRequest, {"model": "m", "messages": [USER], "max_tokens": 5}).param == "max_tokens"


def test_neutral_field_values_are_accepted() -> None:
    request = messages(
        metadata={"user_id": "someone"},
        service_tier="auto",
        cache_control={"type": "ephemeral"},
        tools=[],
        tool_choice={"type": "auto"},
        thinking={"type": "disabled"},
        output_config={"effort": "low", "format": None},
        diagnostics={"previous_message_id": None},
        speed="standard",
        context_management={"edits": []},
        fallbacks="default",
        stop_sequences=None,
        system=None,
        stream=None,
    )
    assert request.sampling_params() == messages().sampling_params()


def test_text_blocks_are_joined_and_system_text_comes_first() -> None:
    blocks = [
        {"type": "text", "text": "one ", "cache_control": {"type": "ephemeral"}},
        {"type": "text", "text": "two", "citations": None},
    ]
    turns = messages(system=blocks, messages=[{"role": "user", "content": blocks}]).turns()
    assert turns == [Message("system", "one two"), Message("user", "one two")]
    late = {"role": "system", "content": blocks}
    assert messages(messages=[USER, late, USER]).turns()[1] == Message("system", "one two")
    assert messages(system="").turns() == [Message("user", "hi")]


def call_of(*ids: str) -> dict[str, Any]:
    uses = [{"type": "tool_use", "id": id_, "name": "f", "input": {}} for id_ in ids]
    return {"role": "assistant", "content": uses}


def result_of(*ids: str) -> dict[str, Any]:
    return {"role": "user", "content": [{"type": "tool_result", "tool_use_id": id_, "content": "x"} for id_ in ids]}


@pytest.mark.parametrize(
    "sent",
    [
        [USER, call_of("a", "b"), result_of("b", "a"), call_of("c"), result_of("c")],
        [USER, call_of("a"), call_of("b"), result_of("a"), result_of("b")],
        [result_of("a")],
        [USER, call_of("a"), result_of("b")],
        [USER, call_of("a"), result_of("a"), call_of("b"), result_of("a")],
    ],
)
def test_tool_results_are_taken_even_without_their_calls(sent: list[Any]) -> None:
    given = sum(len(turn["content"]) for turn in sent if turn["role"] == "user" and turn is not USER)
    assert sum(turn.role == "tool" for turn in messages(messages=sent).turns()) == given


BEGUN: dict[str, Any] = {"role": "assistant", "content": "The answer is"}


def test_last_message_of_assistant_begins_the_answer() -> None:
    request = messages(messages=[USER, BEGUN])
    assert (request.opening, request.turns()) == ("The answer is", [Message("user", "hi")])
    assert messages(messages=[USER, BEGUN, USER]).opening == ""


@pytest.mark.parametrize(
    ("fields", "named"),
    [
        ({"thinking": {"type": "enabled", "budget_tokens": 5}}, "thinking"),
        ({"output_config": {"format": {"type": "json_schema", "schema": {}}}}, "output_config.format"),
        ({"output_format": {"type": "json_schema", "schema": {}}}, "output_format"),
        ({"tools": [{"name": "f", "input_schema": {}}], "tool_choice": {"type": "any"}}, "tool_choice"),
    ],
)
def test_begun_answer_excludes_other_demands(fields: dict[str, Any], named: str) -> None:
    with pytest.raises(InvalidRequestError, match=f"combined with {named}$") as caught:
        messages(messages=[USER, BEGUN], **fields).turns()
    assert caught.value.param == "messages[1].role"


def test_tool_call_cannot_begin_the_answer() -> None:
    with pytest.raises(InvalidRequestError, match="a tool call"):
        messages(messages=[USER, call_of("a")]).turns()


def test_tool_results_without_text_become_notes() -> None:
    content = [
        {"type": "text", "text": "seen: "},
        {"type": "image", "source": {"type": "base64", "data": "AA=="}},
        {"type": "tool_reference", "tool_name": "grep"},
    ]
    result = {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "a", "content": content}]}
    turns = messages(messages=[USER, call_of("a"), result]).turns()
    assert turns[-1] == Message("tool", "seen: [image omitted: this model reads text only][tool: grep]")


def test_continued_thread_is_reported_as_lost() -> None:
    assert messages(thread={"type": "create"}).turns() == [Message("user", "hi")]
    with pytest.raises(NotFoundError) as caught:
        messages(thread={"type": "continue", "previous_message_id": "msg_1"}).turns()
    assert caught.value.code == "thread_not_found"


def test_continued_thread_may_name_a_tool_of_the_thread() -> None:
    continued = {"type": "continue", "previous_message_id": "msg_1"}
    with pytest.raises(NotFoundError, match="thread"):
        _ = messages(thread=continued, tool_choice={"type": "tool", "name": "weather"}).offer


def test_older_name_of_the_format_is_accepted() -> None:
    format_ = {"type": "json_schema", "schema": {"type": "integer"}}
    older, newer = messages(output_format=format_), messages(output_config={"format": format_})
    assert older.sampling_params() == newer.sampling_params()
    assert older.client_field("form") == "output_format.schema"


def test_sampling_fields_reach_the_engine() -> None:
    params = messages(temperature=0.5, top_p=0.9, top_k=7, stop_sequences=["a", "b"]).sampling_params()
    assert (params.temperature, params.top_p, params.top_k, params.max_tokens) == (0.5, 0.9, 7, 5)
    assert params.stop == ("a", "b")


def test_engine_errors_use_field_names_of_client() -> None:
    names = ("prompt", "stop", "max_tokens")
    assert [messages().client_field(name) for name in names] == ["messages", "stop_sequences", "max_tokens"]


@pytest.mark.parametrize(
    ("fields", "budget", "name"),
    [
        ({"thinking": {"type": "enabled", "budget_tokens": 1024}}, 1024, "thinking.budget_tokens"),
        ({"thinking": {"type": "enabled", "budget_tokens": 9}, "thinking_token_budget": 3}, 3, "thinking_token_budget"),
        ({"thinking": {"type": "adaptive", "budget_tokens": 9}}, None, "thinking.budget_tokens"),
        ({"thinking": {"type": "enabled"}}, None, "thinking.budget_tokens"),
    ],
)
def test_budget_counts_for_enabled_thinking(fields: dict[str, Any], budget: int | None, name: str) -> None:
    request = messages(**fields)
    assert request.sampling_params().thinking_token_budget == budget
    assert request.client_field("thinking_token_budget") == name


NOTE: dict[str, Any] = {"role": "system", "content": "It is noon.", "clear_at": "next_user_message"}
RESULT: dict[str, Any] = {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t", "content": "ok"}]}
YES = {"role": "assistant", "content": "yes"}


@pytest.mark.parametrize(
    ("said", "is_shown"),
    [
        ([USER, NOTE], True),
        ([USER, NOTE, YES], True),
        ([USER, NOTE, YES, USER], False),
        ([USER, NOTE, RESULT], False),
        ([NOTE, USER], False),
        ([USER, NOTE | {"clear_at": "never"}, YES, USER], True),
        ([USER, NOTE | {"clear_at": None}, YES, USER], True),
    ],
)
def test_later_turn_of_the_user_clears_a_system_turn(said: list[dict[str, Any]], is_shown: bool) -> None:
    turns = messages(messages=said).turns()
    assert ("It is noon." in [turn.content for turn in turns]) is is_shown
    assert [turn.role for turn in turns if turn.role == "user"] == ["user"] * said.count(USER)


def test_only_system_turns_can_be_cleared() -> None:
    with pytest.raises(InvalidRequestError, match="only system") as refusal:
        messages(messages=[USER | {"clear_at": "next_user_message"}, YES, USER]).turns()
    assert refusal.value.param == "messages[0].clear_at"


@pytest.mark.parametrize(
    ("thinking", "shown"),
    [
        ({"type": "disabled"}, "none"),
        ({"type": "between_tools"}, "none"),
        ({"type": "adaptive", "display": "updates"}, "shown"),
        ({"type": "enabled", "budget_tokens": 5, "display": "omitted"}, "omitted"),
    ],
)
def test_every_kind_of_thinking_of_anthropics_types_is_taken(thinking: dict[str, Any], shown: str) -> None:
    assert messages(thinking=thinking).thoughts == shown
