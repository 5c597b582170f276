"""Formulas on the page of a shared chat: TeX as MathML, which browsers draw without scripts, styles and fonts.

The TeX is untrusted. The library copies parts of it into elements and attributes, so that only listed ones are written.
"""

import html
import re
from typing import Final
from xml.etree.ElementTree import Element

from latex2mathml.converter import convert_to_element

from app.conversations.shared_chemistry import with_chemistry

MAX_TEX: Final = 2_000
"""Characters of a formula. A longer one is shown as it is written."""

_DEFINES: Final = re.compile(r"\\(?:newcommand|renewcommand|def|newenvironment|renewenvironment|DeclareMathOperator)\b")
"""Definitions. A few of them, each in terms of another one, could expand to any length."""

_ELEMENT: Final = re.compile(
    "math|menclose|mfrac|mi|mmultiscripts|mn|mo|mover|mpadded|mphantom|mprescripts|mroot|mrow|ms|mspace|msqrt|mstyle|"
    "msub|msubsup|msup|mtable|mtd|mtext|mtr|munder|munderover|none"
)
_NAMED: Final = re.compile(
    "accent|accentunder|columnalign|columnlines|display|displaystyle|fence|form|frame|largeop|mathbackground|mathcolor|"
    "mathvariant|movablelimits|notation|rowalign|rowlines|scriptlevel|separator|stretchy|symmetric"
)
"""Attributes whose values are words or colours."""
_SIZED: Final = re.compile(
    "columnspacing|depth|height|linethickness|lspace|mathsize|maxsize|minsize|rowspacing|rspace|voffset|width"
)
_WORD: Final = re.compile(r"[#\w][\w -]{0,60}", re.ASCII)
_SIZE: Final = re.compile(
    r"(?:(?:\+?1?\d(?:\.\d{1,4})?|[+-]?0?\.\d{1,4})(?:em|ex|px|pt|%) ?|0(?:px)? ?){1,8}", re.ASCII
)
"""Sizes that keep a formula near its place."""
_NAMED_SPACES: Final = {
    "thinmathspace": "0.167em",
    "mediummathspace": "0.222em",
    "thickmathspace": "0.278em",
    "negativethinmathspace": "-0.167em",
    "negativemediummathspace": "-0.222em",
    "negativethickmathspace": "-0.278em",
}
"""Spaces that the library writes by name. The MathML of browsers knows no names."""


def mathml(tex: str, *, display: bool) -> str | None:
    """Convert a formula to MathML; None if it cannot be converted. display: as a separate block."""
    tex = with_chemistry(tex) if len(tex) <= MAX_TEX else tex
    if len(tex) > MAX_TEX or _DEFINES.search(tex):
        return None
    try:
        return _written(convert_to_element(tex, display="block" if display else "inline"))
    except Exception:
        # The library has an error for each fault of the TeX, and for some it runs into errors of Python.
        return None


def _written(element: Element) -> str:
    """Write an element with its contents. Raise ValueError for one that is not listed."""
    if not _ELEMENT.fullmatch(element.tag):
        raise ValueError(element.tag)
    values = ((name, _NAMED_SPACES.get(value, value)) for name, value in element.items())
    attributes = "".join(f' {name}="{html.escape(value)}"' for name, value in values if _is_harmless(name, value))
    # The library writes characters as references.
    text = html.escape(html.unescape(element.text or ""))
    return f"<{element.tag}{attributes}>{text}{''.join(map(_written, element))}</{element.tag}>"


def _is_harmless(name: str, value: str) -> bool:
    if _NAMED.fullmatch(name):
        return _WORD.fullmatch(value) is not None
    return _SIZED.fullmatch(name) is not None and _SIZE.fullmatch(value) is not None
