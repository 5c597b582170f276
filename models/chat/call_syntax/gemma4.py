"""Syntax of Gemma 4: an object without quotes around its keys, and with a special mark around texts."""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from models.chat.call_syntax.fields import properties_of
from models.chat.call_syntax.headed_reader import CallHeader, HeadedReader, beginnings, literal
from models.chat.call_syntax.interface import NUMBERED, PromptTexts
from models.chat.call_syntax.literal_scanner import LiteralScanner, Notation
from models.chat.call_syntax.rules import field_rules, json_rule, json_text, named_values, start_rules, text_rule
from models.chat.tool_call_parser import CallMarks, CallReader
from models.chat.tool_calls import ToolCall

START, END = "<|tool_call>", "<tool_call|>"
QUOTE = '<|"|>'

INSTRUCTIONS = f"""# Tools

You may call functions. Their signatures:
{{tools}}

To call some, answer with
{START}call:<function-name>{{{{<argument>:{QUOTE}<text>{QUOTE},<argument>:<number>}}}}{END}"""

_HEAD = CallHeader(
    re.compile(r"\s*call\s*:\s*([^\s{}:]+)\s*(?=\{)"),
    re.compile(beginnings(r"\s*", *literal("call"), r"\s*", ":", r"\s*", r"[^\s{}:]+", r"\s*")),
)
_NOTATION = Notation(('"',), QUOTE, has_bare_keys=True)
_BARE_KEY = re.compile(r"[\w.$\-]+")

_VALUE_RULES = (
    'value: quoted | number | "true" | "false" | "null" | list | object',
    'list: "[" (value ("," value)*)? "]"',
    'object: "{" (field ("," field)*)? "}"',
    'field: /[a-zA-Z_][a-zA-Z0-9_]*/ ":" value',
    r"number: /-?(0|[1-9][0-9]{0,15})(\.[0-9]{1,15})?/",
)


_MAX_DEPTH = 8


class Gemma4:
    """A `CallSyntax`."""

    marks = CallMarks(starts=(START,), ends=(END,))
    texts = PromptTexts(INSTRUCTIONS, "tool", "{result}")
    words = (START, END, QUOTE)
    ids = NUMBERED
    call_words = (START, "call:")
    channels = None

    def json_fields(self, tools: Sequence[Mapping[str, Any]]) -> frozenset[str]:
        """See `CallSyntax`. Texts have quotes."""
        del tools
        return frozenset()

    def reader(self, mark: str, json_fields: frozenset[str]) -> CallReader:
        """See `CallSyntax`. Texts have quotes."""
        del mark, json_fields
        return HeadedReader(_HEAD, LiteralScanner(_NOTATION))

    def written(self, calls: Sequence[ToolCall], clean: Callable[[str], str]) -> str:
        """See `CallSyntax`. Arguments that are not an object become one text."""
        return "".join(f"{START}call:{clean(call.name)}{_literal(named_values(call), clean)}{END}" for call in calls)

    def grammar(self, tools: Sequence[Mapping[str, Any]], spell: Callable[[str], str], most: int) -> list[str]:
        """See `CallSyntax`. Required arguments come first."""
        rules = start_rules(opening="", between="", closing="", spell=spell, most=most, count=len(tools))
        rules += [f"quoted: {spell(QUOTE)} text", *text_rule(QUOTE, spell), *_VALUE_RULES]
        for index, tool in enumerate(tools):
            fields, added = field_rules(index, tool, _Values(tool, spell).argument, '","')
            begin = spell(f"{START}call:{tool['name']}{{")
            rules += [f"call_{index}: {begin} {fields} {spell('}' + END)}", *added]
        return rules


def _literal(value: object, clean: Callable[[str], str]) -> str:
    """Write a JSON value in Gemma's notation."""
    match value:
        case str():
            return f"{QUOTE}{clean(value)}{QUOTE}"
        case list():
            return f"[{','.join(_literal(each, clean) for each in value)}]"
        case dict():
            return f"{{{','.join(f'{_key(key, clean)}:{_literal(each, clean)}' for key, each in value.items())}}}"
    return json_text(value)


def _key(key: str, clean: Callable[[str], str]) -> str:
    return key if _BARE_KEY.fullmatch(key) is not None else f"{QUOTE}{clean(key)}{QUOTE}"


class _Values:
    """Rules of values by their schemas. Schemas that this notation cannot follow allow any value."""

    def __init__(self, tool: Mapping[str, Any], spell: Callable[[str], str]) -> None:
        self._tool = tool
        self._spell = spell

    def argument(self, name: str, field: object) -> str:
        """Return the rule of one argument."""
        return f"{json.dumps(f'{name}:')} {self._value(field)}"

    def _value(self, schema: object, depth: int = 0) -> str:
        if not isinstance(schema, Mapping) or depth > _MAX_DEPTH:
            return "value"
        choices = schema.get("enum", [schema["const"]] if "const" in schema else None)
        if isinstance(choices, list) and choices:
            return f"({' | '.join(self._spell(_literal(choice, str)) for choice in choices)})"
        match schema.get("type"):
            case "integer" | "number" | "boolean" | "null":
                return json_rule(dict(schema), self._tool)
            case "string":
                return "quoted"
            case "array":
                return self._list(schema, depth)
            case "object":
                return self._object(schema, depth)
        return "value"

    def _list(self, schema: Mapping[str, Any], depth: int) -> str:
        item, least, most = self._value(schema.get("items"), depth + 1), schema.get("minItems"), schema.get("maxItems")
        if most == 0:
            return '"[]"'
        end = "" if most is None else most - 1
        items = f'{item} ("," {item}){{{max((least or 0) - 1, 0)},{end}}}'
        return f'"[" {items} "]"' if least else f'"[" ({items})? "]"'

    def _object(self, schema: Mapping[str, Any], depth: int) -> str:
        """Return the rule of an object. Required fields come first, and at least one is needed to begin."""
        required, fields = schema.get("required") or (), properties_of(schema)
        if not any(name in required for name in fields):
            return "object"
        parts = {
            name: self._spell(f"{_key(name, str)}:") + f" {self._value(fields[name], depth + 1)}" for name in fields
        }
        first = ' "," '.join(part for name, part in parts.items() if name in required)
        others = (f'("," {part})?' for name, part in parts.items() if name not in required)
        return " ".join(['"{"', first, *others, '"}"'])


GEMMA4 = Gemma4()
