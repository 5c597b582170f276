"""Texts of messages that several formats build in the same way."""

import re
from collections.abc import Iterable
from typing import Final

ATTACHMENT: Final = "[attachment]"
"""Text of a message that had only pictures, recordings or files, which are left out."""

_FENCE = re.compile("`{3,}")


def joined(texts: Iterable[str]) -> str:
    """Join the parts of a text, without those that are empty."""
    return "\n\n".join(part.strip() for part in texts if part.strip())


def fenced(language: str, text: str) -> str:
    """Return code as a block of Markdown, which ends where the code does."""
    longest = max(map(len, _FENCE.findall(text)), default=2)
    fence = "`" * (longest + 1)
    return f"{fence}{language}\n{text}\n{fence}"


def attached_file(name: str, text: str) -> str:
    """Return a file with its text, as the page attaches files to a message."""
    safe = name.replace('"', "'").replace("\n", " ") or "file"
    return f'<file name="{safe}">\n{text}\n</file>'
