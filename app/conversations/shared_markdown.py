"""Markdown of answers on the page of a shared chat, by the grammar of the chat itself (`app.conversations.markdown`).

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
from markdown_it.rules_core import StateCore
from markdown_it.token import Token

from app.conversations.markdown.formulas import written
from app.conversations.markdown.grammar import new_parser
from app.conversations.shared_code import coloured
from app.conversations.shared_math import mathml

MAX_FORMULAS: Final = 2_000
"""Formulas of a page that are converted. The others are shown as they are written, which costs less."""

MAX_RENDER_SECONDS: Final = 2.0
"""CPU time for the Markdown of a page. Ordinary text of the greatest length takes less."""

STEPS_PER_LOOK: Final = 64
"""Steps of the parser between two looks at the time."""

_DIRECTED: Final = frozenset(
    ("paragraph_open", "heading_open", "bullet_list_open", "ordered_list_open", "blockquote_open", "th_open", "td_open")
)

_SAFE_LINK: Final = re.compile(r"(?:https?://|mailto:)", re.IGNORECASE)


class RenderTimeError(Exception):
    """The Markdown of a page takes more than its time."""


class RenderTime:
    """Time that is left for one page, on the thread that renders it."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._ends = clock() + MAX_RENDER_SECONDS
        self._steps = 0

    def look(self, *_: Any) -> bool:
        """Return False, as a rule of the parser that never applies. Raise RenderTimeError."""
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
        self._renderer.block.ruler.before("deep", "time", left.look)
        self._look = left.look
        self._formulas = Counter[str]()
        self._texts = 0

    def render(self, text: str) -> str:
        """Render an answer. Raise RenderTimeError once the page has taken its time."""
        self._texts += 1
        environment = {"text_id": str(self._texts), "formulas": self._formulas, "look": self._look}
        rendered: str = self._renderer.render(text, environment)
        return rendered


def _renderer() -> MarkdownIt:
    renderer = new_parser()
    renderer.core.ruler.push("images", _link_images)
    renderer.core.ruler.push("directions", _direct)
    renderer.add_render_rule("fence", _fence)
    renderer.add_render_rule("formula", _shown_formula)
    renderer.add_render_rule("link_open", _link_open)
    for name in ("th_open", "td_open"):
        renderer.add_render_rule(name, _cell_open)
    return renderer


def _shown_formula(_self: Any, tokens: Sequence[Token], index: int, _options: Any, environment: Any) -> str:
    token = tokens[index]
    formulas: Counter[str] = environment["formulas"]
    formulas.update(("all",))
    shown = mathml(token.content, display=token.meta["display"]) if formulas["all"] <= MAX_FORMULAS else None
    if shown is None:
        shown = html.escape(written(token))
    return f"<p>{shown}</p>\n" if token.block else shown


def _direct(state: StateCore) -> None:
    """Have each block run from the left or from the right, as its own first letter does."""
    for token in state.tokens:
        if token.type in _DIRECTED:
            token.attrSet("dir", "auto")


def _fence(self: Any, tokens: Sequence[Token], index: int, options: Any, environment: Any) -> str:
    """Render a block of code in the colours of its language, or a diff with marks around the lines that it changes."""
    token = tokens[index]
    language = token.info.strip().partition(" ")[0].lower()
    if (code := coloured(token.content, language, environment["look"])) is not None:
        return f"<pre><code>{code}</code></pre>\n"
    if language not in ("diff", "patch"):
        rendered: str = self.fence(tokens, index, options, environment)
        return rendered
    lines = "\n".join(map(_diff_line, token.content.removesuffix("\n").split("\n")))
    return f'<pre><code class="language-diff">{lines}\n</code></pre>\n'


def _diff_line(line: str) -> str:
    element = {"+": "ins", "-": "del"}.get(line[:1])
    return f"<{element}>{html.escape(line)}</{element}>" if element else html.escape(line)


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
        text = Token("text", "", 0, content=_text_of(token) or address[:80])
        if linked or not _SAFE_LINK.match(address):
            yield text
        else:
            yield from (Token("link_open", "a", 1, attrs={"href": address}), text, Token("link_close", "a", -1))


def _text_of(image: Token) -> str:
    """Return the text of an image, which has no marks."""
    parts = list[str]()
    for child in image.children or ():
        parts.append(" " if child.type.endswith("break") else child.content)
        if child.type == "image":
            parts.append(_text_of(child))
    return "".join(parts)


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
