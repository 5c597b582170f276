"""Addresses that are links without any mark, and definitions of addresses."""

import re
from collections.abc import Iterator, Sequence
from typing import Final

from markdown_it import MarkdownIt
from markdown_it.rules_block import StateBlock, reference
from markdown_it.rules_inline import StateInline
from markdown_it.token import Token

from app.conversations.markdown.lines import line_of

_CHARACTER: Final = '[^\\s<>"\u3000-\u303f\uff00-\uff0f\uff1a-\uff20]'
_REST: Final = re.compile(rf"//{_CHARACTER}+")
_SCHEME: Final = re.compile(r"(?:^|[^A-Za-z0-9])(https?)$", re.IGNORECASE)
_MENTIONS: Final = re.compile(
    rf"(?<![A-Za-z0-9_.+@/-])(?:www\.{_CHARACTER}+|[A-Za-z0-9_.+-]+@[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)+)"
)
_DEFINITION: Final = re.compile(r"\[[^\]]+\]:[ \t]*<?(?:https?:|mailto:)", re.IGNORECASE)
"""A definition of an address that a link may have. Any other is text, so that no words are lost."""
_AFTER: Final = "?!.,:;*_~'`]}"
"""Signs of the sentence around an address."""


def read_addresses(parser: MarkdownIt) -> None:
    """Add the rules to a parser."""
    parser.inline.ruler.before("newline", "address", _address)
    parser.inline.ruler2.before("fragments_join", "mentions", _link_mentions)
    parser.block.ruler.at("reference", _reference)
    # An address that no link may have is shown as the text of the link alone.
    parser.validateLink = _any  # type: ignore[method-assign]


def _any(url: str) -> bool:  # noqa: ARG001
    return True


def _reference(state: StateBlock, first: int, end: int, silent: bool) -> bool:
    return _DEFINITION.match(line_of(state, first)) is not None and reference(state, first, end, silent)


def _address(state: StateInline, silent: bool) -> bool:
    """Read an address at the colon after its scheme."""
    if silent or state.linkLevel > 0 or state.src[state.pos] != ":":
        return False
    scheme = _SCHEME.search(state.src[max(0, state.pos - 6) : state.pos])
    rest = _REST.match(state.src, state.pos + 1, state.posMax) if scheme is not None else None
    if scheme is None or rest is None or not state.pending.endswith(scheme[1]):
        return False
    text = f"{scheme[1]}:{_without_end(rest[0])}"
    if len(text) <= len(scheme[1]) + 3:
        return False
    state.pending = state.pending[: -len(scheme[1])]
    state.push("link_open", "a", 1).attrs = {"href": state.md.normalizeLink(text)}
    state.push("text", "", 0).content = text
    state.push("link_close", "a", -1)
    state.pos += len(text) - len(scheme[1])
    return True


def _without_end(text: str) -> str:
    """Return an address without the punctuation of the sentence around it."""
    end, opened = len(text), text.count("(") - text.count(")")
    while end > 0:
        if text[end - 1] == ")" and opened < 0:
            opened += 1
        elif text[end - 1] not in _AFTER:
            break
        end -= 1
    return text[:end]


def _link_mentions(state: StateInline) -> None:
    state.tokens[:] = list(_mentions(state.tokens))


def _mentions(tokens: Sequence[Token]) -> Iterator[Token]:
    linked = 0
    for token in tokens:
        linked += (token.type == "link_open") - (token.type == "link_close")
        if token.type == "text" and linked == 0 and ("@" in token.content or "www." in token.content):
            yield from _mentions_in(token.content)
        else:
            yield token


def _mentions_in(content: str) -> Iterator[Token]:
    at = 0
    for found in _MENTIONS.finditer(content):
        text = _without_end(found[0])
        if text == "www":
            continue
        address = f"http://{text}" if found[0].startswith("www.") else f"mailto:{text}"
        yield Token("text", "", 0, content=content[at : found.start()])
        yield Token("link_open", "a", 1, attrs={"href": address})
        yield Token("text", "", 0, content=text)
        yield Token("link_close", "a", -1)
        at = found.start() + len(text)
    yield Token("text", "", 0, content=content[at:])
