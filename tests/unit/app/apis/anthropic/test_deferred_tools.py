"""Tools whose description follows where the history refers to them."""

import json
from typing import Any

import pytest

from app.apis.anthropic.messages_schema import MessagesRequest
from app.schemas.parsing import parse_object
from engine.api.errors import InvalidRequestError
from models.chat.format import Message

WEATHER = {"name": "weather", "description": "Of a city", "input_schema": {"type": "object"}, "defer_loading": True}
CLOCK = {"name": "clock", "input_schema": {"type": "object"}, "defer_loading": True}
SEARCH = {"name": "search", "input_schema": {"type": "object"}}
DESCRIBED = '<function>{"name": "weather", "description": "Of a city", "parameters": {"type": "object"}}</function>'


def asked(*turns: dict[str, Any], tools: tuple[dict[str, Any], ...] = (SEARCH, WEATHER, CLOCK), **fields: Any) -> Any:
    body = {"model": "m", "max_tokens": 5, "messages": [{"role": "user", "content": "hi"}, *turns], **fields}
    return parse_object(MessagesRequest, {**body, "tools": list(tools)})


def found(*content: dict[str, Any] | str) -> tuple[dict[str, Any], ...]:
    """Return the call of a search, and its result: texts and names of tools."""
    call = {"type": "tool_use", "id": "a", "name": "search", "input": {"for": "weather"}}
    blocks = [each if isinstance(each, dict) else reference(each) for each in content]
    result = {"type": "tool_result", "tool_use_id": "a", "content": blocks}
    return {"role": "assistant", "content": [call]}, {"role": "user", "content": [result]}


def reference(name: str) -> dict[str, Any]:
    return {"type": "tool_reference", "tool_name": name}


def tools_at_the_beginning(messages: list[Message]) -> list[str]:
    return [tool["function"]["name"] for tool in json.loads(messages[0].content)]


def test_deferred_tool_is_left_out_until_referred_to() -> None:
    before, after = asked(), asked(*found("weather"))
    assert tools_at_the_beginning(before.turns()) == ["search"]
    assert after.turns()[: len(before.turns())] == before.turns(), "the KV of the beginning must be found again"
    assert after.turns()[-1] == Message("tool", f"<functions>\n{DESCRIBED}\n</functions>")
    assert [function["name"] for function in after.offer.loaded] == ["weather"]


def test_tool_is_described_at_the_first_reference_only() -> None:
    once = asked(*found({"type": "text", "text": "Found: "}, "weather", "nothing", "clock", "weather"))
    assert once.turns()[-1].content.startswith(f"Found: <functions>\n{DESCRIBED}\n<function>")
    assert once.turns()[-1].content.endswith("</functions>[tool: nothing]")
    assert once.turns()[-1].content.count("<function>") == 2
    twice = asked(*found("weather"), *found("weather"))
    assert twice.turns()[-1] == Message("tool", "[tool: weather]")
    assert twice.turns()[:-2] == asked(*found("weather")).turns()


def test_reference_to_a_tool_that_is_not_deferred_is_its_name() -> None:
    turns = asked(*found("search", "gone")).turns()
    assert turns[-1] == Message("tool", "[tool: search][tool: gone]")


def test_search_on_other_servers_reads_as_the_clients_own() -> None:
    use = {"type": "server_tool_use", "id": "srvtoolu_1", "name": "tool_search_tool_bm25", "input": {"query": "rain"}}
    result = {"type": "tool_search_tool_search_result", "tool_references": [reference("weather")]}
    failed = {"type": "tool_search_tool_result_error", "error_code": "unavailable", "error_message": None}
    answer = [
        {"type": "text", "text": "I will look."},
        use,
        {"type": "tool_search_tool_result", "tool_use_id": "srvtoolu_1", "content": result},
        use,
        {"type": "tool_search_tool_result", "tool_use_id": "srvtoolu_1", "content": failed},
        {"type": "text", "text": "There it is."},
    ]
    turns = asked({"role": "assistant", "content": answer}, {"role": "user", "content": "Then?"}).turns()[2:]
    assert [(turn.role, turn.content, [call.name for call in turn.tool_calls]) for turn in turns] == [
        ("assistant", "I will look.", ["tool_search_tool_bm25"]),
        ("tool", f"<functions>\n{DESCRIBED}\n</functions>", []),
        ("assistant", "", ["tool_search_tool_bm25"]),
        ("tool", "[search failed: unavailable]", []),
        ("assistant", "There it is.", []),
        ("user", "Then?", []),
    ]
    with pytest.raises(InvalidRequestError, match="a tool call"):
        asked({"role": "assistant", "content": answer}).turns()


def test_choice_may_name_a_deferred_tool_once_it_is_loaded() -> None:
    chosen: dict[str, Any] = {"tool_choice": {"type": "tool", "name": "weather"}}
    assert asked(*found("weather"), **chosen).offer.is_named
    with pytest.raises(InvalidRequestError, match="weather is deferred") as caught:
        _ = asked(*found("clock"), **chosen).offer
    assert caught.value.param == "tool_choice.name"


def test_catalog_of_deferred_tools_may_be_long() -> None:
    catalog = [{**CLOCK, "name": f"clock{number}"} for number in range(1000)]
    many = asked(*found("clock999"), tools=(SEARCH, *catalog))
    assert [function["name"] for function in (*many.offer.functions, *many.offer.loaded)] == ["search", "clock999"]
    with pytest.raises(InvalidRequestError, match="at most 256 tools may come without defer_loading, not 257"):
        _ = asked(tools=tuple({**SEARCH, "name": f"search{number}"} for number in range(257))).offer


def test_answer_without_tools_has_a_prompt_without_descriptions() -> None:
    turns = asked(*found("weather"), tool_choice={"type": "none"}).turns()
    assert [turn.role for turn in turns] == ["user", "assistant", "tool"]
    assert turns[-1].content == "[tool: weather]"
