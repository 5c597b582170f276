"""Markdown of answers on the page of a shared chat, with the extensions that the chat shows as well.

Formulas become MathML, footnotes go to the end, and harmless elements of HTML keep their names alone. Any other HTML is
shown as text. Images become links, so that a reader's browser sends no request to anyone.
"""

import html
import re
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

from markdown_it import MarkdownIt
from markdown_it.ruler import RuleOptionsType
from markdown_it.rules_block import StateBlock
from markdown_it.rules_core import StateCore
from markdown_it.rules_inline import StateInline
from markdown_it.token import Token
from mdit_py_plugins.footnote import footnote_plugin

from app.conversations.shared_math import MAX_TEX, mathml

MAX_FORMULAS: Final = 2_000
"""Formulas of a page that are converted. The others are shown as they are written, which costs less."""

MAX_FOLDED: Final = 8
"""Maximum depth of `details` in each other, or after each other on one line."""

MAX_FORMULA_LINES: Final = 40

MAX_RENDER_SECONDS: Final = 2.0
"""CPU time for the Markdown of a page. Ordinary text of the greatest length takes less."""

STEPS_PER_LOOK: Final = 64
"""Steps of the parser between two looks at the time."""

_SAFE_LINK: Final = re.compile(r"(?:https?://|mailto:)", re.IGNORECASE)
_DATA_IMAGE: Final = re.compile(r"data:image/(?:png|jpeg|gif|webp);base64,", re.IGNORECASE)

_ELEMENTS: Final = "abbr|b|bdi|cite|code|del|dfn|em|i|ins|kbd|mark|q|rp|rt|ruby|s|samp|small|span|strong|sub|sup|u|var"
"""Elements within text. They lose their attributes."""
_TAG: Final = re.compile(rf"<(/?)({_ELEMENTS})(?:\s[^<>]*)?>", re.IGNORECASE)
_BREAK: Final = re.compile(r"<br ?/?>", re.IGNORECASE)

_DETAILS: Final = re.compile(r'<details( open(?:="(?:open)?")?)? ?>', re.IGNORECASE)
_DETAILS_TAG: Final = re.compile(r"<(/?)details[^<>]{0,20}>", re.IGNORECASE)
_SUMMARY: Final = re.compile(r"\s*<summary>(.*?)</summary>", re.IGNORECASE | re.DOTALL)
_FENCE: Final = re.compile(r" {0,3}(`{3,}|~{3,})")

_DELIMITERS: Final = {"$$": "$$", "\\[": "\\]", "\\(": "\\)"}
_DOLLARS: Final = re.compile(r"\$(?!\s|\$)(?:\\.|[^\\$\n])+?(?<!\s)\$(?!\d)")
"""TeX in single dollar signs, which prices have as well: no space is at its ends, and no digit follows."""


class RenderTimeError(Exception):
    """The Markdown of a page takes more than its time."""


class RenderTime:
    """Time that is left for one page, on the thread that renders it."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._ends = clock() + MAX_RENDER_SECONDS
        self._steps = 0

    def look(self, *_: Any) -> bool:
        """Return False, as a rule of the parser that never applies. Raises RenderTimeError."""
        self._steps += 1
        if self._steps % STEPS_PER_LOOK == 0 and self._clock() > self._ends:
            raise RenderTimeError
        return False


class SharedMarkdown:
    """Renderer of the answers on one page. Make and use it on one thread, whose CPU time is limited."""

    def __init__(self, clock: Callable[[], float] = time.thread_time) -> None:
        self._renderer = _renderer()
        left = RenderTime(clock)
        self._renderer.inline.ruler.before("text", "time", left.look)
        self._renderer.block.ruler.before("table", "time", left.look)
        self._formulas = Counter[str]()
        self._texts = 0

    def render(self, text: str) -> str:
        """Render an answer. Raises RenderTimeError once the page has taken its time."""
        self._texts += 1
        # The plugin for footnotes makes ids of `docId`.
        rendered: str = self._renderer.render(text, {"docId": str(self._texts), "formulas": self._formulas})
        return rendered


def _renderer() -> MarkdownIt:
    renderer = MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"])
    renderer.use(footnote_plugin, inline=False)
    renderer.validateLink = _is_known_address  # type: ignore[method-assign]
    alternatives: RuleOptionsType = {"alt": ["paragraph", "reference", "blockquote", "list"]}
    renderer.block.ruler.before("fence", "formula", _formula_block, alternatives)
    renderer.block.ruler.before("fence", "details", _details, alternatives)
    renderer.inline.ruler.before("escape", "formula", _formula)
    renderer.inline.ruler.before("html_inline", "element", _element)
    renderer.core.ruler.push("images", _link_images)
    renderer.add_render_rule("formula", _shown_formula)
    renderer.add_render_rule("link_open", _link_open)
    for name in ("th_open", "td_open"):
        renderer.add_render_rule(name, _cell_open)
    return renderer


def _is_known_address(url: str) -> bool:
    return _SAFE_LINK.match(url) is not None or _DATA_IMAGE.match(url) is not None


def _formula_block(state: StateBlock, first: int, end: int, silent: bool) -> bool:
    """Read a formula that takes whole lines."""
    begin = state.bMarks[first] + state.tShift[first]
    close = _DELIMITERS.get(state.src[begin : begin + 2])
    if close in (None, "\\)") or state.is_code_block(first):
        return False
    assert close is not None
    if state.src.find(close, begin + 2, begin + 2 + MAX_TEX) < 0:
        return False
    lines = list[str]()
    for line in range(first, min(end, first + MAX_FORMULA_LINES)):
        if _leaves(state, line):
            return False
        text = state.getLines(line, line + 1, state.blkIndent, False)
        head, found, rest = (text.lstrip()[2:] if line == first else text).partition(close)
        lines.append(head)
        if not found:
            continue
        if rest.strip() or not "".join(lines).strip():
            return False
        if not silent:
            _push_formula(state, "\n".join(lines), close, display=True)
            state.line = line + 1
        return True
    return False


def _formula(state: StateInline, silent: bool) -> bool:
    """Read a formula within text."""
    begin = state.pos
    if (close := _DELIMITERS.get(state.src[begin : begin + 2])) is not None:
        end = state.src.find(close, begin + 2, min(state.posMax, begin + 2 + MAX_TEX))
        tex = state.src[begin + 2 : end]
        if end < 0 or not tex.strip() or (close == "$$" and "$" in tex):
            return False
        end += 2
    elif (found := _DOLLARS.match(state.src, begin, state.posMax)) is not None:
        end, close = found.end(), "$"
        tex = state.src[begin + 1 : end - 1]
    else:
        return False
    if not silent:
        _push_formula(state, tex, close, display=close in ("$$", "\\]"))
    state.pos = end
    return True


def _push_formula(state: StateBlock | StateInline, tex: str, close: str, *, display: bool) -> None:
    token = state.push("formula", "", 0)
    token.content, token.meta = tex.strip(), {"close": close, "display": display}


def _shown_formula(_self: Any, tokens: Sequence[Token], index: int, _options: Any, environment: Any) -> str:
    token = tokens[index]
    formulas: Counter[str] = environment["formulas"]
    formulas.update(("all",))
    display, close = token.meta["display"], token.meta["close"]
    shown = mathml(token.content, display=display) if formulas["all"] <= MAX_FORMULAS else None
    if shown is None:
        begin = next((begin for begin, end in _DELIMITERS.items() if end == close), "$")
        shown = html.escape(f"{begin}{token.content}{close}")
    return f"<p>{shown}</p>\n" if token.block else shown


def _details(state: StateBlock, first: int, end: int, silent: bool) -> bool:
    """Read a foldable block. Without an end, it lasts to the end of the text."""
    begin = _DETAILS.match(state.src, state.bMarks[first] + state.tShift[first])
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
    state.md.block.parse(inner, state.md, state.env, state.tokens)
    state.push("details_close", "details", -1)
    state.md.block.parse(rest, state.md, state.env, state.tokens)
    state.env["folded"] = depth
    return True


def _folded(state: StateBlock, first: int, end: int) -> tuple[str, str, int]:
    """Return the text within a foldable block, the text after it on its last line, and the number of the next line."""
    texts, depth, fence = list[str](), 0, ""
    for line in range(first, end):
        if _leaves(state, line):
            return "\n".join(texts), "", line
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


def _leaves(state: StateBlock, line: int) -> bool:
    """Return whether a line is outside the block of a list, or of anything else, that is being read."""
    return not state.isEmpty(line) and state.sCount[line] < state.blkIndent


def _element(state: StateInline, silent: bool) -> bool:
    """Read an element of HTML that has its end in the same text, and its contents as Markdown."""
    if (line := _BREAK.match(state.src, state.pos, state.posMax)) is not None:
        if not silent:
            state.push("hardbreak", "br", 0)
        state.pos = line.end()
        return True
    begin = _TAG.match(state.src, state.pos, state.posMax)
    end = _ends(state).get(state.pos) if begin is not None else None
    if begin is None or end is None or end[1] > state.posMax:
        return False
    if not silent:
        name, limit = begin[2].lower(), state.posMax
        state.push("element_open", name, 1)
        state.pos, state.posMax = begin.end(), end[0]
        state.md.inline.tokenize(state)
        state.push("element_close", name, -1)
        state.posMax = limit
    state.pos = end[1]
    return True


def _ends(state: StateInline) -> dict[int, tuple[int, int]]:
    """Return begin and end of the end tag of each element, by the place of its start tag. The text is read once."""
    known: dict[str, dict[int, tuple[int, int]]] = state.env.setdefault("ends", {})
    if (ends := known.get(state.src)) is None:
        ends, begun = known.setdefault(state.src, {}), dict[str, list[int]]()
        for tag in _TAG.finditer(state.src):
            places = begun.setdefault(tag[2].lower(), [])
            if not tag[1]:
                places.append(tag.start())
            elif places:
                ends[places.pop()] = tag.span()
    return ends


def _link_images(state: StateCore) -> None:
    for block in state.tokens:
        if block.children is not None:
            block.children = list(_without_images(block.children))


def _without_images(tokens: Sequence[Token]) -> Iterator[Token]:
    """Yield the tokens with a link in place of each image. Within a link, and without an address, its text remains."""
    linked = False
    for token in tokens:
        linked = token.type == "link_open" or (linked and token.type != "link_close")
        if token.type != "image":
            yield token
            continue
        address = str(token.attrs["src"])
        text = Token("text", "", 0, content="".join(child.content for child in token.children or ()) or address[:80])
        if linked or not _SAFE_LINK.match(address):
            yield text
        else:
            yield from (Token("link_open", "a", 1, attrs={"href": address}), text, Token("link_close", "a", -1))


def _link_open(self: Any, tokens: Sequence[Token], index: int, options: Any, environment: Any) -> str:
    attributes = tokens[index].attrs
    if not _SAFE_LINK.match(str(attributes["href"])):
        del attributes["href"]
    attributes["rel"] = "noopener noreferrer nofollow"
    rendered: str = self.renderToken(tokens, index, options, environment)
    return rendered


def _cell_open(self: Any, tokens: Sequence[Token], index: int, options: Any, environment: Any) -> str:
    """Render the beginning of a cell. The policy of the page allows no style attribute, so a class aligns the text."""
    if (style := tokens[index].attrs.pop("style", None)) is not None:
        tokens[index].attrSet("class", str(style).removeprefix("text-align:"))
    rendered: str = self.renderToken(tokens, index, options, environment)
    return rendered
