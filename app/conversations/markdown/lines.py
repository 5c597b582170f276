"""Lines of a text that is being parsed as blocks."""

from typing import Final

from markdown_it.ruler import RuleOptionsType
from markdown_it.rules_block import StateBlock

INTERRUPTS: Final[RuleOptionsType] = {"alt": ["paragraph", "reference", "blockquote", "list"]}
"""Blocks that a block of a rule may interrupt."""


def line_of(state: StateBlock, line: int) -> str:
    """Return the text of a line after its indentation."""
    return state.src[state.bMarks[line] + state.tShift[line] : state.eMarks[line]]


def leaves(state: StateBlock, line: int) -> bool:
    """Return whether a line is outside the block of a list, or of anything else, that is being read."""
    return not state.isEmpty(line) and state.sCount[line] < state.blkIndent


def parse_within(state: StateBlock, text: str) -> None:
    """Parse a part of a text as blocks at the depth of `state`."""
    if not text:
        return
    inner = StateBlock(text, state.md, state.env, state.tokens)
    inner.level = state.level
    state.md.block.tokenize(inner, 0, inner.lineMax)
