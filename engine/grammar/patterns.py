"""Regular expressions of JSON Schemas: those that a finite automaton can match."""

import re
from typing import Final

_LOOK_AROUND: Final = re.compile(r"\(\?<?[=!]")
_BEYOND: Final = frozenset("123456789kbB")
"""Characters that make a reference to a group, or an assertion about a word, behind a backslash."""


def is_regular(pattern: str) -> bool:
    """Return whether `pattern` has no look-around, no reference to a group, and no assertion about words."""
    if "\\" not in pattern and "(?" not in pattern:
        return True
    in_class, at = False, 0
    while at < len(pattern):
        character = pattern[at]
        if character == "\\":
            if not in_class and pattern[at + 1 : at + 2] in _BEYOND:
                return False
            at += 1
        elif in_class:
            in_class = character != "]"
        elif character == "[":
            in_class = True
        elif character == "(" and _LOOK_AROUND.match(pattern, at):
            return False
        at += 1
    return True
