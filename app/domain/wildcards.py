r"""Texts in which `*` stands for any characters, and `\*` for itself, as regular expressions."""

import re
from typing import Final

_WILDCARD: Final = re.compile(r"(?<!\\)\*")


def plain_parts(text: str) -> list[str]:
    """Return the parts of `text` between its wildcards, as they are matched."""
    return [part.replace(r"\*", "*") for part in _WILDCARD.split(text)]


def wildcard_source(text: str) -> str:
    """Return the source of a regular expression for `text`. The rest is as in `source_between`."""
    return source_between(plain_parts(text))


def source_between(parts: list[str]) -> str:
    """Return the source of a regular expression for the parts of a text, with a wildcard between each two.

    A match takes linear time: in an atomic group, only the first place of the part between two wildcards is tried.
    """
    first, *rest = parts
    between = "".join(f"(?>.*?{re.escape(part)})" for part in rest[:-1])
    last = f".*{re.escape(rest[-1])}" if rest else ""
    return re.escape(first) + between + last
