"""Rules that the grammars of several syntaxes share.

The rules `arguments_N` of a tool follow a comment with the tool's name, by which `engine.grammar.call_rules` finds it.
"""

import json
from collections.abc import Mapping
from typing import Any

from models.tool_calls import ToolCall, read_object

NO_ARGUMENTS = {"type": "object", "properties": {}, "additionalProperties": False}

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


def any_call(count: int) -> str:
    """Return the rule of one call of any of `count` tools."""
    return "call: " + " | ".join(f"call_{index}" for index in range(count))


def repeated(item: str, between: str, most: int) -> str:
    """Return the right side of a rule for 1 to `most` items. between: the separator, spelled for the grammar."""
    return item if most == 1 else f"{item} ({between} {item}){{0,{most - 1}}}"


def json_text(value: object) -> str:
    """Write a value as JSON, with characters beyond ASCII as they are."""
    return json.dumps(value, ensure_ascii=False)


def arguments_text(call: ToolCall) -> str:
    """Return the arguments of a call as JSON. Arguments that are not an object become a string."""
    if not call.arguments:
        return "{}"
    return call.arguments if read_object(call.arguments) is not None else json_text(call.arguments)
