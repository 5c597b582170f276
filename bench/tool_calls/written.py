"""Marks within the text that a writer makes, which tell how the text becomes tokens. Parsers never see them."""

import re
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from bench.tool_calls.formats import Format

SPELLED: Final = "\ue000"
"""Separator of two characters that are not part of one token of a mark."""

ARGUMENTS_END: Final = "\ue001"
"""End of the arguments of a call."""

_OUR_MARKS: Final = re.compile(f"[{SPELLED}{ARGUMENTS_END}]")


def spelled(text: str, how: "Format") -> str:
    """Write the tokens of marks in `text` with ordinary tokens, as prose about them does."""
    text = text.replace(ARGUMENTS_END, "")
    pattern = _any_of(how)
    return text if pattern is None else pattern.sub(lambda mark: mark[0][0] + SPELLED + mark[0][1:], text)


def shown(text: str) -> str:
    """Return the text that a model writes, without the marks of this module."""
    return _OUR_MARKS.sub("", text)


def pieces(text: str, how: "Format") -> list[tuple[str, bool]]:
    """Split `text`, and say of each piece whether it is the token of a mark."""
    text = text.replace(ARGUMENTS_END, "")
    pattern = _any_of(how)
    parts = [text] if pattern is None else re.split(f"({pattern.pattern})", text)
    return [(part.replace(SPELLED, ""), part in how.tokens) for part in parts if part]


def argument_ends(text: str) -> list[int]:
    """Return the positions in the shown text, in bytes of UTF-8, at which the arguments of the calls end."""
    parts = text.split(ARGUMENTS_END)[:-1]
    ends, total = list[int](), 0
    for part in parts:
        total += len(shown(part).encode())
        ends.append(total)
    return ends


def _any_of(how: "Format") -> re.Pattern[str] | None:
    marks = sorted(how.tokens, key=len, reverse=True)
    return re.compile("|".join(map(re.escape, marks))) if marks else None
