"""TeX inside Markdown: `$…$`, `$$…$$`, `\\(…\\)` and `\\[…\\]`.

Prices and shell variables have dollar signs too, so a single one opens a formula only before a character that is no
space, and after none that is a letter or a digit. The closing one is the opposite. Escaped brackets around a number or
a word are no formula.
"""

import re
from typing import Any, Final

from markdown_it import MarkdownIt
from markdown_it.rules_block import StateBlock
from markdown_it.rules_inline import StateInline

from app.conversations.markdown.lines import INTERRUPTS, leaves, line_of

_DOLLARS: Final = re.compile(r"(?<![A-Za-z0-9])\$(?![\s$])(?:\\.|[^\\$`\n])+?(?<!\s)\$(?![A-Za-z0-9])")
_ENDS: Final = {"$$": "$$", "\\[": "\\]", "\\(": "\\)"}
_MATHEMATICS: Final = re.compile(r"[\\^_=+<>{}]")
"""A sign of mathematics between brackets."""
_NUMBERS: Final = re.compile(r"[\d\s,;.–-]*", re.ASCII)

_MAX_TEX: Final = 4_000
_MAX_LINES: Final = 100


def read_formulas(parser: MarkdownIt) -> None:
    """Add the rules to a parser. A formula is a token `formula`, with `delimiters` and `display` in its meta."""
    parser.block.ruler.before("fence", "formula", _block, INTERRUPTS)
    parser.inline.ruler.before("escape", "formula", _inline)


def _block(state: StateBlock, first: int, end: int, silent: bool) -> bool:
    """Read a formula that takes whole lines."""
    begin = line_of(state, first)[:2]
    close = _ENDS.get(begin)
    if close is None or close == "\\)" or state.is_code_block(first):
        return False
    start = state.bMarks[first] + state.tShift[first] + 2
    if not start <= _next_end(state, close, start) <= start + _MAX_TEX:
        return False
    lines = list[str]()
    for line in range(first, min(end, first + _MAX_LINES)):
        if leaves(state, line):
            return False
        text = line_of(state, line)[2:] if line == first else state.getLines(line, line + 1, state.blkIndent, False)
        head, found, rest = text.partition(close)
        lines.append(head)
        if not found:
            continue
        source = "\n".join(lines)
        if rest.strip() or not source.strip() or (begin == "\\[" and _NUMBERS.fullmatch(source)):
            return False
        if not silent:
            _push(state, begin, source, close, display=True)
            state.line = line + 1
        return True
    return False


def _inline(state: StateInline, silent: bool) -> bool:
    """Read a formula within text."""
    start = state.pos
    begin = state.src[start : start + 2]
    if (close := _ENDS.get(begin)) is not None:
        end = _next_end(state, close, start + 2)
        tex = state.src[start + 2 : end]
        if not start + 2 < end <= min(state.posMax - 2, start + 2 + _MAX_TEX) or not tex.strip():
            return False
        if (close == "$$" and "$" in tex) or (close == "\\]" and not _MATHEMATICS.search(tex)):
            return False
        end += 2
    elif begin.startswith("$") and (found := _DOLLARS.match(state.src, start)) and found.end() <= state.posMax:
        begin, end, close = "$", found.end(), "$"
        tex = state.src[start + 1 : end - 1]
    else:
        return False
    if not silent:
        _push(state, begin, tex, close, display=close in ("$$", "\\]"))
    state.pos = end
    return True


def _push(state: StateBlock | StateInline, begin: str, tex: str, close: str, *, display: bool) -> None:
    token = state.push("formula", "", 0)
    token.content, token.meta = tex.strip(), {"delimiters": (begin, close), "display": display}


def _next_end(state: StateBlock | StateInline, close: str, start: int) -> int:
    """Return the place of the next `close`, -1 without one. All searches of a text read it once."""
    # A state belongs to one text, so the attribute lives as long as the text is parsed.
    known: dict[str, tuple[int, int]] = state.__dict__.setdefault("formula_ends", {})
    begin, end = known.get(close, (0, -2))
    if begin <= start and (end == -1 or start <= end):
        return end
    end = state.src.find(close, start)
    known[close] = (start, end)
    return end


def written(token: Any) -> str:
    """Return a formula as it is written."""
    begin, close = token.meta["delimiters"]
    return f"{begin}{token.content}{close}"
