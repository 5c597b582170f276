"""Syntax of Qwen3-Coder and Qwen3.5: an element for each parameter, and text without quotes."""

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from models.call_syntax.element_reader import END_OF_PARAMETER, FUNCTION, ElementReader
from models.call_syntax.fields import may_be_text, properties_of
from models.call_syntax.interface import NUMBERED, PromptTexts
from models.call_syntax.rules import any_call, comment, json_rule, json_text, repeated, text_rule, with_definitions
from models.tool_call_parser import CallMarks, CallReader
from models.tool_calls import ToolCall, read_object

START, END = "<tool_call>", "</tool_call>"

INSTRUCTIONS = """# Tools

You have access to these functions:
<tools>
{tools}
</tools>

To call one, answer with
<tool_call>
<function=NAME>
<parameter=PARAMETER>
value
</parameter>
</function>
</tool_call>"""


class Qwen3Coder:
    """A `CallSyntax`. Models sometimes leave out the first mark, so the second one begins a call too."""

    marks = CallMarks((START, FUNCTION), (END,), second=(FUNCTION,))
    texts = PromptTexts(INSTRUCTIONS, "user", "<tool_response>\n{result}\n</tool_response>", on_own_line=True)
    words = (START, END)
    ids = NUMBERED
    call_words = (START, FUNCTION)
    has_bare_text = True

    def reader(self, mark: str, json_fields: frozenset[str]) -> CallReader:
        """See `CallSyntax`."""
        return ElementReader(json_fields, mark if mark == FUNCTION else "")

    def written(self, calls: Sequence[ToolCall], clean: Callable[[str], str]) -> str:
        """See `CallSyntax`. Arguments that are not an object are written as they are."""
        return "\n".join(self._call(call, clean) for call in calls)

    def _call(self, call: ToolCall, clean: Callable[[str], str]) -> str:
        arguments = read_object(call.arguments or "{}")
        values = {"arguments": call.arguments} if arguments is None else arguments
        fields = "".join(
            f"<parameter={clean(name)}>\n{clean(value if isinstance(value, str) else json_text(value))}\n</parameter>\n"
            for name, value in values.items()
        )
        return f"{START}\n<function={clean(call.name)}>\n{fields}</function>\n{END}"

    def grammar(self, tools: Sequence[Mapping[str, Any]], spell: Callable[[str], str], most: int) -> list[str]:
        """See `CallSyntax`. The parameters come in the order of the schema. The form of a text is not enforced."""
        rules = [f"start: {repeated('call', spell(chr(10)), most)}", any_call(len(tools))]
        rules += text_rule(f"{END_OF_PARAMETER}\n", spell)
        for index, tool in enumerate(tools):
            rules += self._rules(index, tool, spell)
        return rules

    def _rules(self, index: int, tool: Mapping[str, Any], spell: Callable[[str], str]) -> list[str]:
        schema = tool.get("parameters") or {}
        required = schema.get("required") or ()
        parts, rules = [spell(f"{START}\n<function={tool['name']}>\n")], list[str]()
        for number, (name, field) in enumerate(properties_of(schema).items()):
            rule = f"arguments_{index}_{number}"
            parts.append(rule if name in required else f"{rule}?")
            rules.append(f"{rule}: {json.dumps(f'<parameter={name}>' + chr(10))} {self._value(field, schema, tool)}")
        parts.append(spell(f"</function>\n{END}"))
        return [f"call_{index}: {' '.join(parts)}", comment(tool), *rules]

    def _value(self, field: Any, schema: Mapping[str, Any], tool: Mapping[str, Any]) -> str:
        end = json.dumps("\n</parameter>\n")
        choices = field.get("enum") if isinstance(field, Mapping) else None
        if isinstance(choices, list) and choices and all(isinstance(choice, str) for choice in choices):
            return f"({' | '.join(map(json.dumps, choices))}) {end}"
        if may_be_text(field, schema):
            return "text"
        return f"{json_rule(with_definitions(field, schema), tool)} {end}"


QWEN3_CODER = Qwen3Coder()
