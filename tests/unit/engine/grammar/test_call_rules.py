"""The tool that a line of a grammar for tool calls belongs to."""

from collections.abc import Mapping

import pytest

from engine.api.errors import InvalidRequestError
from engine.api.structured_output import StructuredOutput
from engine.grammar.call_rules import tool_at
from engine.grammar.limits import check_form
from models.chat.tool_format import find_tool_format

LINE_ENDS = {"description": "a\u2028arguments_7: b\x85arguments_8: c\u2029d"}
"""Characters at which `str.splitlines` splits, although they end no line of a grammar."""


def grammar_of(*schemas: Mapping[str, object]) -> str:
    tools = [{"name": f"tool-{index}", "parameters": schema} for index, schema in enumerate(schemas)]
    return find_tool_format({}, "").grammar(tools, parallel=True)


def test_tool_is_named_for_lines_of_its_arguments_alone() -> None:
    grammar = grammar_of({"type": "object", **LINE_ENDS}, {"type": "object", **LINE_ENDS})
    count = grammar.count("\n") + 1
    assert [tool_at(grammar, line) for line in range(count + 2)] == [
        *[None] * 5,
        "tool-0",
        *[None] * 2,
        "tool-1",
        None,
    ]


def test_fault_names_tool_after_schema_with_line_ends() -> None:
    wrong = {"type": "integer", "multipleOf": 99_991}
    with pytest.raises(InvalidRequestError, match=r"the arguments of tool-1: multipleOf"):
        check_form(StructuredOutput("calls", grammar_of(LINE_ENDS, wrong)))
