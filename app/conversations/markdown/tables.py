"""Cells of a row that has more of them than its table has columns: they join the last one, so that none is lost."""

import re
from typing import Final

from markdown_it import MarkdownIt
from markdown_it.rules_block import StateBlock, table

from app.conversations.markdown.lines import line_of

_BAR: Final = re.compile(r"(?<!\\)\|")


def keep_cells(parser: MarkdownIt) -> None:
    """Add the rule to a parser."""
    parser.block.ruler.at("table", _table, {"alt": ["paragraph", "reference"]})


def _table(state: StateBlock, first: int, end: int, silent: bool) -> bool:
    before = len(state.tokens)
    if not table(state, first, end, silent):
        return False
    if not silent:
        _join_cells(state, before)
    return True


def _join_cells(state: StateBlock, start: int) -> None:
    columns = count = line = 0
    for index in range(start, len(state.tokens)):
        token = state.tokens[index]
        columns += token.type == "th_open"
        if token.type == "tr_open" and token.map is not None:
            count, line = 0, token.map[0]
        count += token.type == "td_open"
        if token.type != "td_open" or count != columns:
            continue
        if more := _cells_of(line_of(state, line))[columns:]:
            state.tokens[index + 1].content += f" | {' | '.join(more)}"


def _cells_of(row: str) -> list[str]:
    """Return the cells of a row. A bar after a backslash is part of its cell."""
    cells = [cell.strip().replace("\\|", "|") for cell in _BAR.split(row.strip())]
    if cells[0] == "":
        del cells[0]
    if cells and cells[-1] == "":
        del cells[-1]
    return cells
