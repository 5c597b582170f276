"""Branches of `oneOf` of which no value can match two, so that `oneOf` means the same as `anyOf`."""

from collections import Counter
from collections.abc import Iterator
from itertools import chain
from typing import Any, Final

from engine.grammar.references import followed

_TYPES: Final = ("null", "boolean", "number", "string", "array", "object")
_MOST_MARKS: Final = 8
"""Properties of a branch that are tried as the mark that tells the branches apart."""


def are_exclusive(root: object, nodes: object) -> bool:
    """Return whether types, constants or marked properties show that no value matches two of `nodes`.

    The time is linear in the size of the nodes.
    """
    if not isinstance(nodes, list):
        return True
    branches = [followed(root, node) for node in nodes]
    for type_ in _TYPES:
        of_type = [branch for branch in branches if type_ in _types(branch)]
        if len(of_type) > 1 and not _are_apart(root, of_type, type_):
            return False
    return True


def _are_apart(root: object, branches: list[Any], type_: str) -> bool:
    if _all_differ(_values(root, branch, type_) for branch in branches):
        return True
    if type_ != "object":
        return False
    first = branches[0].get("properties") if isinstance(branches[0], dict) else None
    names = [name for name, node in first.items() if _constants(root, node)] if isinstance(first, dict) else []
    return any(_is_mark(root, branches, name) for name in names[:_MOST_MARKS]) or _have_own_properties(branches)


def _have_own_properties(branches: list[Any]) -> bool:
    """Return whether all branches but one require a property that none of the others allows."""
    if not all(isinstance(branch, dict) and branch.get("additionalProperties") is False for branch in branches):
        return False
    if any("patternProperties" in branch for branch in branches):
        return False
    known = [branch.get("properties") for branch in branches]
    count = Counter(chain.from_iterable(each for each in known if isinstance(each, dict)))
    required = [branch.get("required") for branch in branches]
    owners = sum(
        isinstance(each, list) and any(isinstance(name, str) and count[name] == 1 and name in of for name in each)
        for each, of in zip(required, known, strict=True)
        if isinstance(of, dict)
    )
    return owners >= len(branches) - 1


def _is_mark(root: object, branches: list[Any], name: str) -> bool:
    """Return whether the property `name` has other constants in each branch, and at most one branch may lack it."""
    properties = [branch.get("properties") if isinstance(branch, dict) else None for branch in branches]
    required = [branch.get("required") if isinstance(branch, dict) else None for branch in branches]
    num_optional = sum(not isinstance(each, list) or name not in each for each in required)
    marks = (_constants(root, each.get(name)) if isinstance(each, dict) else None for each in properties)
    return num_optional <= 1 and _all_differ(marks)


def _all_differ(sets: Iterator[list[object] | None]) -> bool:
    """Return whether each branch has constants, and no two branches have the same one."""
    seen = set[str]()
    for constants in sets:
        if not constants:
            return False
        keys = {repr(value) for value in constants}
        if not seen.isdisjoint(keys):
            return False
        seen |= keys
    return True


def _values(root: object, branch: object, type_: str) -> list[object] | None:
    constants = _constants(root, branch)
    return None if constants is None else [value for value in constants if _type_of(value) == type_]


def _constants(root: object, node: object) -> list[object] | None:
    """Return the constants that a schema allows; None for other schemas, and if one of them is not a plain value."""
    node = followed(root, node)
    if not isinstance(node, dict):
        return None
    values = [node["const"]] if "const" in node else node.get("enum")
    if not isinstance(values, list) or any(isinstance(value, dict | list) for value in values):
        return None
    # 1 and 1.0 are one number, and so are 0 and -0.
    return [int(value) if isinstance(value, float) and value.is_integer() else value for value in values]


def _types(node: object) -> frozenset[str]:
    """Return the types of the values that a branch may match."""
    if not isinstance(node, dict):
        return frozenset(_TYPES if node is not False else ())
    if "const" in node or isinstance(node.get("enum"), list):
        values = [node["const"]] if "const" in node else node["enum"]
        return frozenset(map(_type_of, values))
    named = node.get("type")
    types: list[Any] = named if isinstance(named, list) else [named]
    if not all(isinstance(each, str) for each in types):
        return frozenset(_TYPES)
    return frozenset("number" if each == "integer" else each for each in types)


def _type_of(value: object) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return "boolean"
        case int() | float():
            return "number"
        case str():
            return "string"
        case list():
            return "array"
    return "object"
