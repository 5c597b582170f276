"""A conversation that was begun at a provider continues here, with every part that the provider's types allow in it."""

from typing import Any, get_type_hints

import pytest
from anthropic.types import ContentBlockParam, ToolUnionParam
from anthropic.types.beta import BetaContentBlockParam, BetaToolUnionParam, beta_tool_result_block_param
from anthropic.types.tool_result_block_param import Content as ResultContent
from openai.types.chat import (
    ChatCompletionAssistantMessageParam,
    ChatCompletionContentPartParam,
    ChatCompletionMessageParam,
    ChatCompletionToolUnionParam,
)
from openai.types.chat.chat_completion_assistant_message_param import ContentArrayOfContentPart
from openai.types.responses import ResponseInputContentParam, ResponseInputItemParam, ToolParam
from openai.types.responses.response_function_call_output_item_param import ResponseFunctionCallOutputItemParam

from app.apis.anthropic.messages_schema import MessagesRequest
from app.apis.openai.chat_schema import ChatCompletionRequest
from app.apis.responses.schema import ResponseRequest
from app.schemas.parsing import IgnoredFields, parse_object
from tests.sdk_types import TEXT, members, values_of

USER: dict[str, Any] = {"role": "user", "content": "And?"}


def named(kind: Any) -> str:
    return getattr(kind, "__name__", str(kind))


def each(*unions: Any) -> pytest.MarkDecorator:
    """Parametrize a test with every type of some unions."""
    kinds = list(dict.fromkeys(kind for union in unions for kind in members(union)))
    return pytest.mark.parametrize("kind", kinds, ids=named)


def messages_prompt(**fields: Any) -> str:
    body = {"model": "m", "max_tokens": 5, "messages": [USER], **fields}
    turns = parse_object(MessagesRequest, body, unknown=IgnoredFields()).turns()
    return "\n".join(turn.text for turn in turns)


def chat_prompt(**fields: Any) -> str:
    turns = parse_object(ChatCompletionRequest, {"model": "m", "messages": [USER], **fields}, unknown=IgnoredFields())
    return "\n".join(turn.text for turn in turns.turns())


def apart(value: Any) -> Any:
    """Return a value in which the tools of each list have separate names."""
    if not isinstance(value, dict):
        return value
    tools = [apart({**tool, "name": f"tool_{at}"}) for at, tool in enumerate(value.get("tools") or ())]
    return {**value, "tools": tools} if "tools" in value else value


def response_prompt(*items: Any, **fields: Any) -> str:
    body = apart({"model": "m", "input": [*map(apart, items), USER], **fields})
    request = parse_object(ResponseRequest, body, unknown=IgnoredFields())
    assert request.offer is not None
    return "\n".join(item.text for item in request.items.values())


@each(ContentBlockParam, BetaContentBlockParam)
def test_message_takes_each_block_of_anthropics_types(kind: Any) -> None:
    for block in values_of(kind):
        role = "user" if block["type"] == "tool_result" else "assistant"
        said = messages_prompt(messages=[USER, {"role": role, "content": [block]}, USER])
        assert said.endswith("And?")


@each(ResultContent, beta_tool_result_block_param.Content)
def test_tool_result_takes_each_block_of_anthropics_types(kind: Any) -> None:
    for block in values_of(kind):
        result = {"type": "tool_result", "tool_use_id": "1", "content": [block]}
        assert messages_prompt(messages=[USER, {"role": "user", "content": [result]}, USER])


@each(ChatCompletionMessageParam)
def test_chat_takes_each_message_of_openais_types(kind: Any) -> None:
    for message in values_of(kind):
        said = {"content": TEXT, **message} if message["role"] == "assistant" else message
        assert chat_prompt(messages=[USER, said, USER]).endswith("And?")


@each(ChatCompletionContentPartParam, ContentArrayOfContentPart)
def test_chat_takes_each_part_of_openais_types(kind: Any) -> None:
    for part in values_of(kind):
        assert chat_prompt(messages=[{"role": "user", "content": [part]}, USER]).endswith("And?")


def test_chat_takes_each_field_of_openais_assistant() -> None:
    for name, hint in get_type_hints(ChatCompletionAssistantMessageParam).items():
        for value in values_of(hint):
            message = {"content": TEXT, name: value, "role": "assistant"}
            assert chat_prompt(messages=[USER, message, USER]).endswith("And?")


@each(ResponseInputItemParam)
def test_response_takes_each_item_of_openais_types(kind: Any) -> None:
    for item in values_of(kind):
        if item.get("type", "item_reference" if set(item) == {"id"} else "message") == "item_reference":
            continue  # A reference to an item that another server keeps has no content to read.
        assert response_prompt(item).endswith("And?")


@each(ResponseInputContentParam, ResponseFunctionCallOutputItemParam)
def test_response_takes_each_part_of_openais_types(kind: Any) -> None:
    for part in values_of(kind):
        for item in (
            {"role": "user", "content": [part]},
            {"type": "function_call_output", "call_id": "1", "output": [part]},
            {"type": "custom_tool_call_output", "call_id": "1", "output": [part]},
        ):
            assert response_prompt(item).endswith("And?")


@each(ToolParam)
def test_response_takes_each_tool_of_openais_types(kind: Any) -> None:
    for tool in values_of(kind):
        assert response_prompt(tools=[tool])
        assert response_prompt({"type": "additional_tools", "role": "developer", "tools": [tool]})


@each(ChatCompletionToolUnionParam)
def test_chat_takes_each_tool_of_openais_types(kind: Any) -> None:
    for tool in values_of(kind):
        assert chat_prompt(tools=[tool])


@each(ToolUnionParam, BetaToolUnionParam)
def test_message_takes_each_tool_of_anthropics_types(kind: Any) -> None:
    for tool in values_of(kind):
        assert messages_prompt(tools=[tool])
