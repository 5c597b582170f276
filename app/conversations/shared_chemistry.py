r"""Chemistry on the page of a shared chat: `\ce{…}` of mhchem as ordinary TeX.

The common part of the notation is read: elements with numbers, charges, states, bonds, dots and arrows with texts. A
formula with anything else stays as it is.
"""

import re
from typing import Final

_COMMAND: Final = "\\ce{"
_ARROWS: Final = {
    "<=>": "rightleftharpoons",
    "<->": "leftrightarrow",
    "->": "rightarrow",
    "<-": "leftarrow",
}
_TOKEN: Final = re.compile(
    r"""(?P<space>\s+)
    |(?P<arrow><=>|<->|->|<-)(?:\[(?P<above>[^\[\]{}]*)\])?(?:\[(?P<below>[^\[\]{}]*)\])?
    |(?P<gas>\^|v)(?=\s|$)
    |\^(?P<raised>\{[^{}]*\}|[0-9]*[+-]|[0-9]+)
    |_(?P<lowered>\{[^{}]*\}|[0-9a-z])
    |(?P<number>[0-9]+(?:[./][0-9]+)?)
    |(?P<letters>[A-Z][a-z]?|[a-z]+)
    |(?P<charge>[+-])(?=\s|$|[)\]])
    |(?P<sign>[+=\-()\[\],#*.])""",
    re.VERBOSE,
)
_SIGNS: Final = {"#": "\\equiv ", "*": "\\cdot ", ".": "\\cdot "}


def with_chemistry(tex: str) -> str:
    r"""Return TeX in which each `\ce{…}` that can be read is written with ordinary commands."""
    parts, at = list[str](), 0
    while (start := tex.find(_COMMAND, at)) >= 0:
        end = _closing(tex, start + len(_COMMAND))
        if end is None:
            break
        written = _written(tex[start + len(_COMMAND) : end])
        parts += (tex[at:start], "{" + written + "}" if written is not None else tex[start : end + 1])
        at = end + 1
    return "".join(parts) + tex[at:]


def _closing(tex: str, at: int) -> int | None:
    """Return the place of the brace that closes the one before `at`; None if there is none."""
    depth = 1
    for place in range(at, len(tex)):
        depth += {"{": 1, "}": -1}.get(tex[place], 0)
        if depth == 0:
            return place
    return None


def _written(formula: str) -> str | None:
    """Return a formula as ordinary TeX; None if a part of it cannot be read."""
    parts, at, follows = list[str](), 0, False
    while at < len(formula):
        token = _TOKEN.match(formula, at)
        if token is None:
            return None
        parts.append(_part(token, follows=follows))
        is_part = any(token[name] is not None for name in ("letters", "lowered", "raised")) or token["sign"] in (
            ")",
            "]",
        )
        follows = is_part or (follows and token["number"] is not None)
        at = token.end()
    return "".join(parts)


def _part(token: re.Match[str], *, follows: bool) -> str:
    """Return a part of a formula as TeX. follows: whether it stands right after what has numbers and charges."""
    if token["space"]:
        return ""
    if token["arrow"]:
        return _arrow(token)
    if token["gas"]:
        return "\\uparrow " if token["gas"] == "^" else "\\downarrow "
    if token["raised"]:
        return f"^{{{token['raised'].strip('{}')}}}"
    if token["lowered"]:
        return f"_{{{token['lowered'].strip('{}')}}}"
    if token["number"]:
        return f"_{{{token['number']}}}" if follows else f"{token['number']}\\,"
    if token["letters"]:
        return f"\\text{{{token['letters']}}}"
    if token["charge"]:
        return f"^{{{token['charge']}}}" if follows else token["charge"]
    return _SIGNS.get(token["sign"], token["sign"])


def _arrow(token: re.Match[str]) -> str:
    above, below = (f"\\text{{{text}}}" if text else "" for text in (token["above"], token["below"]))
    arrow = f"\\{_ARROWS[token['arrow']]}"
    if below:
        arrow = f"\\underset{{{below}}}{{{arrow}}}"
    return f"\\overset{{{above}}}{{{arrow}}}" if above else f"{arrow} "
