"""Items of lists that are tasks: `- [x] done`."""

import re
from collections.abc import Sequence
from typing import Any, Final

from markdown_it import MarkdownIt
from markdown_it.rules_core import StateCore
from markdown_it.token import Token

_BOX: Final = re.compile(r"\[([ xX])\][ \t]+(?=\S)")


def read_tasks(parser: MarkdownIt) -> None:
    """Add the rules to a parser."""
    parser.core.ruler.before("inline", "tasks", _take_boxes)
    parser.core.ruler.after("inline", "boxes", _put_boxes)
    parser.add_render_rule("box", _shown)


def _take_boxes(state: StateCore) -> None:
    for item, paragraph, text in zip(state.tokens, state.tokens[1:], state.tokens[2:], strict=False):
        if (item.type, paragraph.type) != ("list_item_open", "paragraph_open"):
            continue
        if (box := _BOX.match(text.content)) is not None:
            text.content = text.content[box.end() :]
            text.meta["done"] = box[1] != " "


def _put_boxes(state: StateCore) -> None:
    for token in state.tokens:
        if "done" in token.meta and token.children is not None:
            token.children.insert(0, Token("box", "input", 0, meta=token.meta))


def _shown(_self: Any, tokens: Sequence[Token], index: int, _options: Any, _environment: Any) -> str:
    return f'<input type="checkbox" aria-hidden="true" disabled{" checked" if tokens[index].meta["done"] else ""}> '
