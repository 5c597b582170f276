"""The tool whose arguments a rule of a grammar for tool calls describes.

`models.chat.call_syntax.rules` writes a comment with the name of a tool above the rules of its arguments.
"""

import json
import re
from typing import Final

_RULE: Final = re.compile(r"arguments_\d+[_\d]*: ")
_COMMENT: Final = "// "


def tool_at(grammar: str, line: int) -> str | None:
    """Return the name of the tool whose arguments the rule on `line` (from 1) describes; None for another rule."""
    # A schema may contain characters at which `splitlines` splits too.
    rules = grammar.split("\n")
    if not 1 < line <= len(rules) or not _RULE.match(rules[line - 1]):
        return None
    comment = next(rule for rule in reversed(rules[: line - 1]) if rule.startswith(_COMMENT))
    name: str = json.loads(comment.removeprefix(_COMMENT))
    return name
