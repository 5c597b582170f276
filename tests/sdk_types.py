"""Smallest values of the types with which the clients of providers describe a request."""

from collections.abc import Iterator, Mapping
from types import UnionType
from typing import (
    Annotated,
    Any,
    Literal,
    NotRequired,
    Required,
    Union,
    get_args,
    get_origin,
)

from pydantic import BaseModel
from typing_extensions import get_type_hints, is_typeddict

TEXT = "river"
_PLAIN: Mapping[Any, Any] = {str: TEXT, int: 1, float: 1.0, bool: True, object: {}, Any: {}, type(None): None}


def members(alias: Any) -> list[Any]:
    """Return the types of a union, those of unions within it included."""
    if get_origin(alias) in (Annotated, Required, NotRequired):
        return members(get_args(alias)[0])
    if get_origin(alias) in (Union, UnionType):
        return [each for part in get_args(alias) for each in members(part)]
    return [alias]


def values_of(kind: Any) -> Iterator[Any]:
    """Yield a value of each form of `kind`, with the required fields alone."""
    for each in members(kind):
        origin = get_origin(each)
        if each in _PLAIN:
            yield _PLAIN[each]
        elif origin is Literal:
            yield get_args(each)[0]
        elif is_typeddict(each):
            hints = get_type_hints(each, include_extras=True)
            yield from _objects({name: hint for name, hint in hints.items() if _is_required(hint)})
        elif isinstance(each, type) and issubclass(each, BaseModel):
            yield from _objects({name: of.annotation for name, of in each.model_fields.items() if of.is_required()})
        elif origin is not None and issubclass(origin, Mapping):
            yield {}
        elif origin is not None:
            yield list(values_of(get_args(each)[0]))
        else:
            yield TEXT


def _is_required(hint: Any) -> bool:
    return get_origin(hint) is Required


def _objects(needed: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield an object for each form of each needed field, with the first form of the others."""
    forms = {name: list(values_of(hint)) for name, hint in needed.items()}
    first = {name: values[0] for name, values in forms.items()}
    yield first
    for name, values in forms.items():
        yield from ({**first, name: value} for value in values[1:])
