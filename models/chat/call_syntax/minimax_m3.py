"""Syntax of MiniMax M3: an element for each value, also within objects and lists."""

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from models.chat.call_syntax.fields import ITEM, container_of, is_list, may_be_text, nested_fields, properties_of
from models.chat.call_syntax.interface import NUMBERED, PromptTexts, instructions
from models.chat.call_syntax.nested_reader import CALL_END, MARK, NAME_START, NestedReader
from models.chat.call_syntax.rules import (
    choice_of_texts,
    comment,
    json_rule,
    json_text,
    named_values,
    start_rules,
    text_rule,
    with_definitions,
)
from models.chat.tool_call_parser import CallMarks, CallReader
from models.chat.tool_calls import ToolCall

START, END = f"{MARK}<tool_call>", f"{MARK}</tool_call>"
_MAX_DEPTH: Final = 4
_MOST_VALUES: Final = 200
"""Depth and number up to which a grammar has elements for the values of a tool. Definitions may refer to each other."""


class MinimaxM3:
    """A `CallSyntax`."""

    marks = CallMarks(starts=(NAME_START,), ends=(END,), frames=(START,))
    texts = PromptTexts(
        instructions(
            f'To call some, answer with {START}\n{NAME_START}NAME">{MARK}<PARAMETER>value{MARK}</PARAMETER>{CALL_END}\n'
            f"{END}\nThe keys of objects are elements too. An item of a list is {MARK}<{ITEM}>value{MARK}</{ITEM}>."
        ),
        "tool",
        "{result}",
    )
    words = (MARK,)
    ids = NUMBERED
    call_words = (START,)
    channels = None

    def json_fields(self, tools: Sequence[Mapping[str, Any]]) -> frozenset[str]:
        """See `CallSyntax`."""
        return nested_fields(tools)

    def reader(self, mark: str, json_fields: frozenset[str]) -> CallReader:
        """See `CallSyntax`."""
        del mark
        return NestedReader(json_fields)

    def written(self, calls: Sequence[ToolCall], clean: Callable[[str], str]) -> str:
        """See `CallSyntax`. Arguments that are not an object are written as they are."""
        return f"{START}\n{''.join(self._call(call, clean) for call in calls)}{END}"

    def _call(self, call: ToolCall, clean: Callable[[str], str]) -> str:
        return f'{NAME_START}{clean(call.name)}">{_elements(named_values(call), clean)}{CALL_END}\n'

    def grammar(self, tools: Sequence[Mapping[str, Any]], spell: Callable[[str], str], most: int) -> list[str]:
        """See `CallSyntax`. The parameters come in the order of the schema. The form of a text is not enforced."""
        rules = start_rules(opening=f"{START}\n", between="", closing=END, spell=spell, most=most, count=len(tools))
        rules += text_rule(MARK, spell)
        for index, tool in enumerate(tools):
            begin, end = spell(f'{NAME_START}{tool["name"]}">'), spell(f"{CALL_END}\n")
            fields = _Values(tool, spell).fields(tool.get("parameters") or {})
            names = [f"arguments_{index}_{number}" for number in range(len(fields))]
            parts = [name if is_required else f"{name}?" for name, (_, is_required) in zip(names, fields, strict=True)]
            rules += [f"call_{index}: {' '.join([begin, *parts, end])}", comment(tool)]
            rules += [f"{name}: {rule}" for name, (rule, _) in zip(names, fields, strict=True)]
        return rules


def _elements(values: Mapping[str, Any], clean: Callable[[str], str]) -> str:
    return "".join(
        f"{MARK}<{clean(name)}>{_written(value, clean)}{MARK}</{clean(name)}>" for name, value in values.items()
    )


def _written(value: object, clean: Callable[[str], str]) -> str:
    match value:
        case dict():
            return _elements(value, clean)
        case list():
            return "".join(f"{MARK}<{ITEM}>{_written(each, clean)}{MARK}</{ITEM}>" for each in value)
        case str():
            return clean(value)
    return json_text(value)


class _Values:
    """Rules of the values of one tool."""

    def __init__(self, tool: Mapping[str, Any], spell: Callable[[str], str]) -> None:
        self._tool = tool
        self._schema: Mapping[str, Any] = tool.get("parameters") or {}
        self._spell = spell
        self._count = 0

    def fields(self, schema: Mapping[str, Any], depth: int = 0) -> list[tuple[str, bool]]:
        """Return the rules of an object's fields, each with whether it is required."""
        required = schema.get("required") or ()
        fields = properties_of(schema).items()
        return [(self._element(name, field, depth), name in required) for name, field in fields]

    def _element(self, name: str, schema: object, depth: int) -> str:
        begin, end = self._spell(f"{MARK}<{name}>"), self._spell(f"{MARK}</{name}>")
        # The rule of a text ends with the mark.
        text = f"text {json.dumps(f'</{name}>')}"
        if (choice := choice_of_texts(schema)) is not None:
            return f"{begin} {choice} {end}"
        if may_be_text(schema, self._schema):
            return f"{begin} {text}"
        whole = container_of(schema, self._schema)
        self._count += 1
        if ("items" in whole or properties_of(whole)) and depth < _MAX_DEPTH and self._count < _MOST_VALUES:
            return f"{begin} {self._container(whole, depth)} {end}"
        # The reader also takes JSON, which any other object or list is.
        kind = "array" if is_list(whole) else "object" if properties_of(whole) else whole.get("type")
        other = {"type": kind} if kind in ("array", "object") else with_definitions(schema, self._schema)
        return f"{begin} {json_rule(other, self._tool)} {end}"

    def _container(self, schema: Mapping[str, Any], depth: int) -> str:
        """Return the rule of an object's or a list's elements."""
        if "items" in schema:
            item = self._element(ITEM, schema["items"], depth + 1)
            return f"({item}){{{schema.get('minItems') or 0},{schema.get('maxItems', '')}}}"
        parts = (f"({rule}){'' if is_required else '?'}" for rule, is_required in self.fields(schema, depth + 1))
        return " ".join(parts)


MINIMAX_M3 = MinimaxM3()
