"""Texts in which `*` stands for any characters, as regular expressions."""

import re


def wildcard_source(text: str) -> str:
    """Return the source of a regular expression for `text`.

    A match takes linear time: in an atomic group, only the first place of the part between two `*` is tried.
    """
    first, *parts = text.split("*")
    between = "".join(f"(?>.*?{re.escape(part)})" for part in parts[:-1])
    last = f".*{re.escape(parts[-1])}" if parts else ""
    return re.escape(first) + between + last
