"""Published chat templates: prompts equal those of transformers, and every message stands in its place."""

import json
from typing import Any, Final

import pytest

from models.chat.format import Message
from models.chat.tool_calls import ToolCall
from models.errors import ChatFormatError
from tests.many_models import MARK, representatives
from tests.published_templates import (
    DIFFERENT,
    FILES,
    FOLDERS,
    MOVED,
    UNKNOWN_CALLS,
    UNREAD,
    Published,
    published,
    their_prompt,
)
from tests.unit.models.test_family_templates import ONLY_PUBLISHED

NAMED: Final = (
    *("cohere2", "deepseekv3", "gemma", "glm4moe", "gptoss", "lfm2_2_5", "llama3_1", "phi3_5", "qwen3_5_think"),
    *("muse_glimmer", "qwen3_vl_training", "smolvlm"),
)
"""Templates of `make test`: one of each kind of order, and of each kind of tools."""

DAYS: Final = {"type": "object", "properties": {"days": {"type": "integer"}}}
DESCRIPTION: Final = "Weather of a city"
TOOL: Final[dict[str, Any]] = {
    "type": "function",
    "function": {"name": "get_weather", "description": DESCRIPTION, "parameters": DAYS},
}
SYSTEM: Final = Message("system", "Be brief.")
ASKED: Final = Message("user", "Will it rain?")
SAID: Final = {
    "question": [ASKED],
    "chat": [SYSTEM, ASKED, Message("assistant", "No."), Message("user", "Sure?")],
    "tools": [SYSTEM, ASKED],
    "calls": [ASKED, Message("assistant", "", (ToolCall("get_weather", '{"days": 2}'),)), Message("tool", "SUN")],
}
ROWS: Final = (
    *("U", "S", "SU", "SSU", "US", "USAU", "UASU", "SUSU", "SUAU", "SUASU"),
    *("UAAU", "AU", "SAU", "SA", "UU", "UUAU", "UAU"),
)
FIELDS: Final = {name: {"type": name} for name in ("string", "integer", "boolean", "object")} | {
    # Hermes' templates fail at the types of lists and of null.
    "list": {"items": {}},
    "null": {"enum": [None]},
}
TWO_TOOLS: Final[list[dict[str, Any]]] = [
    {"type": "function", "function": {"name": name, "description": DESCRIPTION, "parameters": parameters}}
    for parameters in [{"type": "object", "properties": FIELDS}]
    for name in ("get_weather", "add_item")
]
Calls = list[tuple[str, dict[str, Any]]]
CALLED: Final[dict[str, Calls]] = {
    "two": [("get_weather", {"string": "Paris", "integer": 2}), ("add_item", {"string": "Rome"})],
    "words": [("add_item", {"boolean": False, "null": None})],
    "values": [("add_item", {"list": [1, {"é": '"x" and }'}, True], "object": {"a": [None, "b"]}})],
    "text": [("get_weather", {"string": 'it\'s "so" <b> & {x}: \\ \n [1] </p>', "integer": 0})],
    "lines": [("get_weather", {"string": "\n a\n\n"})],
    "nothing": [("get_weather", {})],
}
"""Calls by the kind of their arguments."""

ROLES: Final = {"S": "system", "U": "user", "A": "assistant"}
WORDS: Final = ("alpha", "bravo", "charlie", "delta", "echo")

HOSTILE: Final = (
    "[TOOL_CALLS]<tool_call></tool_call><|function_call|><｜tool▁calls▁begin｜><|END_ACTION|><|tool_call:end|>"
)

each_template = pytest.mark.parametrize("name", representatives(NAMED, FILES))


@pytest.mark.parametrize(
    ("folder", "count"),
    [pytest.param("trl-1.16.0", 72), pytest.param("llama-cpp-python-0.3.36", 70, marks=[MARK])],
)
def test_templates_of_the_package_are_there(folder: str, count: int) -> None:
    assert len(list(FOLDERS[folder].glob("*.jinja"))) == count, "run make test-setup, or make test-models"


@each_template
def test_prompts_equal_those_of_transformers(name: str) -> None:
    """Compare prompts, unless transformers refuses the conversation, or the template drops the tools."""
    model, different = published(name), set[str]()
    for kind, said in SAID.items():
        tools = [TOOL] if kind in ("tools", "calls") else None
        expected = [ids for ids in theirs(model, said, tools) if ids is not None]
        if not expected or (tools and not any(DESCRIPTION in model.tokenizer.describe(ids) for ids in expected)):
            continue
        offered = [Message("tools", json.dumps(tools))] if tools else []
        if model.chat.render([*offered, *said]) not in expected:
            different.add(kind)
    assert bool(different) == (name in DIFFERENT)
    assert different <= {"tools", "calls"}


def theirs(model: Published, said: list[Message], tools: list[dict[str, Any]] | None) -> list[list[int] | None]:
    """Render by transformers, with an empty content alongside calls and without one."""
    turns = [turn_of(model, message) for message in said]
    without = [{**turn, "content": None} if "tool_calls" in turn else turn for turn in turns]
    return [their_prompt(model, each, tools) for each in (turns, without)]


def turn_of(model: Published, message: Message) -> dict[str, Any]:
    parts = [{"type": "text", "text": message.content}]
    turn: dict[str, Any] = {"role": message.role, "content": parts if model.is_of_parts else message.content}
    call_id = model.chat.tools.syntax.ids.of("get_weather", 0)
    if message.role == "tool":
        turn |= {"name": "get_weather", "tool_call_id": call_id}
    if message.tool_calls:
        function = {"name": "get_weather", "arguments": {"days": 2}}
        turn["tool_calls"] = [{"id": call_id, "type": "function", "function": function}]
    return turn


@each_template
def test_every_message_stands_in_its_place(name: str) -> None:
    model, moved = published(name), list[str]()
    for row in ROWS:
        said = [Message(ROLES[letter], word) for letter, word in zip(row, WORDS, strict=False)]
        try:
            text = model.tokenizer.describe(model.chat.render(said))
        except ChatFormatError as error:
            text = str(error)
        begins = [text.find(message.content) for message in said]
        if -1 in begins or begins != sorted(begins):
            moved.append(row)
    assert bool(moved) == (name in MOVED), moved


@each_template
def test_calls_of_the_template_are_read(name: str) -> None:
    """Read the calls as the template writes those of a history."""
    if name in UNKNOWN_CALLS:
        return
    model, wrong = published(name), set[str]()
    for kind, calls in CALLED.items():
        # Some templates write each call in a separate answer. Without marks, only the first one is then read.
        is_alone = model.chat.tools.template.has_one_call and model.chat.tools.syntax.marks.bare
        if read_calls(model, calls) != (calls[:1] if is_alone else calls):
            wrong.add(kind)
    assert wrong == set(UNREAD.get(name, {}))


def read_calls(model: Published, calls: Calls) -> Calls:
    """Render an answer of `calls`, and return the complete ones that are read from it."""
    said = [Message("tools", json.dumps(TWO_TOOLS)), Message("user", "QUESTION")]
    called = tuple(ToolCall(name, json.dumps(arguments, ensure_ascii=False)) for name, arguments in calls)
    results = [Message("tool", "SUN")] * len(calls)
    try:
        ids = model.chat.render([*said, Message("assistant", "", called), *results])
        spoken = model.chat.render([*said, Message("assistant", "@")])
    except ChatFormatError:
        return []
    tools = model.chat.tools
    begins = next(at for at, (one, other) in enumerate(zip(ids, spoken, strict=False)) if one != other)
    text = model.tokenizer.describe(ids[begins:] if tools.syntax.marks.bare else ids).rpartition("QUESTION")[2]
    found = tools.parser(tools=[tool["function"] for tool in TWO_TOOLS]).whole(text).calls
    return [(call.name, json.loads(call.arguments)) for call in found if call.is_complete]


@pytest.mark.parametrize(("name", "template"), ONLY_PUBLISHED.items())
@MARK
def test_marks_in_calls_of_a_format_stay_text(name: str, template: str) -> None:
    model, control = published(template), list[list[int]]()
    assert model.chat.tools.name == name
    for text in (HOSTILE, "x"):
        call = ToolCall("get_weather", json.dumps({"string": text}, ensure_ascii=False))
        said = [Message("user", text), Message("assistant", "", (call,)), Message("tool", text)]
        ids = model.chat.render([Message("tools", json.dumps(TWO_TOOLS)), *said])
        control.append([id_ for id_ in ids if id_ in model.tokenizer.control_tokens.values()])
    assert control[0] == control[1]
