"""Marks in the texts of ChatGPT, which its page shows as names, links and references, in a form that anybody can read.

The marks are characters for private use. They are not documented. This module follows files of 2023 to 2026.
"""

import re
from collections.abc import Mapping
from typing import Any, Final

from app.conversations.json_reader import parsed

_MARK = re.compile("\ue200([^\ue200\ue201]*)\ue201")
_SEPARATOR: Final = "\ue202"
_REFERENCE = re.compile(r"turn\d{1,9}[a-z]{1,32}\d{1,9}(?:,turn\d{1,9}[a-z]{1,32}\d{1,9})*")

_REMAINS = re.compile(
    "\ue200[a-z_]{1,32}(?=\ue202|\\Z)"  # The kind of a mark that the text ends in.
    "|\ue202turn\\d{1,9}[a-z]{1,32}\\d{1,9}"  # A reference that stands alone.
    "|[\ue200-\ue206]"  # Borders of the words that a reference is about.
)

_CITATION = re.compile(r"【\d[\d:]{0,20}†([^【】\n]{0,200})】")
_PLACE = re.compile(r"source|L\d.*|")
"""What stands in a citation for the file or page that it does not name."""


def readable(text: str, references: Mapping[str, str]) -> str:
    """Return a text without marks. references: Markdown in place of marks, where the file has it."""
    if not _may_have_marks(text):
        return text
    text = _MARK.sub(lambda mark: references.get(mark[0]) or _words(mark[1]), text)
    text = _CITATION.sub(lambda mark: references.get(mark[0]) or _source(mark[1]), text)
    return _REMAINS.sub("", text)


def _may_have_marks(text: str) -> bool:
    return not text.isascii() and ("†" in text or any(mark in text for mark in "\ue200\ue202\ue203\ue204\ue206"))


def _words(mark: str) -> str:
    """Return the words of a mark: of a link or a name. A mark that only refers to a source has none."""
    kind, *fields = mark.split(_SEPARATOR)
    if not fields or kind.endswith("cite") or _REFERENCE.fullmatch(fields[0]):
        return ""
    if fields[0][:1] in ("[", "{"):
        return _named(fields[0])
    target = fields[1] if len(fields) > 1 else ""
    return f"[{fields[0]}]({target})" if target.startswith(("https://", "http://")) else fields[0]


def _named(text: str) -> str:
    """Return the words of a mark in JSON: the name after its kind, or the content of something drawn."""
    try:
        value = parsed(text)
    except ValueError:
        return ""
    if isinstance(value, list):
        names = [each for each in value if isinstance(each, str)]
        return names[min(1, len(names) - 1)] if names else ""
    return _content(value) or next((found for each in value.values() if (found := _content(each))), "")


def _content(value: Any) -> str:
    found = value.get("content") if isinstance(value, dict) else None
    return found if isinstance(found, str) else ""


def _source(name: str) -> str:
    return "" if _PLACE.fullmatch(name) else f" ({name})"
