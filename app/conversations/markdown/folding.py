"""Foldable parts: `details`, whose contents are Markdown."""

import re
from typing import Final

from markdown_it import MarkdownIt
from markdown_it.rules_block import StateBlock

from app.conversations.markdown.lines import INTERRUPTS, leaves, line_of, parse_within

MAX_FOLDED: Final = 8
"""Maximum depth of `details` in each other, or after each other on one line."""

_DETAILS: Final = re.compile(r'<details( open(?:="(?:open)?")?)? ?>', re.IGNORECASE)
_DETAILS_TAG: Final = re.compile(r"<(/?)details[^<>]{0,20}>", re.IGNORECASE)
_SUMMARY: Final = re.compile(r"\s*<summary>(.*?)</summary>", re.IGNORECASE | re.DOTALL)
_FENCE: Final = re.compile(r" {0,3}(`{3,}|~{3,})")


def read_folded_parts(parser: MarkdownIt) -> None:
    """Add the rule to a parser."""
    parser.block.ruler.before("fence", "details", _details, INTERRUPTS)


def _details(state: StateBlock, first: int, end: int, silent: bool) -> bool:
    """Read a foldable block. Without an end, it lasts to the end of the text."""
    begin = _DETAILS.match(line_of(state, first))
    depth = state.env.setdefault("folded", 0)
    if begin is None or depth == MAX_FOLDED or state.is_code_block(first):
        return False
    if silent:
        return True
    inner, rest, state.line = _folded(state, first, end)
    state.env["folded"] = depth + 1
    token = state.push("details_open", "details", 1)
    if begin[1] is not None:
        token.attrSet("open", "")
    if (summary := _SUMMARY.match(inner)) is not None:
        state.push("summary_open", "summary", 1)
        content = state.push("inline", "", 0)
        content.content, content.children = summary[1].strip(), []
        state.push("summary_close", "summary", -1)
        inner = inner[summary.end() :]
    parse_within(state, inner)
    state.push("details_close", "details", -1)
    parse_within(state, rest)
    state.env["folded"] = depth
    return True


def _folded(state: StateBlock, first: int, end: int) -> tuple[str, str, int]:
    """Return the text within a foldable block, the text after it on its last line, and the number of the next line."""
    texts, depth, fence = list[str](), 0, ""
    for line in range(first, end):
        if leaves(state, line):
            return _without_tag(texts), "", line
        text = state.getLines(line, line + 1, state.blkIndent, False)
        mark = _FENCE.match(text)
        if fence:
            if mark is not None and mark[1].startswith(fence) and text.strip() == mark[1]:
                fence = ""
        elif mark is not None:
            fence = mark[1]
        else:
            for tag in _DETAILS_TAG.finditer(text):
                depth += -1 if tag[1] else 1
                if depth == 0:
                    texts.append(text[: tag.start()])
                    return _without_tag(texts), text[tag.end() :].strip(), line + 1
        texts.append(text)
    return _without_tag(texts), "", end


def _without_tag(texts: list[str]) -> str:
    return "\n".join(texts).partition(">")[2]
