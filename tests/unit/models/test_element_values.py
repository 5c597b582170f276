"""Values of elements, which have no quotes: the schemas of the tools tell texts from other values."""

import json
import time
from typing import Any

import pytest

from models.chat.call_syntax.fields import json_fields
from models.chat.call_syntax.registry import syntax_named
from models.chat.tool_calls import Parsed, ToolCall, parsed_of
from models.chat.tool_format import ToolFormat, make_parser

FIELDS = frozenset(["get_weather.days"])


def format_of(name: str) -> ToolFormat:
    return ToolFormat(name, syntax_named(name), {})


def read(text: str) -> Parsed:
    parser = make_parser(syntax_named("qwen3-coder"), parallel=True, json_fields=FIELDS)
    return parsed_of([*parser.push(text), *parser.finish(None)])


@pytest.mark.parametrize(
    ("value", "arguments"),
    [
        ("\n12\n", '{"days": 12}'),
        ("12", '{"days": 12}'),
        ("\nTrue\n", '{"days": true}'),
        ("\n[None, {'a': 'x'}]\n", '{"days": [null, {"a": "x"}]}'),
        ('\n[1, {"a": "</x>"}]\n', '{"days": [1, {"a": "</x>"}]}'),
        ("\nmany\n", '{"days": "many"}'),
        ("\n\n", '{"days": ""}'),
    ],
)
def test_values_without_quotes_are_json_by_their_schema(value: str, arguments: str) -> None:
    call = f"<function=get_weather>\n<parameter=days>{value}</parameter>\n</function>"
    assert read(call).calls == (ToolCall("get_weather", arguments),)
    said = json.dumps({"days": value.removeprefix("\n").removesuffix("\n")})
    parser = make_parser(syntax_named("qwen3-coder"), parallel=True)
    assert parser.whole(call).calls == (ToolCall("get_weather", said),)


def test_text_with_line_ends_and_marks_is_one_value() -> None:
    text = 'a\n\n<b> </parameters> "c"\\ </function>\n'
    call = ToolCall("write", json.dumps({"text": text, "path": ""}))
    how = format_of("qwen3-coder")
    assert how.parser().whole(how.calls([call])).calls == (call,)


@pytest.mark.parametrize(
    "text", ["<function=>x", "<function f>", "<function=a\nb>", "<tool_call>\n<functions", "<function="]
)
def test_broken_element_is_text(text: str) -> None:
    assert read(text + " and so on").calls == ()
    assert read(text + " and so on\n").text == text + " and so on\n"


@pytest.mark.parametrize(
    ("schema", "is_text"),
    [
        ({}, True),
        ({"type": "string"}, True),
        ({"type": ["integer", "string"]}, True),
        ({"type": "integer"}, False),
        ({"enum": ["a", 1]}, True),
        ({"enum": [1, None]}, False),
        ({"const": "x"}, True),
        ({"anyOf": [{"type": "integer"}, {"type": "null"}]}, False),
        ({"anyOf": [{"type": "string"}, {"type": "null"}]}, True),
        ({"$ref": "#/$defs/count"}, False),
        ({"$ref": "#/$defs/none"}, True),
        ({"$ref": "#"}, True),
        ({"properties": {}}, False),
        (True, True),
    ],
)
def test_schema_tells_text_from_json(schema: object, is_text: bool) -> None:
    parameters = {"properties": {"a": schema}, "$defs": {"count": {"type": "integer"}}}
    assert json_fields([{"name": "f", "parameters": parameters}, {"name": "g"}]) == (set() if is_text else {"f.a"})


def test_values_within_values_have_the_types_of_their_schema() -> None:
    place = {"type": "object", "properties": {"zip": {"type": "string"}, "days": {"type": "integer"}, "any": {}}}
    fields = {
        "at": {"type": "array", "items": {"$ref": "#/$defs/place"}},
        "one": {"anyOf": [{"$ref": "#/$defs/place"}, {"type": "null"}]},
        "tags": {"type": "array", "items": {"type": "string"}},
        "none": {"type": "object"},
    }
    tool = {"name": "f", "parameters": {"properties": fields, "$defs": {"place": place}}}
    value = {"zip": "007", "days": 7, "any": 5}
    call = ToolCall("f", json.dumps({"at": [value, value], "one": value, "tags": [], "none": {}}))
    how = format_of("minimax-m3")
    assert how.parser(tools=[tool]).whole(how.calls([call])).calls == (call,)


def test_definitions_that_refer_to_each_other_take_no_time() -> None:
    nodes: dict[str, Any] = {
        f"n{n}": {"properties": {f"p{k}": {"$ref": f"#/$defs/n{n + 1}"} for k in range(9)}} for n in range(30)
    }
    nodes["again"] = {"anyOf": [{"$ref": "#/$defs/again"}] * 9}
    fields = {"a": {"$ref": "#/$defs/n0"}, "b": {"$ref": "#/$defs/again"}}
    tool = {"name": "f", "parameters": {"properties": fields, "$defs": nodes}}
    how = format_of("minimax-m3")
    began = time.thread_time()
    assert len(how.syntax.json_fields([tool])) < 10_000
    assert len(how.grammar([tool], parallel=True)) < 1_000_000
    assert time.thread_time() - began < 4.0
