"""Rules that the grammars of several syntaxes share.

The rules `arguments_N` of a tool follow a comment with the tool's name, by which `engine.grammar.call_rules` finds it.
"""

import json
import re
from collections.abc import Callable, Mapping
from typing import Any, Final

from models.chat.call_syntax.fields import properties_of
from models.chat.harmony_thinking import Channels
from models.chat.tool_calls import ToolCall, read_object

NO_ARGUMENTS = {"type": "object", "properties": {}, "additionalProperties": False}

_CONTROL: Final = "<["
"""Beginning of a control token in a grammar."""

_ANY: Final = r"/(.|\n)*/"

_SPACED = {"item_separator": ", ", "key_separator": ": "}
"""White space as `json.dumps` writes it, which most templates use. Without these options there is none."""


def comment(tool: Mapping[str, Any]) -> str:
    """Return the line above the rules of the tool's arguments."""
    return f"// {json.dumps(tool['name'])}"


def json_rule(schema: Mapping[str, Any], tool: Mapping[str, Any], *, spaced: bool = True) -> str:
    """Return the right side of a rule for a value of `schema`, which belongs to `tool`.

    spaced: write a space after commas and colons.
    """
    # Without `strict`, keywords that cannot be enforced are annotations, as in other servers.
    options: dict[str, Any] = {"whitespace_flexible": False, "lenient": tool.get("strict") is not True}
    options |= _SPACED if spaced else {}
    return f"%json {json_text({**schema, 'x-guidance': options})}"


def with_definitions(field: object, schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return the schema of one field with the definitions of the whole schema, to which it may refer."""
    kept = {key: schema[key] for key in ("$defs", "definitions") if key in schema}
    return kept | (dict(field) if isinstance(field, Mapping) else {})


def field_rules(
    index: int, tool: Mapping[str, Any], rule: Callable[[str, object], str], between: str
) -> tuple[str, list[str]]:
    """Build the rules of arguments that are written one by one. Required ones come first.

    Return the expression for all arguments, empty if there are none, and the rules that it names.

    index: number of the tool.
    rule: writes the right side of the rule for an argument, from its name and schema.
    between: the separator, spelled for the grammar.
    """
    schema = tool.get("parameters") or {}
    required = schema.get("required") or ()
    fields = sorted(properties_of(schema).items(), key=lambda field: field[0] not in required)
    names = [f"arguments_{index}_{number}" for number in range(len(fields))]
    rules = [comment(tool)]
    rules += (f"{name}: {rule(*field)}" for name, field in zip(names, fields, strict=True))
    count = sum(name in required for name, _ in fields)
    if count:
        optional = (f"({between} {name})?" for name in names[count:])
        return " ".join([f" {between} ".join(names[:count]), *optional]), rules
    for number, name in enumerate(names):
        is_last = number + 1 == len(names)
        rest, others = ("", "") if is_last else (f"more_{index}_{number + 1}", f" | any_{index}_{number + 1}")
        rules.append(f"any_{index}_{number}: {name} {rest}{others}")
        rules.append(f"more_{index}_{number}: ({between} {name})? {rest}")
    return f"any_{index}_0?" if names else "", rules


def text_rule(
    end: str, spell: Callable[[str], str], quote: tuple[str, str] = ("", ""), *, name: str = "text"
) -> list[str]:
    """Build the rule `name`: any text up to the first `end`, as in the readers.

    quote: as in `models.chat.call_syntax.element_reader.Elements`.
    """
    opening, closing = quote
    if opening:
        plain = "([^<](.|\\n)*|<[^!](.|\\n)*)?"
        quoted = f"quoted[suffix={json.dumps(closing + end)}]: {_ANY}"
        return [f"{name}: plain | {json.dumps(opening)} quoted", f"plain[suffix={json.dumps(end)}]: /{plain}/", quoted]
    before, control, after = spell(end).partition(_CONTROL)
    if control:
        kept = re.escape(json.loads(before) if before else "").replace("/", r"\/")
        return [f"{name}: {name.upper()} {control}{after}", f"{name.upper()}: /(.|\\n)*{kept}/"]
    return [f"{name}[suffix={before}]: {_ANY}"]


def thought_rules(channels: Channels | None, spell: Callable[[str], str]) -> tuple[str, list[str]]:
    """Return the expression for reasoning before a call, and the rules for it. Both are empty without channels."""
    if channels is None:
        return "", []
    thought = f"thought: {spell(channels.opening)} thinking"
    return "thought? ", [thought, *text_rule(channels.between, spell, name="thinking")]


def start_rules(
    *,
    opening: str,
    between: str,
    closing: str,
    spell: Callable[[str], str],
    most: int,
    count: int,
    channels: Channels | None = None,
) -> list[str]:
    """Build the rules of 1 to `most` calls of `count` tools, whose rules are `call_N`, with the text around them.

    opening, closing: text around all calls. between: text between two calls.
    """
    thought, rules = thought_rules(channels, spell)
    parts = (spell(opening), repeated("call", spell(between), most), spell(closing))
    call = "call: " + " | ".join(f"call_{index}" for index in range(count))
    return [f"start: {thought}{' '.join(filter(None, parts))}", *rules, call]


def choice_of_texts(schema: object) -> str | None:
    """Return the expression for one of the texts that `schema` lists; None if it lists other values, or none."""
    choices = schema.get("enum") if isinstance(schema, Mapping) else None
    if not isinstance(choices, list) or not choices or not all(isinstance(choice, str) for choice in choices):
        return None
    return f"({' | '.join(map(json.dumps, choices))})"


def repeated(item: str, between: str, most: int) -> str:
    """Return the right side of a rule for 1 to `most` items. between: the separator, spelled for the grammar."""
    return item if most == 1 else f"{item} ({between} {item}){{0,{most - 1}}}"


def json_text(value: object) -> str:
    """Write a value as JSON, with characters beyond ASCII as they are."""
    return json.dumps(value, ensure_ascii=False)


def named_values(call: ToolCall) -> Mapping[str, Any]:
    """Return the arguments of a call by name. Arguments that are not an object become one text."""
    values = read_object(call.arguments or "{}")
    return {"arguments": call.arguments} if values is None else values


def arguments_text(call: ToolCall) -> str:
    """Return the arguments of a call as JSON. Arguments that are not an object become a string."""
    if not call.arguments:
        return "{}"
    return call.arguments if read_object(call.arguments) is not None else json_text(call.arguments)
