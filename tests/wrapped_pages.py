"""Wrapping of pages: paragraphs and list items with a line that is too long.

Tables, code, headings, quotations and lines that cannot be broken stay as they are.
"""

import re
from collections.abc import Iterator
from itertools import pairwise

MAX_LINE = 120
_ITEM = re.compile(r"(?:[-*]|\d+\.) +")
_WORDS = re.compile(r"(?:`[^`]*`|[^\s`]|`)+")
"""Words between spaces. A span of code is part of a word, so that it stays on one line."""
_MARKUP = re.compile(r"[-+*#>|]|\d+[.)]|```")
"""Words that mean something else at the beginning of a line."""


def long_lines(page: str) -> Iterator[tuple[int, int]]:
    """Yield number and length of each line of prose that is too long and can be broken."""
    for number, line in _prose(page):
        if len(line) > MAX_LINE and len(_broken(line)) > 1:
            yield number, len(line)


def wrapped(page: str) -> str:
    """Return the page with those paragraphs wrapped that have a line of `long_lines`."""
    lines = page.split("\n")
    long = [number - 1 for number, _ in long_lines(page)]
    prose = {number - 1 for number, _ in _prose(page)}
    for first, end in reversed(_paragraphs(lines, prose)):
        if any(first <= number < end for number in long):
            lines[first:end] = _broken(" ".join([lines[first], *(line.strip() for line in lines[first + 1 : end])]))
    return "\n".join(lines)


def _prose(page: str) -> Iterator[tuple[int, str]]:
    """Yield number and text of the lines that may be wrapped."""
    in_code = False
    for number, line in enumerate(page.split("\n"), start=1):
        if line.lstrip().startswith("```"):
            in_code = not in_code
        elif not in_code and line.strip() and not line.lstrip().startswith(("|", "#", "<", ">", "![")):
            yield number, line


def _paragraphs(lines: list[str], prose: set[int]) -> list[tuple[int, int]]:
    """Return first line and end of each paragraph and each list item."""
    begins = [at for at in prose if at - 1 not in prose or _ITEM.match(lines[at].lstrip())]
    ends = [at + 1 for at in prose if at + 1 not in prose]
    marks = sorted({*begins, *ends})
    return [(first, end) for first, end in pairwise(marks) if first in prose]


def _broken(paragraph: str) -> list[str]:
    indent = " " * (len(paragraph) - len(paragraph.lstrip()))
    item = _ITEM.match(paragraph.lstrip())
    marker = item[0] if item is not None else ""
    lines, words = [indent + marker], _WORDS.findall(paragraph.lstrip()[len(marker) :])
    lines[0] += words[0]
    for word in words[1:]:
        if len(lines[-1]) + 1 + len(word) > MAX_LINE and not _MARKUP.match(word):
            lines.append(indent + " " * len(marker) + word)
        else:
            lines[-1] += f" {word}"
    return lines
