"""Syntaxes of GLM 4.5 to 4.7: an element for each key and each value, and text without quotes."""

import json
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from models.call_syntax.element_reader import GLM, ElementReader
from models.call_syntax.fields import may_be_text
from models.call_syntax.interface import NUMBERED, PromptTexts
from models.call_syntax.rules import (
    any_call,
    field_rules,
    json_rule,
    json_text,
    repeated,
    text_rule,
    with_definitions,
)
from models.tool_call_parser import CallMarks, CallReader
from models.tool_calls import ToolCall, read_object

START, END = "<tool_call>", "</tool_call>"
KEY, END_OF_KEY = "<arg_key>", "</arg_key>"
VALUE, END_OF_VALUE = "<arg_value>", "</arg_value>"

INSTRUCTIONS = """# Tools

You have access to these functions:
<tools>
{tools}
</tools>

To call one, answer with
<tool_call>NAME
<arg_key>PARAMETER</arg_key>
<arg_value>value</arg_value>
</tool_call>"""


class GlmCalls:
    """A `CallSyntax`."""

    marks = CallMarks((START,))
    texts = PromptTexts(INSTRUCTIONS, "user", "<tool_response>\n{result}\n</tool_response>", on_own_line=True)
    words = (START, END, KEY, END_OF_KEY, VALUE, END_OF_VALUE)
    ids = NUMBERED
    call_words: tuple[str, ...] = ()
    has_bare_text = True

    def __init__(self, line_end: str) -> None:
        """Create the syntax. line_end: text between the parts of a call."""
        self.line_end = line_end

    def reader(self, mark: str, json_fields: frozenset[str]) -> CallReader:
        """See `CallSyntax`."""
        del mark
        return ElementReader(json_fields, elements=GLM)

    def written(self, calls: Sequence[ToolCall], clean: Callable[[str], str]) -> str:
        """See `CallSyntax`. Arguments that are not an object are written as they are."""
        return self.line_end.join(self._call(call, clean) for call in calls)

    def grammar(self, tools: Sequence[Mapping[str, Any]], spell: Callable[[str], str], most: int) -> list[str]:
        """See `CallSyntax`. Required arguments come first. The form of a text is not enforced."""
        rules = [f"start: {repeated('call', spell(self.line_end), most)}", any_call(len(tools))]
        rules += text_rule(END_OF_VALUE + self.line_end, spell)
        for index, tool in enumerate(tools):
            fields, added = field_rules(index, tool, partial(self._field_rule, tool, spell), "")
            begin = spell(f"{START}{tool['name']}{self.line_end}")
            rules += [f"call_{index}: {begin} {fields} {spell(END)}", *added]
        return rules

    def _call(self, call: ToolCall, clean: Callable[[str], str]) -> str:
        values = read_object(call.arguments or "{}")
        if values is None:
            values = {"arguments": call.arguments}
        texts = {name: value if isinstance(value, str) else json_text(value) for name, value in values.items()}
        parts = [f"{START}{clean(call.name)}"]
        for name, text in texts.items():
            parts += [f"{KEY}{clean(name)}{END_OF_KEY}", f"{VALUE}{clean(text)}{END_OF_VALUE}"]
        return self.line_end.join([*parts, END])

    def _field_rule(self, tool: Mapping[str, Any], spell: Callable[[str], str], name: str, field: object) -> str:
        begin = spell(f"{KEY}{name}{END_OF_KEY}{self.line_end}{VALUE}")
        end = spell(END_OF_VALUE + self.line_end)
        choices = field.get("enum") if isinstance(field, Mapping) else None
        if isinstance(choices, list) and choices and all(isinstance(choice, str) for choice in choices):
            return f"{begin} ({' | '.join(map(json.dumps, choices))}) {end}"
        schema = tool["parameters"]
        if may_be_text(field, schema):
            return f"{begin} text"
        return f"{begin} {json_rule(with_definitions(field, schema), tool)} {end}"


GLM45 = GlmCalls("\n")
GLM47 = GlmCalls("")
