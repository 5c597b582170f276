"""Syntaxes with an element for each parameter, and text without quotes: the text around names and values is data."""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from models.chat.call_syntax.element_reader import ElementReader, Elements
from models.chat.call_syntax.fields import json_fields, may_be_text, properties_of
from models.chat.call_syntax.interface import NUMBERED, CallIds, PromptTexts
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
from models.chat.harmony_thinking import Channels
from models.chat.tool_call_parser import CallMarks, CallReader
from models.chat.tool_calls import ToolCall

_NAME, _IS_TEXT = "<NAME>", "<IS_TEXT>"
_QUOTED = re.compile(r"[<&\n]")
"""Characters of values that need quotes, where a syntax has them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ElementCalls:
    """A `CallSyntax`. In `before` and `before_value`, <NAME> stands for the name of the function or of the parameter.

    elements: the texts by which calls are read.
    before, after: text around the parameters of one call.
    before_value, after_value: text around the value of one parameter. <IS_TEXT> stands for whether it is a text.
    opening, closing: text around all calls.
    between: text between two calls.
    prompted: text at the beginning of `opening` with which a prompt ends.
    words, call_words, channels: as in `CallSyntax`.
    """

    marks: CallMarks
    texts: PromptTexts
    elements: Elements
    before: str
    after: str
    before_value: str
    after_value: str
    opening: str = ""
    closing: str = ""
    between: str = ""
    prompted: str = ""
    words: tuple[str, ...] = ()
    call_words: tuple[str, ...] = ()
    ids: CallIds = NUMBERED
    channels: Channels | None = None

    def json_fields(self, tools: Sequence[Mapping[str, Any]]) -> frozenset[str]:
        """See `CallSyntax`."""
        return json_fields(tools)

    def reader(self, mark: str, json_fields: frozenset[str]) -> CallReader:
        """See `CallSyntax`. A mark may be the text before the name."""
        return ElementReader(self.elements, json_fields, mark if mark == self.elements.name_start else "")

    def written(self, calls: Sequence[ToolCall], clean: Callable[[str], str]) -> str:
        """See `CallSyntax`. Arguments that are not an object are written as they are."""
        return self.opening + self.between.join(self._call(call, clean) for call in calls) + self.closing

    def _call(self, call: ToolCall, clean: Callable[[str], str]) -> str:
        fields = (
            self._begin(clean(name), is_text=isinstance(value, str)) + self._quoted(value, clean) + self.after_value
            for name, value in named_values(call).items()
        )
        return self.before.replace(_NAME, clean(call.name)) + "".join(fields) + self.after

    def _quoted(self, value: object, clean: Callable[[str], str]) -> str:
        if not isinstance(value, str):
            return clean(json_text(value))
        opening, closing = self.elements.quote if _QUOTED.search(value) else ("", "")
        return opening + clean(value) + closing

    def _begin(self, name: str, *, is_text: bool) -> str:
        return self.before_value.replace(_IS_TEXT, json.dumps(is_text)).replace(_NAME, name)

    def grammar(self, tools: Sequence[Mapping[str, Any]], spell: Callable[[str], str], most: int) -> list[str]:
        """See `CallSyntax`. The parameters come in the order of the schema. The form of a text is not enforced."""
        opening = self.opening.removeprefix(self.prompted)
        rules = start_rules(
            opening=opening,
            between=self.between,
            closing=self.closing,
            spell=spell,
            most=most,
            count=len(tools),
            channels=self.channels,
        )
        # A line end before the end of a value is a part of the text.
        rules += text_rule(self.after_value.removeprefix("\n"), spell, self.elements.quote)
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
            rules.append(f"{rule}: {self._field_rule(tool, spell, name, field)}")
        parts.append(spell(self.after))
        return [f"call_{index}: {' '.join(parts)}", comment(tool), *rules]

    def _field_rule(self, tool: Mapping[str, Any], spell: Callable[[str], str], name: str, field: object) -> str:
        text, other = (spell(self._begin(name, is_text=is_text)) for is_text in (True, False))
        end = spell(self.after_value)
        if (choice := choice_of_texts(field)) is not None:
            return f"{text} {choice} {end}"
        value = f"{other} {json_rule(with_definitions(field, tool['parameters']), tool)} {end}"
        if not may_be_text(field, tool["parameters"]):
            return value
        is_only_text = isinstance(field, Mapping) and field.get("type") == "string"
        return f"{text} text" if text == other or is_only_text else f"{text} text | {value}"
