"""Parameters of tools whose values are JSON, for syntaxes that write text without quotes.

The parameter `days` of `get_weather` is named "get_weather.days". Any other parameter is text: 2 is then "2".
"""

from collections.abc import Mapping, Sequence
from typing import Any

_MAX_DEPTH = 16
_MOST_NESTED, _LONGEST_NESTED = 1000, 500
"""Maximum number and length of names of values within values, since definitions may refer to each other. Stored answers
keep the names."""

ITEM, TEXT, LIST = "item", '""', "[]"
"""Name of the items of a list, and the ends of names of nested values that may be text, and of those that are lists."""
_BRANCHES = ("anyOf", "oneOf", "allOf")
_TYPED = ("type", "enum", "const", "$ref", *_BRANCHES)
"""Keywords that say what a value is."""


def json_fields(tools: Sequence[Mapping[str, Any]]) -> frozenset[str]:
    """Return the names of the parameters whose values cannot be text, by their schemas."""
    found = set[str]()
    for tool in tools:
        schema = tool.get("parameters")
        for name, field in properties_of(schema).items():
            if not may_be_text(field, schema):
                found.add(field_name(str(tool["name"]), name))
    return frozenset(found)


def nested_fields(tools: Sequence[Mapping[str, Any]]) -> frozenset[str]:
    """Return the names of `json_fields`, and those of the values within them that the schemas describe.

    They are named "tool.parameter.key" and "tool.parameter.item", with TEXT behind if they may be text. A list has its
    name once more, with LIST behind. Values without a type have no name.
    """
    found = set[str]()
    for tool in tools:
        schema = tool.get("parameters")
        _add_nested(found, schema, schema, str(tool["name"]))
    return frozenset(found)


def _add_nested(found: set[str], schema: object, root: object, path: str, depth: int = 0) -> None:
    """Add the names of the values within the value at `path`."""
    if depth > _MAX_DEPTH or len(found) > _MOST_NESTED:
        return
    whole = container_of(schema, root)
    inner = dict(properties_of(whole)) | ({ITEM: whole["items"]} if "items" in whole else {})
    for name, field in inner.items():
        named = field_name(path, name)
        if len(named) > _LONGEST_NESTED:
            continue
        is_text = may_be_text(field, root)
        if not is_text or (isinstance(field, Mapping) and any(word in field for word in _TYPED)):
            found.add(named + TEXT if is_text else named)
        if is_list(container_of(field, root)):
            found.add(named + LIST)
        _add_nested(found, field, root, named, depth + 1)


def container_of(schema: object, root: object) -> Mapping[str, Any]:
    """Return the schema that a reference or a choice leads to, of an object or a list if one of them is."""
    whole = _followed(schema, root)
    branches = next(filter(None, map(whole.get, _BRANCHES)), ())
    each = (_followed(branch, root) for branch in (branches if isinstance(branches, Sequence) else ()))
    return next((branch for branch in each if properties_of(branch) or is_list(branch)), whole)


def _followed(schema: object, root: object) -> Mapping[str, Any]:
    """Return the schema that a chain of references leads to."""
    for _ in range(_MAX_DEPTH):
        if not isinstance(schema, Mapping) or not isinstance(reference := schema.get("$ref"), str):
            break
        schema = _referred(reference, root)
    return schema if isinstance(schema, Mapping) else {}


def is_list(schema: Mapping[str, Any]) -> bool:
    """Return whether a value of `schema` is a list."""
    return schema.get("type") == "array" or "items" in schema


def field_name(tool: str, parameter: str) -> str:
    """Return the name of a tool's parameter in the set."""
    return f"{tool}.{parameter}"


def properties_of(schema: object) -> Mapping[str, Any]:
    """Return the schemas of an object's properties by name."""
    properties = schema.get("properties") if isinstance(schema, Mapping) else None
    return properties if isinstance(properties, Mapping) else {}


def may_be_text(schema: object, root: object, depth: int = 0) -> bool:
    """Return whether a value of `schema` may be a string. root: the schema that local references refer to."""
    if not isinstance(schema, Mapping) or depth > _MAX_DEPTH:
        return True
    if isinstance(reference := schema.get("$ref"), str):
        return may_be_text(_referred(reference, root), root, depth + 1)
    if (kinds := schema.get("type")) is not None:
        return "string" in (kinds if isinstance(kinds, Sequence) and not isinstance(kinds, str) else [kinds])
    if isinstance(values := schema.get("enum", [schema["const"]] if "const" in schema else None), Sequence):
        return any(isinstance(value, str) for value in values)
    for branches in filter(None, map(schema.get, _BRANCHES)):
        if isinstance(branches, Sequence):
            return any(may_be_text(branch, root, depth + 1) for branch in branches)
    return not any(word in schema for word in ("properties", "items", "minimum", "maximum"))


def _referred(reference: str, root: object) -> object:
    """Return the schema at a local reference; None if there is none."""
    if not reference.startswith("#/"):
        return None
    found = root
    for part in reference[2:].split("/"):
        found = found.get(part) if isinstance(found, Mapping) else None
    return found
