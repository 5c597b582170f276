"""Syntaxes with an element for each parameter, and text without quotes: the text around names and values is data."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from models.call_syntax.element_reader import ElementReader, Elements
from models.call_syntax.fields import may_be_text, properties_of
from models.call_syntax.interface import NUMBERED, CallIds, PromptTexts
from models.call_syntax.rules import any_call, comment, json_rule, json_text, repeated, text_rule, with_definitions
from models.tool_call_parser import CallMarks, CallReader
from models.tool_calls import ToolCall, read_object

_NAME = "<NAME>"


@dataclass(frozen=True, slots=True)
class ElementCalls:
    """A `CallSyntax`. In `before` and `before_value`, <NAME> stands for the name of the function or of the parameter.

    elements: the texts by which calls are read.
    before, after: text around the parameters of one call.
    before_value, after_value: text around the value of one parameter.
    between: text between two calls.
    words, call_words: as in `CallSyntax`.
    """

    marks: CallMarks
    texts: PromptTexts
    elements: Elements
    before: str
    after: str
    before_value: str
    after_value: str
    between: str
    words: tuple[str, ...]
    call_words: tuple[str, ...] = ()
    ids: CallIds = NUMBERED
    has_bare_text: bool = True

    def reader(self, mark: str, json_fields: frozenset[str]) -> CallReader:
        """See `CallSyntax`. A mark may be the text before the name."""
        return ElementReader(json_fields, mark if mark == self.elements.name_start else "", self.elements)

    def written(self, calls: Sequence[ToolCall], clean: Callable[[str], str]) -> str:
        """See `CallSyntax`. Arguments that are not an object are written as they are."""
        return self.between.join(self._call(call, clean) for call in calls)

    def _call(self, call: ToolCall, clean: Callable[[str], str]) -> str:
        values = read_object(call.arguments or "{}")
        if values is None:
            values = {"arguments": call.arguments}
        fields = (
            self.before_value.replace(_NAME, clean(name))
            + clean(value if isinstance(value, str) else json_text(value))
            + self.after_value
            for name, value in values.items()
        )
        return self.before.replace(_NAME, clean(call.name)) + "".join(fields) + self.after

    def grammar(self, tools: Sequence[Mapping[str, Any]], spell: Callable[[str], str], most: int) -> list[str]:
        """See `CallSyntax`. The parameters come in the order of the schema. The form of a text is not enforced."""
        rules = [f"start: {repeated('call', spell(self.between), most)}", any_call(len(tools))]
        # A line end before the end of a value is a part of the text.
        rules += text_rule(self.after_value.removeprefix("\n"), spell)
        for index, tool in enumerate(tools):
            rules += self._rules(index, tool, spell)
        return rules

    def _rules(self, index: int, tool: Mapping[str, Any], spell: Callable[[str], str]) -> list[str]:
        schema = tool.get("parameters") or {}
        required = schema.get("required") or ()
        parts, rules = [spell(self.before.replace(_NAME, tool["name"]))], list[str]()
        for number, (name, field) in enumerate(properties_of(schema).items()):
            rule = f"arguments_{index}_{number}"
            parts.append(rule if name in required else f"{rule}?")
            begin = spell(self.before_value.replace(_NAME, name))
            rules.append(f"{rule}: {begin} {self._value(field, schema, tool, spell)}")
        parts.append(spell(self.after))
        return [f"call_{index}: {' '.join(parts)}", comment(tool), *rules]

    def _value(
        self, field: Any, schema: Mapping[str, Any], tool: Mapping[str, Any], spell: Callable[[str], str]
    ) -> str:
        choices = field.get("enum") if isinstance(field, Mapping) else None
        if isinstance(choices, list) and choices and all(isinstance(choice, str) for choice in choices):
            return f"({' | '.join(map(json.dumps, choices))}) {spell(self.after_value)}"
        if may_be_text(field, schema):
            return "text"
        return f"{json_rule(with_definitions(field, schema), tool)} {spell(self.after_value)}"
