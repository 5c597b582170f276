"""Syntaxes of calls like those of Python's functions: a list in Llama 4, Gemma 3 and LFM2, lines in OLMo 3."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from models.chat.call_reader import JsonCallReader
from models.chat.call_syntax.interface import NUMBERED, CallIds, PromptTexts
from models.chat.call_syntax.json_or_other_reader import JsonOrOtherReader
from models.chat.call_syntax.llama3 import LLAMA3, PARAMETERS
from models.chat.call_syntax.python_reader import PythonReader
from models.chat.call_syntax.rules import field_rules, json_rule, json_text, named_values, start_rules, with_definitions
from models.chat.harmony_thinking import Channels
from models.chat.tool_call_parser import CallMarks, CallReader
from models.chat.tool_calls import ToolCall

LIST_START, LIST_END = "<|python_start|>", "<|python_end|>"
LFM2_START, LFM2_END = "<|tool_call_start|>", "<|tool_call_end|>"
LFM2_TOOLS = "List of tools: "
LINES_START, LINES_END = "<function_calls>", "</function_calls>"

INSTRUCTIONS = """# Tools

You may call functions. Their signatures:
{tools}

To call some, answer only with a list of calls as in Python: [name(argument="text", other=2), another()]"""

_ON_LINES = f"""# Tools

You may call functions. Their signatures:
<functions>{{tools}}</functions>

To call some, answer with one call on each line, as in Python:
{LINES_START}
name(argument="text", other=2)
{LINES_END}"""

_RESULT = "<tool_response>\n{result}\n</tool_response>"
_BOOL = '("True" | "False")'
_WORDS: Mapping[bool | None, str] = {None: "None", True: "True", False: "False"}


@dataclass(frozen=True, slots=True, kw_only=True)
class PythonCalls:
    """A `CallSyntax`.

    opening, between, closing: texts around and between calls.
    """

    marks: CallMarks
    texts: PromptTexts
    opening: str
    between: str
    closing: str
    words: tuple[str, ...]
    ids: CallIds = NUMBERED
    call_words: tuple[str, ...] = ()
    channels: Channels | None = None

    def json_fields(self, tools: Sequence[Mapping[str, Any]]) -> frozenset[str]:
        """See `CallSyntax`. Texts have quotes."""
        del tools
        return frozenset()

    def reader(self, mark: str, json_fields: frozenset[str]) -> CallReader:
        """See `CallSyntax`. Texts have quotes."""
        del json_fields
        return _reader_after(mark)

    def written(self, calls: Sequence[ToolCall], clean: Callable[[str], str]) -> str:
        """See `CallSyntax`."""
        return self.opening + self.between.join(_written(call, clean) for call in calls) + self.closing

    def grammar(self, tools: Sequence[Mapping[str, Any]], spell: Callable[[str], str], most: int) -> list[str]:
        """See `CallSyntax`. Required arguments come first."""
        rules = start_rules(
            opening=self.opening, between=self.between, closing=self.closing, spell=spell, most=most, count=len(tools)
        )
        for index, tool in enumerate(tools):
            rule = partial(_field_rule, tool)
            fields, added = field_rules(index, tool, rule, json.dumps(", "))
            rules += [f"call_{index}: {json.dumps(tool['name'] + '(')} {fields} {json.dumps(')')}", *added]
        return rules


def _reader_after(mark: str) -> CallReader:
    """Return a reader of a list of calls, or of the JSON that some of these models write instead."""
    return JsonOrOtherReader(JsonCallReader(PARAMETERS, is_bare=not mark), PythonReader(), "{")


def _field_rule(tool: Mapping[str, Any], name: str, field: object) -> str:
    """Return the rule of one argument. Values are JSON, except for those that differ in Python."""
    is_bool = isinstance(field, Mapping) and field.get("type") == "boolean"
    whole = with_definitions(field, tool["parameters"])
    return f"{json.dumps(f'{name}=')} {_BOOL if is_bool else json_rule(whole, tool)}"


def _written(call: ToolCall, clean: Callable[[str], str]) -> str:
    """Write one call. Arguments that are not an object become one text."""
    fields = ", ".join(f"{clean(name)}={clean(python_text(value))}" for name, value in named_values(call).items())
    return f"{clean(call.name)}({fields})"


def python_text(value: object) -> str:
    """Write a JSON value as Python does."""
    match value:
        case str():
            return json_text(value)
        case None | bool():
            return _WORDS[value]
        case list():
            return f"[{', '.join(map(python_text, value))}]"
        case dict():
            return f"{{{', '.join(f'{json_text(key)}: {python_text(each)}' for key, each in value.items())}}}"
    return json_text(value)


PYTHONIC = PythonCalls(
    marks=CallMarks(starts=(LIST_START,), ends=(LIST_END,), bare=("[", "{"), separator=";"),
    texts=PromptTexts(INSTRUCTIONS, "user", _RESULT),
    opening="[",
    between=", ",
    closing="]",
    words=(LIST_START, LIST_END),
)
LFM2 = replace(
    PYTHONIC,
    marks=CallMarks(starts=(LFM2_START,), ends=(LFM2_END,)),
    texts=PromptTexts(LFM2_TOOLS + "{tools}", "tool", "{result}", as_list=True),
    opening=f"{LFM2_START}[",
    closing=f"]{LFM2_END}",
    words=(LFM2_START, LFM2_END),
    call_words=(LFM2_START, "["),
)
OLMO3 = PythonCalls(
    marks=CallMarks(starts=(LINES_START,), ends=(LINES_END,)),
    texts=PromptTexts(_ON_LINES, "environment", "{result}", on_own_line=True),
    opening=f"{LINES_START}\n",
    between="\n",
    closing=f"\n{LINES_END}",
    words=(LINES_START, LINES_END),
)
LLAMA4 = replace(
    LLAMA3,
    marks=PYTHONIC.marks,
    words=PYTHONIC.words,
    make_reader=_reader_after,
)
