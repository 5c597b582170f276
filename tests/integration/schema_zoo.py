"""JSON Schemas of many kinds, generated from a fixed seed.

An answer that a model gives under one of them validates against the schema, or is a prefix of a text that does.
"""

import random
from collections.abc import Callable
from typing import Any

Schema = dict[str, Any]
Make = Callable[[random.Random, int], Schema]

WORDS = ("name", "age", "city", "größe", "价格", "is_open", "tags", "a b", "x-y", 'quo"te', "items", "id")


def schemas(count: int) -> list[Schema]:
    """Generate `count` different schemas, cycling through the kinds."""
    source = random.Random(20)
    return [KINDS[index % len(KINDS)](source, 2) for index in range(count)]


def _scalar(source: random.Random) -> Schema:
    return source.choice(
        [
            {"type": "integer"},
            {"type": "integer", "minimum": -5, "maximum": source.randrange(5, 5000)},
            {"type": "number", "exclusiveMinimum": 0, "maximum": 99.5},
            {"type": "integer", "multipleOf": source.choice([2, 5, 7])},
            {"type": "boolean"},
            {"type": "null"},
            {"type": "string", "maxLength": source.randrange(1, 20)},
            {"type": "string", "minLength": 3, "maxLength": 12},
            {"type": "string", "pattern": source.choice(["^[A-Z]{2}[0-9]{1,4}$", "^(red|green|blue)$", "^a+b?$"])},
            {"type": "string", "format": source.choice(["date", "time", "uuid", "ipv4", "email"])},
            {"enum": source.sample(["a", 1, None, True, "zwei", "第三", 2.5], 3)},
            {"const": source.choice(["fixed", 7, False, ["x", 1]])},
            {"type": ["string", "null"], "maxLength": 8},
        ]
    )


def _any(source: random.Random, depth: int) -> Schema:
    return source.choice(INNER)(source, depth - 1) if depth > 0 and source.random() < 0.4 else _scalar(source)


def _only_scalar(source: random.Random, depth: int) -> Schema:
    del depth
    return _scalar(source)


def _object(source: random.Random, depth: int) -> Schema:
    names = source.sample(WORDS, source.randrange(1, 4))
    return {
        "type": "object",
        "properties": {name: _any(source, depth) for name in names},
        "required": source.sample(names, source.randrange(len(names) + 1)),
        "additionalProperties": False,
    }


def _open_object(source: random.Random, depth: int) -> Schema:
    return {
        "type": "object",
        "properties": {"kind": {"enum": ["x", "y"]}},
        "required": ["kind"],
        "additionalProperties": _any(source, depth),
    }


def _array(source: random.Random, depth: int) -> Schema:
    low = source.randrange(3)
    return {"type": "array", "items": _any(source, depth), "minItems": low, "maxItems": low + source.randrange(1, 3)}


def _tuple(source: random.Random, depth: int) -> Schema:
    return {
        "type": "array",
        "prefixItems": [_any(source, depth), _scalar(source)],
        "items": False,
        "minItems": 2,
    }


def _any_of(source: random.Random, depth: int) -> Schema:
    return {"anyOf": [_any(source, depth), _scalar(source)]}


def _recursive(source: random.Random, depth: int) -> Schema:
    del depth
    node: Schema = {
        "type": "object",
        "properties": {"value": _scalar(source), "next": {"anyOf": [{"$ref": "#/$defs/node"}, {"type": "null"}]}},
        "required": ["value", "next"],
        "additionalProperties": False,
    }
    return {"$ref": "#/$defs/node", "$defs": {"node": node}}


def _all_of(source: random.Random, depth: int) -> Schema:
    first, second = source.sample(WORDS, 2)
    return {
        "allOf": [
            {"type": "object", "properties": {first: _any(source, depth)}, "required": [first]},
            {"type": "object", "properties": {second: _scalar(source)}, "required": [second]},
        ]
    }


INNER: tuple[Make, ...] = (_object, _array, _only_scalar, _any_of, _open_object, _tuple, _all_of)
KINDS: tuple[Make, ...] = (*INNER, _recursive)
"""Kinds of whole schemas. `$ref` resolves from the root, so a recursive schema cannot be nested in another one."""
