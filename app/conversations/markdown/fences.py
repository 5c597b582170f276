"""Fenced code.

In a block of Markdown, a fence with a language begins a separate block, whose end is not the end of the outer one:
models quote Markdown with code in it, and use as many marks for both.
"""

import re
from typing import Final

from markdown_it import MarkdownIt
from markdown_it.rules_block import StateBlock

from app.conversations.markdown.lines import INTERRUPTS, leaves, line_of

_FENCE: Final = re.compile(r"(`{3,}|~{3,})[ \t]*(.*?)[ \t]*")
_MARKDOWN: Final = re.compile(r"(?:markdown|md)\b", re.IGNORECASE | re.ASCII)


def read_fences(parser: MarkdownIt) -> None:
    """Add the rule to a parser."""
    parser.block.ruler.at("fence", _fence, INTERRUPTS)


def _fence(state: StateBlock, first: int, end: int, silent: bool) -> bool:
    begin = None if state.is_code_block(first) else _fence_of(line_of(state, first))
    if begin is None:
        return False
    if silent:
        return True
    line, closed = _end_of(state, first, end, begin)
    token = state.push("fence", "code", 0)
    token.info = begin[1]
    token.content = state.getLines(first + 1, line, state.sCount[first], True)
    state.line = line + closed
    token.map = [first, state.line]
    return True


def _end_of(state: StateBlock, first: int, end: int, begin: tuple[str, str]) -> tuple[int, bool]:
    """Return the line that ends a fence and True, or the line after its block and False."""
    mark, info = begin
    nests = _MARKDOWN.match(info) is not None
    inner = list[str]()
    line = first + 1
    while line < end and not leaves(state, line):
        other = None if state.is_code_block(line) else _fence_of(line_of(state, line))
        if other is not None and other[0].startswith(mark):
            if other[1]:
                inner += [other[0]] if nests else []
            elif not inner:
                return line, True
            elif other[0].startswith(inner[-1]):
                inner.pop()
        line += 1
    return line, False


def _fence_of(line: str) -> tuple[str, str] | None:
    """Return the marks and the words of a fence; None for another line."""
    match = _FENCE.fullmatch(line) if line.startswith(("```", "~~~")) else None
    if match is None or (match[1].startswith("`") and "`" in match[2]):
        return None
    return match[1], match[2]
