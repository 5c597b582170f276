"""Elements of HTML: those within text, whose contents are Markdown, and blocks, which are shown as text."""

import html
import re
from collections.abc import Sequence
from typing import Any, Final

from markdown_it import MarkdownIt
from markdown_it.rules_block import StateBlock, html_block
from markdown_it.rules_inline import StateInline
from markdown_it.token import Token

from app.conversations.markdown.lines import line_of

_NAMES: Final = "abbr|b|bdi|cite|code|del|dfn|em|i|ins|kbd|mark|q|rp|rt|ruby|s|samp|small|span|strong|sub|sup|u|var|a"
"""Elements within text. They lose their attributes, but for the address of a link."""
_TAG: Final = re.compile(rf"<(/?)({_NAMES})(\s[^<>]*)?>", re.IGNORECASE)
_BREAK: Final = re.compile(r"<(br|wbr) ?/?>", re.IGNORECASE)
_IMAGE: Final = re.compile(r"<img(\s[^<>]*)>", re.IGNORECASE)
_BEGINS_TEXT: Final = re.compile(rf"</?(?:br|wbr|img|{_NAMES})(?:\s[^<>]*)?/?>", re.IGNORECASE)
"""Beginning of a line that begins a paragraph, not a block of HTML."""


def read_elements(parser: MarkdownIt) -> None:
    """Add the rules to a parser."""
    parser.block.ruler.at("html_block", _block, {"alt": ["paragraph", "reference", "blockquote"]})
    parser.inline.ruler.before("html_inline", "element", _element)
    parser.inline.ruler.disable("html_inline")
    parser.add_render_rule("html_block", _shown)


def _block(state: StateBlock, first: int, end: int, silent: bool) -> bool:
    return _BEGINS_TEXT.match(line_of(state, first)) is None and html_block(state, first, end, silent)


def _shown(_self: Any, tokens: Sequence[Token], index: int, _options: Any, _environment: Any) -> str:
    return f"<p>{html.escape(tokens[index].content.strip())}</p>\n"


def _element(state: StateInline, silent: bool) -> bool:
    """Read an element that has its end in the same text, a break or an image."""
    start, limit = state.pos, state.posMax
    if state.src[start] != "<":
        return False
    if (line := _BREAK.match(state.src, start, limit)) is not None:
        if not silent:
            state.push("hardbreak" if line[1].lower() == "br" else "wbr", line[1].lower(), 0)
        state.pos = line.end()
        return True
    if (picture := _IMAGE.match(state.src, start, limit)) is not None:
        if not silent:
            _push_image(state, picture[1])
        state.pos = picture.end()
        return True
    begin = _TAG.match(state.src, start, limit)
    end = _ends(state).get(start) if begin is not None else None
    if begin is None or end is None or end[1] > limit:
        return False
    if not silent:
        _push_element(state, begin, end[0])
    state.pos = end[1]
    return True


def _push_image(state: StateInline, attributes: str) -> None:
    token = state.push("image", "img", 0)
    token.attrs = {"src": _attribute(attributes, "src")}
    token.children = [Token("text", "", 0, content=_attribute(attributes, "alt"))]


def _push_element(state: StateInline, begin: re.Match[str], end: int) -> None:
    name, limit = begin[2].lower(), state.posMax
    is_link = name == "a"
    token = state.push("link_open" if is_link else "element_open", name, 1)
    if is_link:
        token.attrs = {"href": _attribute(begin[3] or "", "href")}
    state.linkLevel += is_link
    state.pos, state.posMax = begin.end(), end
    state.md.inline.tokenize(state)
    state.posMax = limit
    state.linkLevel -= is_link
    state.push("link_close" if is_link else "element_close", name, -1)


def _ends(state: StateInline) -> dict[int, tuple[int, int]]:
    """Return begin and end of the end tag of each element, by the place of its start tag. The text is read once."""
    known: dict[int, tuple[int, int]] | None = state.__dict__.get("element_ends")
    if known is None:
        known = state.__dict__["element_ends"] = {}
        begun = dict[str, list[int]]()
        for tag in _TAG.finditer(state.src):
            places = begun.setdefault(tag[2].lower(), [])
            if not tag[1]:
                places.append(tag.start())
            elif places:
                known[places.pop()] = tag.span()
    return known


def _attribute(attributes: str, name: str) -> str:
    """Return the value of an attribute; "" without one."""
    match = re.search(rf"""(?:^|\s){name}\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s"']+))""", attributes, re.IGNORECASE)
    value = "" if match is None else next((group for group in match.groups() if group is not None), "")
    return value.replace("&quot;", '"').replace("&amp;", "&")
