"""Marks within the text that a writer makes, which tell how the text becomes tokens. Parsers never see them."""

import re
from collections.abc import Iterable
from typing import Final

SPELLED: Final = "\ue000"
"""Separator of two characters that are not part of one token of a mark."""

ARGUMENTS_END: Final = "\ue001"
"""End of the arguments of a call."""

_OUR_MARKS: Final = re.compile(f"[{SPELLED}{ARGUMENTS_END}]")


def spelled(text: str, tokens: Iterable[str]) -> str:
    """Write the marks among `tokens` with ordinary tokens, as prose about them does."""
    text = text.replace(ARGUMENTS_END, "")
    pattern = _any_of(tokens)
    return text if pattern is None else pattern.sub(lambda mark: mark[0][0] + SPELLED + mark[0][1:], text)


def shown(text: str) -> str:
    """Return the text that a model writes, without the marks of this module."""
    return _OUR_MARKS.sub("", text)


def pieces(text: str, tokens: Iterable[str]) -> list[tuple[str, bool]]:
    """Split `text` into the marks that are among `tokens` and the rest. Return each piece, and whether it is a mark."""
    text, marks = text.replace(ARGUMENTS_END, ""), frozenset(tokens)
    pattern = _any_of(marks)
    parts = [text] if pattern is None else re.split(f"({pattern.pattern})", text)
    return [(part.replace(SPELLED, ""), part in marks) for part in parts if part]


def argument_ends(text: str) -> list[int]:
    """Return the positions in the shown text, in bytes of UTF-8, at which the arguments of the calls end."""
    parts = text.split(ARGUMENTS_END)[:-1]
    ends, total = list[int](), 0
    for part in parts:
        total += len(shown(part).encode())
        ends.append(total)
    return ends


def _any_of(tokens: Iterable[str]) -> re.Pattern[str] | None:
    marks = sorted(tokens, key=len, reverse=True)
    return re.compile("|".join(map(re.escape, marks))) if marks else None
