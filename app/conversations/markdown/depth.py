"""Limit of the depth of what a text nests, without a loss of words."""

import html
from collections.abc import Sequence
from typing import Any, Final

from markdown_it import MarkdownIt
from markdown_it.rules_block import StateBlock
from markdown_it.rules_inline import StateInline
from markdown_it.token import Token

MAX_LEVEL: Final = 50
"""Blocks within each other, and emphasis within each other. Beyond that, a text is shown as it is written."""


def limit_depth(parser: MarkdownIt) -> None:
    """Add the rules to a parser."""
    parser.block.ruler.before("table", "deep", _deep_block)
    parser.inline.ruler2.before("fragments_join", "deep", _deep_emphasis)
    parser.add_render_rule("plain", _shown)


def _deep_block(state: StateBlock, first: int, end: int, silent: bool) -> bool:
    if silent or state.level < MAX_LEVEL:
        return False
    line = first + 1
    # Lazy lines of a quote have a negative indentation.
    while line < end and (state.isEmpty(line) or not 0 <= state.sCount[line] < state.blkIndent):
        line += 1
    state.push("plain", "", 0).content = state.getLines(first, line, state.blkIndent, False).strip()
    state.line = line
    return True


def _deep_emphasis(state: StateInline) -> None:
    """Show the marks of too deep emphasis as text."""
    shown = list[bool]()
    for token in state.tokens:
        if token.nesting == 0:
            continue
        if token.nesting > 0:
            shown.append(len(shown) >= MAX_LEVEL and bool(token.markup))
            is_shown = shown[-1]
        else:
            is_shown = shown.pop()
        if is_shown:
            token.type, token.tag, token.nesting, token.content = "text", "", 0, token.markup


def _shown(_self: Any, tokens: Sequence[Token], index: int, _options: Any, _environment: Any) -> str:
    return f'<pre class="plain">{html.escape(tokens[index].content)}</pre>\n'
