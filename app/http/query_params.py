"""Query parameters of operations, each a field with its bounds, by which it is parsed and described."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, ClassVar, Final, NamedTuple, Self, dataclass_transform, get_args, get_type_hints

from starlette.datastructures import QueryParams

from app.domain.records import ConversationSource
from engine.api.errors import InvalidRequestError

Schema = dict[str, Any]

MAX_DIGITS: Final = 18
MAX_MOMENT: Final = 10**11
"""Bound on moments, in seconds since the epoch: a time after the year 5000 may be one in milliseconds."""
MAX_POSITION: Final = 200_000
"""Bound on the positions that a parameter may list, and on how many, with those that it repeats."""

_MOMENT: Final = re.compile(r"\d{1,12}(\.\d{1,9})?", re.ASCII)
_RANGE: Final = re.compile(r"(\d{1,9})(?:-(\d{1,9}))?", re.ASCII)
_LIST: Final = r"^[0-9]{1,9}(-[0-9]{1,9})?(,[0-9]{1,9}(-[0-9]{1,9})?)*$"


@dataclass(frozen=True, slots=True)
class Param:
    """Values of a parameter.

    schema: JSON schema of the values.
    parse: returns the value of a text. Takes the name of the parameter too, and raises InvalidRequestError.
    """

    schema: Schema = field(hash=False)
    parse: Callable[[str, str], Any]


def texts(most: int, *, is_trimmed: bool = False) -> Param:
    """Take texts of at most `most` characters. is_trimmed: whether spaces around them do not count."""

    def parse(text: str, name: str) -> str:
        text = text.strip() if is_trimmed else text
        if len(text) > most:
            raise InvalidRequestError(f"{name} may have at most {most} characters", param=name)
        return text

    return Param({"type": "string", "maxLength": most}, parse)


def words(most: int) -> Param:
    """Take texts to look for, which are not empty, of at most `most` characters."""
    short = texts(most)

    def parse(text: str, name: str) -> Any:
        if not text.strip():
            raise InvalidRequestError(f"{name} is required: the words to look for", param=name)
        return short.parse(text, name)

    return Param({**short.schema, "pattern": r"\S"}, parse)


def whole_numbers(low: int, high: int, expected: str = "") -> Param:
    """Take whole numbers from `low` to `high`. expected: their name in an error."""
    expected = expected or f"a whole number from {low} to {high}"

    def parse(text: str, name: str) -> int:
        is_number = text.isascii() and text.isdigit() and len(text) <= MAX_DIGITS
        if not (is_number and low <= int(text) <= high):
            raise InvalidRequestError(f"{name} must be {expected}", param=name)
        return int(text)

    return Param({"type": "integer", "minimum": low, "maximum": high}, parse)


def one_of(choices: tuple[str, ...], expected: str = "") -> Param:
    """Take one of several texts. expected: the texts in an error."""
    expected = expected or f"one of {', '.join(choices)}"

    def parse(text: str, name: str) -> str:
        if text not in choices:
            raise InvalidRequestError(f"{name} must be {expected}", param=name)
        return text

    return Param({"type": "string", "enum": list(choices)}, parse)


_FLAG: Final = one_of(("true", "false"), "true or false")


def _moment(text: str, name: str) -> float:
    if not _MOMENT.fullmatch(text) or float(text) > MAX_MOMENT:
        raise InvalidRequestError(f"{name} must be a time in seconds since 1970, such as 1767225600", param=name)
    return float(text)


def _positions(text: str, name: str) -> frozenset[int]:
    found, room = set[int](), MAX_POSITION
    for part in text.split(","):
        match = _RANGE.fullmatch(part)
        first, last = (int(match[1]), int(match[2] or match[1])) if match is not None else (1, 0)
        room -= last - first + 1
        if not first <= last < MAX_POSITION or room < 0:
            raise InvalidRequestError(f"{name} must be a list of positions and ranges, such as 0-41,43", param=name)
        found.update(range(first, last + 1))
    return frozenset(found)


AnyText = Annotated[str, Param({"type": "string"}, lambda text, _name: text)]
Switch = Annotated[bool, Param(_FLAG.schema, lambda text, name: _FLAG.parse(text, name) == "true")]
Moment = Annotated[float, Param({"type": "number", "minimum": 0, "maximum": MAX_MOMENT}, _moment)]
"""Seconds since the epoch."""
Positions = Annotated[frozenset[int], Param({"type": "string", "pattern": _LIST}, _positions)]
"""Positions such as those of 0-41,43."""
Source = Annotated[ConversationSource, one_of(get_args(ConversationSource))]
"""Kind of conversations."""


class Declared(NamedTuple):
    """Declaration of a parameter. name: as clients write it."""

    name: str
    param: Param
    is_required: bool


@dataclass_transform(frozen_default=True, kw_only_default=True)
@dataclass(frozen=True, kw_only=True)
class Query:
    """Query parameters of an operation: a frozen dataclass, each field of which has a Param. `from_` is named "from".

    declared: the parameters by field.
    """

    declared: ClassVar[Mapping[str, Declared]] = {}

    def __init_subclass__(cls) -> None:
        """Make the class a dataclass, and find its parameters."""
        dataclass(frozen=True, kw_only=True)(cls)
        hints = {name: hint for name, hint in get_type_hints(cls, include_extras=True).items() if name != "declared"}
        cls.declared = {
            name: Declared(name.rstrip("_"), _param(hint), is_required=not hasattr(cls, name))
            for name, hint in hints.items()
        }

    @classmethod
    def parse(cls, given: QueryParams) -> Self:
        """Return the given parameters. Unknown ones are ignored. Raise InvalidRequestError."""
        return cls(
            **{
                name: each.param.parse(given.get(each.name, ""), each.name)
                for name, each in cls.declared.items()
                if each.name in given or each.is_required
            }
        )


def _param(hint: Any) -> Param:
    """Return the Param of an annotation, such as that of Switch in `Switch | None`."""
    for part in (hint, *get_args(hint)):
        for each in getattr(part, "__metadata__", ()):
            param: Param = each
            return param
    raise TypeError(f"{hint} has no Param")
