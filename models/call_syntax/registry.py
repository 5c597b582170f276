"""Registry of the tool formats by name, and the choice for a model."""

from collections.abc import Callable, Mapping
from typing import Final, NamedTuple

from models.call_syntax.hermes import HERMES, writes_hermes
from models.call_syntax.interface import CallSyntax
from models.call_syntax.pangu import END as PANGU_END
from models.call_syntax.pangu import PANGU
from models.call_syntax.pangu import START as PANGU_START


class Family(NamedTuple):
    """A named syntax. is_of: whether a chat template, or a model with these control tokens, uses the syntax."""

    name: str
    syntax: CallSyntax
    is_of: Callable[[str, Mapping[str, int]], bool]


FALLBACK: Final = "hermes"
"""Format of models whose own is unknown. Ebb describes it in the prompt, and most models know it."""

FAMILIES: Final = (
    Family("openpangu", PANGU, lambda _, control: PANGU_START in control and PANGU_END in control),
    Family(FALLBACK, HERMES, lambda template, _: writes_hermes(template)),
)
"""All formats. The first one that recognizes a model is its format, so the order matters."""

NAMES: Final = tuple(family.name for family in FAMILIES)


def recognized(template: str, control_tokens: Mapping[str, int]) -> str | None:
    """Return the name of the format that a model uses; None if it is unknown."""
    return next((family.name for family in FAMILIES if family.is_of(template, control_tokens)), None)


def named_format(name: str) -> str:
    """Return `name`. Raise ValueError, with the list of names, if no format has it."""
    if name not in NAMES:
        raise ValueError(f"must be one of {', '.join(NAMES)}")
    return name


def syntax_named(name: str) -> CallSyntax:
    """Return the syntax of a name of NAMES."""
    return next(family.syntax for family in FAMILIES if family.name == name)
