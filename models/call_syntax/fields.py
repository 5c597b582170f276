"""Parameters of tools whose values are JSON, for syntaxes that write text without quotes.

The parameter `days` of `get_weather` is named "get_weather.days". Any other parameter is text: 2 is then "2".
"""

from collections.abc import Mapping, Sequence
from typing import Any

_MAX_DEPTH = 16
_BRANCHES = ("anyOf", "oneOf", "allOf")


def json_fields(tools: Sequence[Mapping[str, Any]]) -> frozenset[str]:
    """Return the names of the parameters whose values cannot be text, by their schemas."""
    found = set[str]()
    for tool in tools:
        schema = tool.get("parameters")
        for name, field in properties_of(schema).items():
            if not may_be_text(field, schema):
                found.add(field_name(str(tool["name"]), name))
    return frozenset(found)


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
