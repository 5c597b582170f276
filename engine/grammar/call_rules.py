"""The tool whose arguments a rule of a grammar for tool calls describes.

`models.tool_format` writes the rules `call_N` and `arguments_N` of a tool one below the other.
"""

import json
import re
from typing import Final

_RULE: Final = re.compile(r"arguments_\d+: ")


def tool_at(grammar: str, line: int) -> str | None:
    """Return the name of the tool whose arguments the rule on `line` (from 1) describes; None for another rule."""
    # A schema may contain characters at which `splitlines` splits too.
    rules = grammar.split("\n")
    if not 1 < line <= len(rules) or not _RULE.match(rules[line - 1]):
        return None
    head, _ = json.JSONDecoder().raw_decode(rules[line - 2].partition(": ")[2])
    name: str = json.loads(f"{head}null}}")["name"]
    return name
